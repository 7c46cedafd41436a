"""The compiled loops of a single pass, in the linear domain, straight from the program.

Every value is a ratio to the reference distribution, as in `kernels`. Rows are computed in blocks;
all values of a node for the rows of a block are next to one another. No number is checked on the
way: `DirectPass` knows from the root alone which rows are exact.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.upper_bounds import add_upper_bound, multiply_upper_bound
from spnc.backends.planning.compiling import inlined, kernel
from spnc.backends.planning.kinds import SUM

BINARY, FINITE, NUMERIC = 0, 1, 2  # kinds of leaves: by how their values are found


@inlined
def _times_binary(own, codes, has_gaps, zero, one, missing):
    # Selects instead of look-ups, which the compiler turns into vector code.
    if has_gaps:
        for k in range(len(own)):
            own[k] *= zero if codes[k] == 0 else (one if codes[k] == 1 else missing)
    else:
        for k in range(len(own)):
            own[k] *= zero if codes[k] == 0 else one


@inlined
def _times_finite(own, codes, table):
    for k in range(len(own)):
        own[k] *= table[codes[k]]


@inlined
def _times(own, factors):
    for k in range(len(own)):
        own[k] *= factors[k]


@inlined
def _plus_binary(own, codes, has_gaps, zero, one, missing):
    if has_gaps:
        for k in range(len(own)):
            own[k] += zero if codes[k] == 0 else (one if codes[k] == 1 else missing)
    else:
        for k in range(len(own)):
            own[k] += zero if codes[k] == 0 else one


@inlined
def _plus_finite(own, codes, weight, table):
    for k in range(len(own)):
        own[k] += weight * table[codes[k]]


@inlined
def _plus(own, weight, terms):
    for k in range(len(own)):
        own[k] += weight * terms[k]


@inlined
def _multiply_by_leaves(own, first, last, edges, leaves, codes, gaps, row, ratios, strips, at):
    """Multiply by the values of some leaves for the rows from `row` on; strips start at `at`."""
    size = len(own)
    for e in range(first, last):
        leaf = edges[e]
        if leaves.kinds[leaf] == NUMERIC:
            _times(own, strips[leaves.starts[leaf], at : at + size])
            continue
        column = leaves.columns[leaf]
        own_codes = codes[column, row : row + size]
        table = ratios[leaves.starts[leaf] :]
        if leaves.kinds[leaf] == BINARY:
            _times_binary(own, own_codes, gaps[column], table[0], table[1], table[2])
        else:
            _times_finite(own, own_codes, table)


@kernel
def blocks_forward(
    first, last, width, order, leaves, codes, gaps, ratios, weights, strips, base, values, found
):
    """Write the root's ratio for the rows of the blocks first … last-1.

    `gaps[column]` says whether any cell is missing. `values[place, row]` is working memory. The
    strips start at block `base`.
    """
    for block in range(first, last):
        row, at = block * width, (block - base) * width
        for i in range(len(order.kinds)):
            own = values[order.places[i]]
            below, above = order.leaves.starts[i], order.leaves.starts[i + 1]
            if order.kinds[i] == SUM:
                own[:] = 0.0
                for e in range(below, above):
                    leaf, weight = order.leaves.children[e], weights[order.leaves.slots[e]]
                    if weight == 0.0:
                        continue
                    if leaves.kinds[leaf] == NUMERIC:
                        _plus(own, weight, strips[leaves.starts[leaf], at : at + width])
                        continue
                    column = leaves.columns[leaf]
                    own_codes = codes[column, row : row + width]
                    table = ratios[leaves.starts[leaf] :]
                    if leaves.kinds[leaf] == BINARY:
                        zero, one, missing = weight * table[0], weight * table[1], weight * table[2]
                        _plus_binary(own, own_codes, gaps[column], zero, one, missing)
                    else:
                        _plus_finite(own, own_codes, weight, table)
                for e in range(order.inner.starts[i], order.inner.starts[i + 1]):
                    weight = weights[order.inner.slots[e]]
                    if weight > 0.0:
                        _plus(own, weight, values[order.inner.children[e]])
            else:
                own[:] = 1.0
                _multiply_by_leaves(
                    own, below, above, order.leaves.children, leaves, codes, gaps, row, ratios,
                    strips, at,
                )  # fmt: skip
                for e in range(order.inner.starts[i], order.inner.starts[i + 1]):
                    _times(own, values[order.inner.children[e]])
        found[row : row + width] = values[order.places[-1]]


@kernel
def blocks_upper_bound(
    first, last, width, order, leaves, codes, gaps, ratios, weights, strips, base, values, found
):
    """Write an upper bound of the root's ratio: see `upper_bounds`. Arguments as above."""
    identity = np.arange(width)
    other = np.empty(width)
    for block in range(first, last):
        row, at = block * width, (block - base) * width
        for i in range(len(order.kinds)):
            own = values[order.places[i]]
            is_sum = order.kinds[i] == SUM
            own[:] = 0.0 if is_sum else 1.0
            for e in range(order.leaves.starts[i], order.leaves.starts[i + 1]):
                other[:] = 1.0
                _multiply_by_leaves(
                    other, e, e + 1, order.leaves.children, leaves, codes, gaps, row, ratios,
                    strips, at,
                )  # fmt: skip
                if not is_sum:
                    multiply_upper_bound(own, other, identity)
                elif weights[order.leaves.slots[e]] > 0.0:
                    add_upper_bound(own, weights[order.leaves.slots[e]], other)
            for e in range(order.inner.starts[i], order.inner.starts[i + 1]):
                below = values[order.inner.children[e]]
                if not is_sum:
                    multiply_upper_bound(own, below, identity)
                elif weights[order.inner.slots[e]] > 0.0:
                    add_upper_bound(own, weights[order.inner.slots[e]], below)
        found[row : row + width] = values[order.places[-1]]


