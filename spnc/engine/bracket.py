"""The bracket: values once more, from above, to see whether something was lost that matters.

When a number falls below `FLOOR`, values are computed again with `FLOOR` in the place of all such
numbers, which is more than they can be; true zeros stay zeros. Rows whose root hardly differs
between the two are exact. If the upper value is zero, the row is impossible. What lies between is
left to the log domain.

This is seldom needed, and plain loops will do: a dense block is taken sum by sum.
"""

from __future__ import annotations

import numpy as np

from spnc.engine.compiling import kernel
from spnc.engine.kernels import FLOOR
from spnc.engine.plan import DENSE, LEAF, MEMBER, PRODUCT, SUM

CLOSE = 1e-13  # how far apart the logarithms may be


@kernel
def _dense_from_above(dense, block, matrices, places, size, step, first, values):
    """The sums of a dense block, each in the `step` values after the one before."""
    start, fan = dense.starts[block], dense.starts[block + 1] - dense.starts[block]
    edge = dense.weights[block]
    for i in range(dense.sums[block]):
        for k in range(size):
            total = 0.0
            for j in range(fan):
                weight = matrices[0, edge + i * fan + j]
                value = values[places[dense.children[start + j]] + k]
                if weight > 0.0 and value > 0.0:
                    total += max(weight * value, FLOOR)
            values[first + i * step + k] = total


@kernel
def cells_from_above(first, last, cells, dense, weights, matrices, maps, alive, values):
    """The values of the cells first … last-1, from above."""
    links, offsets = cells.children, cells.offsets
    for i in range(first, last):
        kind = cells.kinds[i]
        if alive[i] == 0 or kind in (LEAF, MEMBER):
            continue
        size = cells.sizes[i]
        if kind == DENSE:
            if dense is not None:
                _dense_from_above(
                    dense, dense.block_of[i], matrices, offsets, size, size, offsets[i], values
                )
            continue
        for k in range(size):
            own = 1.0 if kind == PRODUCT else 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                child = offsets[links.nodes[e]]
                if kind == PRODUCT:
                    factor = values[child + maps[links.maps[e] + k]]
                    own = max(own * factor, FLOOR) if own > 0.0 and factor > 0.0 else 0.0
                elif weights[links.slots[e]] > 0.0 and values[child + k] > 0.0:
                    own += max(weights[links.slots[e]] * values[child + k], FLOOR)
            values[offsets[i] + k] = own


@kernel
def rows_from_above(
    first, last, width, nodes, dense, places, offsets, weights, matrices, maps, alive, cell_values,
    reference, signs, values, found,
):  # fmt: skip
    """Log-likelihoods from above, of the rows in those blocks first … last-1 that have signs."""
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
            if kind == DENSE:
                if dense is not None:
                    _dense_from_above(
                        dense, dense.block_of[i], matrices, places, size, width, places[i], values
                    )
                continue
            for k in range(size):
                own = 1.0 if kind == PRODUCT else 0.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    value = values[places[links.nodes[e]] + k]
                    if kind == SUM and value > 0.0 and weights[links.slots[e]] > 0.0:
                        own += max(weights[links.slots[e]] * value, FLOOR)
                    elif kind == PRODUCT:
                        own = max(own * value, FLOOR) if own > 0.0 and value > 0.0 else 0.0
                for e in range(cells.starts[i], cells.starts[i + 1]):
                    value = cell_values[offsets[cells.nodes[e]] + maps[cells.maps[e] + row + k]]
                    own = max(own * value, FLOOR) if own > 0.0 and value > 0.0 else 0.0
                values[places[i] + k] = own
        for k in range(size):
            value = values[places[root] + k]
            found[row + k] = np.log(value) + reference[row + k] if value > 0.0 else -np.inf
