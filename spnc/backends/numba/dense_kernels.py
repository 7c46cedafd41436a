"""Dense blocks as matrix products, for cells and row nodes alike. All matrices are flat.

The values of a node start at places[node], and there are `size` of them.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.planning.compiling import kernel


@kernel
def _multiply(left, right, rows, inner, columns, out):
    """out = left · right, by BLAS."""
    np.dot(left.reshape(rows, inner), right.reshape(inner, columns), out.reshape(rows, columns))


@kernel
def _gather(dense, block, places, size, values, across, down):
    """Copy a dense block's child values: entry k of child j goes to j · down + k · across."""
    start, fan = dense.starts[block], dense.starts[block + 1] - dense.starts[block]
    found = np.empty(fan * size)
    for j in range(fan):
        child = values[places[dense.children[start + j]] :]
        for k in range(size):
            found[j * down + k * across] = child[k]
    return found


@kernel
def dense_forward(dense, block, matrices, places, size, values, own):
    """Compute the values of a dense block's sums, [sum, entry]."""
    fan = dense.starts[block + 1] - dense.starts[block]
    below = _gather(dense, block, places, size, values, 1, size)
    matrix = matrices[0, dense.weights[block] : dense.weights[block + 1]]
    _multiply(matrix, below, dense.sums[block], fan, size, own)


@kernel
def dense_backward(dense, block, matrices, places, size, values, above, counts, out):
    """Pass flows down through a dense block, given its sums' flows divided by their values.

    The flows of its edges are added up in `counts`. The flows of its children, divided by the
    children's values, go to `out`.
    """
    start, stop = dense.weights[block], dense.weights[block + 1]
    sums, fan = dense.sums[block], dense.starts[block + 1] - dense.starts[block]
    _multiply(matrices[1, start:stop], above, fan, sums, size, out)
    below = _gather(dense, block, places, size, values, fan, 1)
    own = counts[start:stop]
    _multiply(above, below, sums, size, fan, own)
    for e in range(stop - start):
        own[e] *= matrices[0, start + e]
