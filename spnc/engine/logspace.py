"""The exact way out: rows one by one, in the log domain, straight from the program.

For rows that leave the range of doubles in the linear domain, for impossible rows, and for tables
so small that planning would cost more than it saves.
"""

from __future__ import annotations

import numpy as np

from spnc.engine.compiling import kernel

SUM = 2


@kernel
def _forward(row, codes, circuit, log_weights, out):
    """The log value of every node for one row of codes; `logs` has an entry for each state."""
    columns, logs, log_starts, kinds, starts, children, slots = circuit
    leaves = len(columns)
    for n in range(leaves):
        out[n] = logs[log_starts[n] + codes[columns[n], row]]
    for i in range(len(kinds)):
        if kinds[i] == SUM:
            top = -np.inf
            for e in range(starts[i], starts[i + 1]):
                top = max(top, log_weights[slots[e]] + out[children[e]])
            if top == -np.inf:
                out[leaves + i] = -np.inf
                continue
            total = 0.0
            for e in range(starts[i], starts[i + 1]):
                total += np.exp(log_weights[slots[e]] + out[children[e]] - top)
            out[leaves + i] = np.log(total) + top
        else:
            total = 0.0
            for e in range(starts[i], starts[i + 1]):
                total += out[children[e]]
            out[leaves + i] = total


@kernel
def log_likelihoods(rows, root, codes, circuit, log_weights, found):
    """log p of the rows listed, into `found` at the rows' places."""
    values = np.empty(len(circuit[0]) + len(circuit[3]))
    for row in rows:
        _forward(row, codes, circuit, log_weights, values)
        found[row] = values[root]


@kernel
def expected_counts(rows, row_weights, root, codes, circuit, log_weights, found, counts, table):
    """The same, and the flows: of sum edges into `counts`, of leaves' states into `table`."""
    columns, _, log_starts, kinds, starts, children, slots = circuit
    leaves = len(columns)
    values = np.empty(leaves + len(kinds))
    flows = np.empty(leaves + len(kinds))
    for row in rows:
        _forward(row, codes, circuit, log_weights, values)
        found[row] = values[root]
        if values[root] == -np.inf:
            continue
        flows[:] = 0.0
        flows[root] = row_weights[row]
        for i in range(len(kinds) - 1, -1, -1):
            flow = flows[leaves + i]
            if flow == 0.0:
                continue
            value = values[leaves + i]
            for e in range(starts[i], starts[i + 1]):
                if kinds[i] == SUM:
                    share = flow * np.exp(log_weights[slots[e]] + values[children[e]] - value)
                    counts[slots[e]] += share
                    flows[children[e]] += share
                else:
                    flows[children[e]] += flow
        for n in range(leaves):
            if flows[n] > 0.0:
                table[log_starts[n] + codes[columns[n], row]] += flows[n]
