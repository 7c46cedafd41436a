"""Upper bounds of values, to tell whether the range of doubles was large enough.

When a number falls below `FLOOR`, values are computed a second time with all such numbers replaced
by `FLOOR`, which is more than they can be; true zeros stay zeros. If the two values of a row's root
agree, the row is exact. If the upper bound is zero, the row is impossible. All other rows are
computed again in the log domain.

Dense blocks are computed sum by sum here, since a matrix product cannot replace small terms.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.kernels import FLOOR, move_leaves
from spnc.backends.planning.compiling import inlined, kernel
from spnc.backends.planning.kinds import LEAF, MEMBER, PRODUCT, SUM

CLOSE = 1e-13  # how far the two logarithms may differ: relative if they are above 1, else absolute


@inlined
def multiply_upper_bound(own, table, lookup):
    """Multiply upper bounds in place, factors read through a map."""
    for k in range(len(own)):
        factor = table[lookup[k]]
        both = max(own[k] * factor, FLOOR)
        own[k] = both if own[k] > 0.0 and factor > 0.0 else 0.0


@inlined
def add_upper_bound(own, weight, other):
    """Add weighted upper bounds in place."""
    for k in range(len(own)):
        own[k] += max(weight * other[k], FLOOR) if other[k] > 0.0 else 0.0


@kernel
def _dense_upper_bound(dense, block, matrices, places, size, step, first, values):
    """Compute upper bounds of a dense block's sums, each `step` values after the one before."""
    start, fan = dense.starts[block], dense.starts[block + 1] - dense.starts[block]
    for i in range(dense.sums[block]):
        own = values[first + i * step : first + i * step + size]
        own[:] = 0.0
        for j in range(fan):
            weight = matrices[0, dense.weights[block] + i * fan + j]
            child = places[dense.children[start + j]]
            if weight > 0.0:
                add_upper_bound(own, weight, values[child : child + size])


@kernel
def cells_upper_bound(first, last, cells, dense, weights, matrices, maps, alive, values):
    """Compute upper bounds of the values of the cells first … last-1."""
    links, offsets = cells.children, cells.offsets
    for i in range(first, last):
        kind = cells.kinds[i]
        if alive[i] == 0 or kind in (LEAF, MEMBER):
            continue
        size = cells.sizes[i]
        own = values[offsets[i] : offsets[i] + size]
        if kind == PRODUCT:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                lookup = maps[links.maps[e] : links.maps[e] + size]
                multiply_upper_bound(own, values[offsets[links.nodes[e]] :], lookup)
        elif kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight, child = weights[links.slots[e]], offsets[links.nodes[e]]
                if weight > 0.0:
                    add_upper_bound(own, weight, values[child : child + size])
        elif dense is not None:
            _dense_upper_bound(
                dense, dense.block_of[i], matrices, offsets, size, size, offsets[i], values
            )


@kernel
def rows_upper_bound(
    first, last, width, nodes, dense, places, offsets, weights, matrices, maps, identity, alive,
    cell_values, reference, flags, values, found,
):  # fmt: skip
    """Compute upper bounds of log-likelihoods in those of the blocks first … last-1 with flags.

    `identity` is the identity map 0, 1, 2, … of a block's rows. The values of leaves are given, and
    are upper bounds; `places` says where those of block `first` are.
    """
    links, cells = nodes.children, nodes.cells
    root = len(nodes.kinds) - 1
    places = places.copy()
    for block in range(first, last):
        if block > first:
            move_leaves(nodes, width, places)
        if flags[block] == 0:
            continue
        row = block * width
        size = min(width, len(found) - row)
        for i in range(root + 1):
            kind = nodes.kinds[i]
            if alive[i] == 0 or kind in (LEAF, MEMBER):
                continue
            own = values[places[i] : places[i] + size]
            if kind == PRODUCT:
                own[:] = 1.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    multiply_upper_bound(own, values[places[links.nodes[e]] :], identity)
                for e in range(cells.starts[i], cells.starts[i + 1]):
                    lookup = maps[cells.maps[e] + row : cells.maps[e] + row + size]
                    multiply_upper_bound(own, cell_values[offsets[cells.nodes[e]] :], lookup)
            elif kind == SUM:
                own[:] = 0.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    weight, child = weights[links.slots[e]], places[links.nodes[e]]
                    if weight > 0.0:
                        add_upper_bound(own, weight, values[child : child + size])
            elif dense is not None:
                _dense_upper_bound(
                    dense, dense.block_of[i], matrices, places, size, width, places[i], values
                )
        for k in range(size):
            value = values[places[root] + k]
            found[row + k] = np.log(value) + reference[row + k] if value > 0.0 else -np.inf
