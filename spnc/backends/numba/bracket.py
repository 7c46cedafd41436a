"""The bracket: values once more, from above, to see whether something was lost that matters.

When a number falls below `FLOOR`, values are computed again with `FLOOR` in the place of all such
numbers, which is more than they can be; true zeros stay zeros. Rows whose root hardly differs
between the two are exact. If the upper value is zero, the row is impossible. What lies between is
left to the log domain.

A dense block is taken sum by sum here: no matrix product knows floors.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.kernels import FLOOR
from spnc.backends.planning.compiling import kernel, part
from spnc.backends.planning.plan import LEAF, MEMBER, PRODUCT, SUM

CLOSE = 1e-13  # how far apart the logarithms may be, as a share of them where they are large


@part
def _times_from_above(own, table, way):
    for k in range(len(own)):
        factor = table[way[k]]
        both = max(own[k] * factor, FLOOR)
        own[k] = both if own[k] > 0.0 and factor > 0.0 else 0.0


@part
def _add_from_above(own, weight, other):
    for k in range(len(own)):
        own[k] += max(weight * other[k], FLOOR) if other[k] > 0.0 else 0.0


@kernel
def _dense_from_above(dense, block, matrices, places, size, step, first, values):
    """The sums of a dense block, each in the `step` values after the one before."""
    start, fan = dense.starts[block], dense.starts[block + 1] - dense.starts[block]
    for i in range(dense.sums[block]):
        own = values[first + i * step : first + i * step + size]
        own[:] = 0.0
        for j in range(fan):
            weight = matrices[0, dense.weights[block] + i * fan + j]
            child = places[dense.children[start + j]]
            if weight > 0.0:
                _add_from_above(own, weight, values[child : child + size])


@kernel
def cells_from_above(first, last, cells, dense, weights, matrices, maps, alive, values):
    """The values of the cells first … last-1, from above."""
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
                way = maps[links.maps[e] : links.maps[e] + size]
                _times_from_above(own, values[offsets[links.nodes[e]] :], way)
        elif kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight, child = weights[links.slots[e]], offsets[links.nodes[e]]
                if weight > 0.0:
                    _add_from_above(own, weight, values[child : child + size])
        elif dense is not None:
            _dense_from_above(
                dense, dense.block_of[i], matrices, offsets, size, size, offsets[i], values
            )


@kernel
def rows_from_above(
    first, last, width, nodes, dense, places, offsets, weights, matrices, maps, straight, alive,
    cell_values, reference, signs, values, found,
):  # fmt: skip
    """Log-likelihoods from above, of the rows in those blocks first … last-1 that have signs.

    `straight` is the map 0, 1, 2, … that leads from a block's rows to themselves.
    """
    links, cells = nodes.children, nodes.cells
    root = len(nodes.kinds) - 1
    for block in range(first, last):
        if signs[block] == 0:
            continue
        row = block * width
        size = min(width, len(found) - row)
        for i in range(root + 1):
            kind = nodes.kinds[i]
            if alive[i] == 0 or kind == MEMBER:
                continue
            own = values[places[i] : places[i] + size]
            if kind == PRODUCT:
                own[:] = 1.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    _times_from_above(own, values[places[links.nodes[e]] :], straight)
                for e in range(cells.starts[i], cells.starts[i + 1]):
                    way = maps[cells.maps[e] + row : cells.maps[e] + row + size]
                    _times_from_above(own, cell_values[offsets[cells.nodes[e]] :], way)
            elif kind == SUM:
                own[:] = 0.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    weight, child = weights[links.slots[e]], places[links.nodes[e]]
                    if weight > 0.0:
                        _add_from_above(own, weight, values[child : child + size])
            elif dense is not None:
                _dense_from_above(
                    dense, dense.block_of[i], matrices, places, size, width, places[i], values
                )
        for k in range(size):
            value = values[places[root] + k]
            found[row + k] = np.log(value) + reference[row + k] if value > 0.0 else -np.inf