@kernel
def single_rows(rows, root, leaves, codes, ratios, strips, inner_nodes, weights, values, found):
    """Write the root's ratio for the first `rows` rows, one by one: for less than a block.

    `values[node]` is working memory.
    """
    kinds, starts, children, slots = inner_nodes
    count = len(leaves.kinds)
    for row in range(rows):
        for n in range(count):
            if leaves.kinds[n] == NUMERIC:
                values[n] = strips[leaves.starts[n], row]
            else:
                values[n] = ratios[leaves.starts[n] + codes[leaves.columns[n], row]]
        for i in range(len(kinds)):
            if kinds[i] == SUM:
                total = 0.0
                for e in range(starts[i], starts[i + 1]):
                    total += weights[slots[e]] * values[children[e]]
                values[count + i] = total
            else:
                product = 1.0
                for e in range(starts[i], starts[i + 1]):
                    product *= values[children[e]]
                values[count + i] = product
        found[row] = values[root]


@kernel
def reference_sums(
    first, last, codes, gaps, columns, starts, logs, bounds, log_reference, log_bound
):
    """Add to the rows first … last-1 the numbers of their cells in two tables.

    The numbers of the i-th of these columns begin at starts[i].
    """
    reference, bound = log_reference[first:last], log_bound[first:last]
    for i in range(len(columns)):
        own, missing, start = codes[columns[i], first:last], gaps[columns[i]], starts[i]
        end = starts[i + 1] if i + 1 < len(starts) else len(logs)
        if end - start == 3:
            _plus_binary(reference, own, missing, logs[start], logs[start + 1], logs[start + 2])
            _plus_binary(bound, own, missing, bounds[start], bounds[start + 1], bounds[start + 2])
        else:
            _plus_finite(reference, own, 1.0, logs[start:end])
            _plus_finite(bound, own, 1.0, bounds[start:end])


@kernel
def flows_of_missing_rows(root, leaves, inner_nodes, weights):
    """Return the flow of every leaf in a row of missing cells."""
    kinds, starts, children, slots = inner_nodes
    flows = np.zeros(leaves + len(kinds))
    flows[root] = 1.0
    for i in range(len(kinds) - 1, -1, -1):
        flow = flows[leaves + i]
        if flow > 0.0:
            for e in range(starts[i], starts[i + 1]):
                flows[children[e]] += flow * weights[slots[e]] if kinds[i] == SUM else flow
    return flows[:leaves]
