"""The compiled loops that draw rows: from the root down, one child of a sum, all of a product.

Every part or block of rows has random numbers of its own (xoshiro256++, by Blackman and Vigna), so
that rows do not depend on the number of threads. A numeric leaf that is reached leaves its number
in its cell; its value is drawn afterwards, by the leaf's own `sample`.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.direct_kernels import NUMERIC, blocks_forward
from spnc.backends.numba.log_kernels import upward_in_logs
from spnc.backends.planning.compiling import inlined, kernel
from spnc.backends.planning.kinds import SUM

_12, _17, _19, _23, _41, _45 = (np.uint64(n) for n in (12, 17, 19, 23, 41, 45))
_STEP = 2.0**-52


@inlined
def uniform(state):
    """Return a random number in [0, 1), and advance the four words of the state.

    It is a multiple of 2⁻⁵²: so it is below the end of any interval, also after multiplication.
    """
    total = state[0] + state[3]
    drawn = ((total << _23) | (total >> _41)) + state[0]
    shifted = state[1] << _17
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << _45) | (state[3] >> _19)
    return np.float64(drawn >> _12) * _STEP


@inlined
def draw_leaf(leaf, leaves, states, leaf_ends, state):
    """Return a state of a finite leaf; the number of a numeric leaf itself."""
    if leaves.kinds[leaf] == NUMERIC:
        return np.float64(leaf)
    start, count = leaves.starts[leaf], states[leaves.columns[leaf]]
    at = uniform(state) * leaf_ends[start + count - 1]
    found = 0
    while leaf_ends[start + found] <= at:
        found += 1
    return np.float64(found)


@kernel
def running_totals(starts, slots, kinds, weights):
    """Return, for every edge of a sum, the weights of its edges up to and including this one."""
    ends = np.zeros(len(slots))
    for i in range(len(kinds)):
        if kinds[i] == SUM:
            total = 0.0
            for e in range(starts[i], starts[i + 1]):
                total += weights[slots[e]]
                ends[e] = total
    return ends


@kernel
def draw_rows(
    first, last, size, seeds, root, leaves, states, leaf_ends, inner_nodes, ends, values
):  # fmt: skip
    """Draw the rows of the parts first … last-1, of `size` rows each, into values[row, column]."""
    kinds, starts, children, _ = inner_nodes
    count = len(leaves.kinds)
    # The nodes that wait have no columns in common, so there are no more of them than columns.
    stack = np.empty(values.shape[1] + 1, dtype=np.int64)
    for part in range(first, last):
        state = seeds[part].copy()
        for row in range(part * size, min((part + 1) * size, len(values))):
            stack[0], depth = root, 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if node < count:
                    drawn = draw_leaf(node, leaves, states, leaf_ends, state)
                    values[row, leaves.columns[node]] = drawn
                    continue
                begin, end = starts[node - count], starts[node - count + 1]
                if kinds[node - count] != SUM:
                    for e in range(begin, end):
                        stack[depth] = children[e]
                        depth += 1
                    continue
                at = uniform(state) * ends[end - 1]
                low, high = begin, end - 1  # the first edge that ends behind the place
                while low < high:
                    middle = (low + high) // 2
                    if ends[middle] > at:
                        high = middle
                    else:
                        low = middle + 1
                stack[depth] = children[low]
                depth += 1


@kernel
def complete_blocks(
    first, last, width, order, leaves, codes, gaps, ratios, weights, strips, base, memory, found,
    seeds, root, states, leaf_ends, inner_nodes, values,
):  # fmt: skip
    """Draw the missing cells of the rows in the blocks first … last-1, given their other cells.

    The first arguments are those of `blocks_forward`, with a place for every inner node. Rows whose
    ratio is zero or not finite stay as they are.
    """
    kinds, starts, children, slots = inner_nodes
    count = len(leaves.kinds)
    stack = np.empty(values.shape[1] + 1, dtype=np.int64)
    for block in range(first, last):
        blocks_forward(
            block, block + 1, width, order, leaves, codes, gaps, ratios, weights, strips, base,
            memory, found,
        )  # fmt: skip
        state = seeds[block].copy()
        for row in range(block * width, min((block + 1) * width, len(values))):
            if not (0.0 < found[row] < np.inf):
                continue
            here, strip = row - block * width, row - base * width
            stack[0], depth = root, 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if node < count:
                    column = leaves.columns[node]
                    if np.isnan(values[row, column]):
                        values[row, column] = draw_leaf(node, leaves, states, leaf_ends, state)
                    continue
                begin, end = starts[node - count], starts[node - count + 1]
                if kinds[node - count] != SUM:
                    for e in range(begin, end):
                        stack[depth] = children[e]
                        depth += 1
                    continue
                at = uniform(state) * memory[node - count, here]
                total, chosen = 0.0, -1
                for e in range(begin, end):
                    child = children[e]
                    if child >= count:
                        value = memory[child - count, here]
                    elif leaves.kinds[child] == NUMERIC:
                        value = strips[leaves.starts[child], strip]
                    else:
                        value = ratios[leaves.starts[child] + codes[leaves.columns[child], row]]
                    share = weights[slots[e]] * value
                    if share > 0.0:
                        total += share
                        chosen = e  # if rounding leaves none behind the place, the last possible
                        if total > at:
                            break
                stack[depth] = children[chosen]
                depth += 1


@kernel
def complete_in_logs(
    rows, places, root, codes, logs, log_starts, log_weights, seed, leaves, states, leaf_ends,
    inner_nodes, values,
):  # fmt: skip
    """Draw the missing cells of some rows, whose codes are at `places`, in the log domain.

    Impossible rows stay as they are.
    """
    kinds, starts, children, slots = inner_nodes
    count = len(leaves.kinds)
    stack = np.empty(values.shape[1] + 1, dtype=np.int64)
    own = np.empty(count + len(kinds))
    state = seed.copy()
    for k in range(len(rows)):
        for n in range(count):
            own[n] = logs[log_starts[n] + codes[leaves.columns[n], places[k]]]
        upward_in_logs(own, count, inner_nodes, log_weights)
        if own[root] == -np.inf:
            continue
        stack[0], depth = root, 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if node < count:
                column = leaves.columns[node]
                if np.isnan(values[rows[k], column]):
                    values[rows[k], column] = draw_leaf(node, leaves, states, leaf_ends, state)
                continue
            begin, end = starts[node - count], starts[node - count + 1]
            if kinds[node - count] != SUM:
                for e in range(begin, end):
                    stack[depth] = children[e]
                    depth += 1
                continue
            at = uniform(state)
            total, chosen = 0.0, -1
            for e in range(begin, end):
                log_share = log_weights[slots[e]] + own[children[e]] - own[node]
                if log_share > -np.inf:
                    total += np.exp(log_share)
                    chosen = e
                    if total > at:
                        break
            stack[depth] = children[chosen]
            depth += 1
