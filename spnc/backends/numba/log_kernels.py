"""The compiled loop in the log domain: rows one by one, on the program itself, without a layout."""

from __future__ import annotations

import numpy as np

from spnc.backends.planning.compiling import inlined, kernel
from spnc.backends.planning.kinds import SUM


@inlined
def upward_in_logs(values, leaves, inner_nodes, log_weights):
    """Fill in the log values of the inner nodes, which come after the leaves."""
    kinds, starts, children, slots = inner_nodes
    for i in range(len(kinds)):
        total = 0.0
        if kinds[i] == SUM:
            top = -np.inf
            for e in range(starts[i], starts[i + 1]):
                top = max(top, log_weights[slots[e]] + values[children[e]])
            if top > -np.inf:
                for e in range(starts[i], starts[i + 1]):
                    total += np.exp(log_weights[slots[e]] + values[children[e]] - top)
                total = np.log(total) + top
            else:
                total = -np.inf
        else:
            for e in range(starts[i], starts[i + 1]):
                total += values[children[e]]
        values[leaves + i] = total


@kernel
def rows_in_logs(
    rows, root, codes, columns, logs, log_starts, inner_nodes, log_weights, row_weights, flowing,
    found, counts, table,
):  # fmt: skip
    """Write log p of the i-th of these rows to found[i]; its weight is row_weights[i].

    If `flowing`, flows of sum edges are added to `counts`, and those of the leaves' codes to
    `table`, in the order of `logs`. Leaves come first among the nodes.
    """
    kinds, starts, children, slots = inner_nodes
    leaves = len(columns)
    values = np.empty(leaves + len(kinds))
    flows = np.empty(leaves + len(kinds))
    for number in range(len(rows)):
        row = rows[number]
        for n in range(leaves):
            values[n] = logs[log_starts[n] + codes[columns[n], row]]
        upward_in_logs(values, leaves, inner_nodes, log_weights)
        found[number] = values[root]
        if not flowing or values[root] == -np.inf:
            continue

        flows[:] = 0.0
        flows[root] = row_weights[number]
        for i in range(len(kinds) - 1, -1, -1):
            flow = flows[leaves + i]
            if flow == 0.0:
                continue
            for e in range(starts[i], starts[i + 1]):
                share = flow
                if kinds[i] == SUM:
                    log_share = log_weights[slots[e]] + values[children[e]] - values[leaves + i]
                    share *= np.exp(log_share)
                    counts[slots[e]] += share
                flows[children[e]] += share
        for n in range(leaves):
            if flows[n] > 0.0:
                table[log_starts[n] + codes[columns[n], row]] += flows[n]
