"""The compiled loops, in the linear domain. Generic over circuits: a plan's arrays are the program.

Every leaf value is divided by the probability of that column's value in the table, so that a
node's number is a likelihood ratio near one, and sums and products are plain multiply-adds. What
may still leave the range of doubles is bracketed: when some number falls below `FLOOR`, values are
computed once more with `FLOOR` in the place of all such numbers, which is more than they can be.
Where the root hardly differs between the two, nothing was lost that matters; the other rows, and
those that overflow, are left to the log domain.

Flows: a sum's flow is divided by its value once (one division a node and projection); the edge
to a child then costs two multiplications and an addition. Products hand their flow on unchanged.

Kernels release the interpreter's lock and never share what they write: threads run them on
disjoint tasks, blocks or cells, and every sum is taken in one fixed order.
"""

from __future__ import annotations

import numpy as np

from spnc.engine.compiling import kernel
from spnc.engine.plan import DENSE, LEAF, MEMBER, PRODUCT, SUM

FLOOR, CEILING = 1e-290, 1e290
CLOSE = 1.0 + 1e-13  # how far apart the bracket may be
LOW, HIGH = 1, 2  # signs that a number was below the floor, or above the ceiling


@kernel
def mark_alive(kinds, links, dense, weights, alive):
    """Mark what marked nodes reach through weights above zero; the rest costs nothing."""
    for i in range(len(kinds) - 1, -1, -1):
        if kinds[i] == DENSE:
            block = dense.block_of[i]
            for m in range(i + 1, i + dense.sums[block]):
                alive[i] |= alive[m]
            if alive[i] != 0:
                alive[i : i + dense.sums[block]] = 1
                for e in range(dense.starts[block], dense.starts[block + 1]):
                    alive[dense.children[e]] = 1
        elif alive[i] != 0:
            for e in range(links.starts[i], links.starts[i + 1]):
                if links.slots[e] < 0 or weights[links.slots[e]] > 0.0:
                    alive[links.nodes[e]] = 1


@kernel
def _times(own, table, way):
    for k in range(len(own)):
        own[k] *= table[way[k]]


@kernel
def _times_above(own, table, way):
    """The same from above: what falls below the floor is lifted to it, but for true zeros."""
    for k in range(len(own)):
        factor = table[way[k]]
        if own[k] > 0.0:
            own[k] = max(own[k] * factor, FLOOR) if factor > 0.0 else 0.0


@kernel
def _add_times(own, weight, other):
    for k in range(len(own)):
        own[k] += weight * other[k]


@kernel
def _add_times_above(own, weight, other):
    """The same from above."""
    for k in range(len(own)):
        if other[k] > 0.0:
            own[k] += max(weight * other[k], FLOOR)


@kernel
def _signs(own):
    """Whether numbers leave the range in which all is sure."""
    least, greatest = np.inf, 0.0
    for k in range(len(own)):
        least = min(least, own[k])
        greatest = max(greatest, own[k])
    return (LOW if least < FLOOR else 0) | (HIGH if greatest > CEILING else 0)


@kernel
def _share_flow(weight, above, value, own):
    """Hand a sum's flow, divided by its value, to a child; how much that was."""
    total = 0.0
    for k in range(len(own)):
        flow = weight * above[k] * value[k]
        own[k] += flow
        total += flow
    return total


@kernel
def _divide(flow, value):
    for k in range(len(flow)):
        flow[k] = flow[k] / value[k] if value[k] > 0.0 else 0.0


@kernel
def cells_forward(first, last, cells, weights, matrices, maps, alive, from_above, values):
    """The values of the cells first … last-1, and the signs they give."""
    links, dense, offsets = cells.children, cells.dense, cells.offsets
    signs = 0
    for i in range(first, last):
        kind = cells.kinds[i]
        if alive[i] == 0 or kind in (LEAF, MEMBER):
            continue
        size = cells.sizes[i]
        own = values[offsets[i] : offsets[i] + size]
        if kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight = weights[links.slots[e]]
                child = offsets[links.nodes[e]]
                if weight > 0.0 and from_above:
                    _add_times_above(own, weight, values[child : child + size])
                elif weight > 0.0:
                    _add_times(own, weight, values[child : child + size])
        elif kind == PRODUCT:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                way = maps[links.maps[e] : links.maps[e] + size]
                if from_above:
                    _times_above(own, values[offsets[links.nodes[e]] :], way)
                else:
                    _times(own, values[offsets[links.nodes[e]] :], way)
        else:
            block = dense.block_of[i]
            matrix = _matrix(dense, block, matrices)
            below = _gather_cells(dense, block, offsets, size, values)
            own = values[offsets[i] : offsets[i] + matrix.shape[0] * size]
            _multiply(matrix, below, from_above, own.reshape(matrix.shape[0], size))
        signs |= _signs(own)
    return signs


@kernel
def _multiply(matrix, below, from_above, own):
    """The values of a dense block's sums from those of its children."""
    if not from_above:
        np.dot(matrix, below, own)
        return
    own[:] = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j] > 0.0:
                _add_times_above(own[i], matrix[i, j], below[j])


@kernel
def _matrix(dense, block, matrices):
    """A dense block's weights, [sum, child]."""
    fan = dense.starts[block + 1] - dense.starts[block]
    own = matrices[dense.weights[block] : dense.weights[block + 1]]
    return own.reshape(dense.sums[block], fan)


@kernel
def _gather_cells(dense, block, offsets, size, values):
    """The values of a dense block's children, one below another."""
    start = dense.starts[block]
    fan = dense.starts[block + 1] - start
    found = np.empty((fan, size))
    for j in range(fan):
        child = offsets[dense.children[start + j]]
        for k in range(size):
            found[j, k] = values[child + k]
    return found


@kernel
def _count_matrix(dense, block, matrix, above, below, counts):
    """The flows of a dense block's edges, added up."""
    shares = np.dot(above, below.T)
    position = dense.weights[block]
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            counts[position] = matrix[i, j] * shares[i, j]
            position += 1


@kernel
def cells_backward(
    first, last, cells, weights, matrices, maps, alive, values, flows, buffers, counts, dense_counts
):
    """The flows of the cells first … last-1, last first; those of their edges into the counts.

    Every cell collects from its parents. The flow of a sum is left divided by its value.
    """
    links, dense, offsets = cells.parents, cells.dense, cells.offsets
    for i in range(last - 1, first - 1, -1):
        if alive[i] == 0:
            continue
        size = cells.sizes[i]
        own = flows[offsets[i] : offsets[i] + size]
        value = values[offsets[i] : offsets[i] + size]
        for e in range(links.starts[i], links.starts[i + 1]):
            parent = links.nodes[e]
            if alive[parent] == 0:
                continue
            above = flows[offsets[parent] : offsets[parent] + cells.sizes[parent]]
            if cells.kinds[parent] == SUM:
                slot = links.slots[e]
                counts[slot] = _share_flow(weights[slot], above, value, own)
            elif cells.kinds[parent] == PRODUCT:
                way = maps[links.maps[e] : links.maps[e] + len(above)]
                for k in range(len(above)):
                    own[way[k]] += above[k]
            else:
                buffer = buffers[links.maps[e] : links.maps[e] + size]
                for k in range(size):
                    own[k] += buffer[k] * value[k]
        kind = cells.kinds[i]
        if kind in (LEAF, PRODUCT):
            continue
        _divide(own, value)
        if kind == DENSE:
            block = dense.block_of[i]
            matrix = _matrix(dense, block, matrices)
            sums, fan = matrix.shape
            above = flows[offsets[i] : offsets[i] + sums * size].reshape(sums, size)
            below = _gather_cells(dense, block, offsets, size, values)
            start = dense.buffers[block]
            np.dot(matrix.T, above, buffers[start : start + fan * size].reshape(fan, size))
            _count_matrix(dense, block, matrix, above, below, dense_counts)


@kernel
def _gather_rows(dense, block, width, values):
    """The values of a dense block's children among the row nodes, one below another."""
    start = dense.starts[block]
    fan = dense.starts[block + 1] - start
    found = np.empty((fan, width))
    for j in range(fan):
        child = dense.children[start + j] * width
        for k in range(width):
            found[j, k] = values[child + k]
    return found


@kernel
def _block_forward(
    row,
    size,
    width,
    nodes,
    offsets,
    weights,
    matrices,
    maps,
    alive,
    from_above,
    cell_values,
    values,
):
    """The values of all row nodes for rows row … row+size-1: values[node · width + k]."""
    links, dense = nodes.children, nodes.dense
    straight = np.arange(size).astype(np.uint16)
    signs = 0
    for i in range(len(nodes.kinds)):
        kind = nodes.kinds[i]
        if alive[i] == 0 or kind == MEMBER:
            continue
        own = values[i * width : i * width + size]
        if kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight = weights[links.slots[e]]
                child = links.nodes[e] * width
                if weight > 0.0 and from_above:
                    _add_times_above(own, weight, values[child : child + size])
                elif weight > 0.0:
                    _add_times(own, weight, values[child : child + size])
        elif kind == PRODUCT:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                child = values[links.nodes[e] * width : (links.nodes[e] + 1) * width]
                if from_above:
                    _times_above(own, child, straight)
                else:
                    for k in range(size):
                        own[k] *= child[k]
            for e in range(nodes.cells.starts[i], nodes.cells.starts[i + 1]):
                start = nodes.cells.maps[e] + row
                cell = cell_values[offsets[nodes.cells.nodes[e]] :]
                if from_above:
                    _times_above(own, cell, maps[start : start + size])
                else:
                    _times(own, cell, maps[start : start + size])
        else:
            block = dense.block_of[i]
            matrix = _matrix(dense, block, matrices)
            below = _gather_rows(dense, block, width, values)
            own = values[i * width : (i + matrix.shape[0]) * width]
            _multiply(matrix, below, from_above, own.reshape(matrix.shape[0], width))
        signs |= _signs(own)
    return signs


@kernel
def _block_root(low, high, reference, found):
    """The log-likelihood of each row of a block; not a number where it must be done exactly."""
    for k in range(len(found)):
        if high[k] == 0.0:
            found[k] = -np.inf
        elif low[k] >= FLOOR and low[k] <= CEILING and high[k] <= low[k] * CLOSE:
            found[k] = np.log(low[k]) + reference[k]
        else:
            found[k] = np.nan


@kernel
def rows_pass(
    first, last, width, nodes, offsets, weights, matrices, maps, alive, cell_values, cell_uppers,
    cell_signs, reference, row_weights, flowing, base, values, flows, gate_flows, counts,
    dense_counts, found,
):  # fmt: skip
    """Log-likelihoods of the blocks first … last-1; with `flowing`, the flows through row nodes.

    The flows of gates go to gate_flows[gate, row - base·width]; those of edges, added up over a
    block, to counts[block - base, edge] and dense_counts[block - base, edge].
    """
    links, dense = nodes.children, nodes.dense
    root = len(nodes.kinds) - 1
    for block in range(first, last):
        row = block * width
        size = min(width, len(found) - row)
        signs = cell_signs | _block_forward(
            row, size, width, nodes, offsets, weights, matrices, maps, alive, False, cell_values,
            values,
        )  # fmt: skip
        low = values[root * width : root * width + size]
        high = low
        if signs & LOW:  # the room for flows holds the values from above meanwhile
            _block_forward(
                row, size, width, nodes, offsets, weights, matrices, maps, alive, True, cell_uppers,
                flows,
            )  # fmt: skip
            high = flows[root * width : root * width + size]
        own_found = found[row : row + size]
        _block_root(low, high, reference[row : row + size], own_found)
        if not flowing:
            continue
        edge_counts = counts[block - base]
        flows[:] = 0.0
        for k in range(size):
            if own_found[k] > -np.inf:
                flows[root * width + k] = row_weights[row + k]
            elif signs & HIGH:  # an infinity here must not meet a flow of zero
                for i in range(len(nodes.kinds)):
                    values[i * width + k] = 0.0
        for i in range(root, -1, -1):
            kind = nodes.kinds[i]
            if alive[i] == 0:
                continue
            own = flows[i * width : i * width + size]
            if kind == PRODUCT:
                for e in range(links.starts[i], links.starts[i + 1]):
                    child = links.nodes[e] * width
                    below = flows[child : child + size]
                    for k in range(size):
                        below[k] += own[k]
                continue
            _divide(own, values[i * width : i * width + size])
            if kind == SUM:
                for e in range(links.starts[i], links.starts[i + 1]):
                    child = links.nodes[e] * width
                    edge_counts[e] = _share_flow(
                        weights[links.slots[e]], own, values[child : child + size],
                        flows[child : child + size],
                    )  # fmt: skip
            elif kind == DENSE:
                number = dense.block_of[i]
                matrix = _matrix(dense, number, matrices)
                sums, fan = matrix.shape
                above = flows[i * width : (i + sums) * width].reshape(sums, width)
                below = _gather_rows(dense, number, width, values)
                shares = np.dot(matrix.T, above)
                for j in range(fan):
                    child = dense.children[dense.starts[number] + j] * width
                    for k in range(size):
                        flows[child + k] += shares[j, k] * values[child + k]
                _count_matrix(dense, number, matrix, above, below, dense_counts[block - base])
        start = row - base * width
        for g in range(len(nodes.gates)):
            gate = nodes.gates[g] * width
            for k in range(size):
                gate_flows[g, start + k] = flows[gate + k]


@kernel
def feed_cells(first, last, row, size, feeds, offsets, maps, gate_flows, flows):
    """Add the flows of gates, for rows row … row+size-1, to those of the cells below them."""
    links = feeds.gates
    for i in range(first, last):
        cell = flows[offsets[feeds.cells[i]] :]
        for e in range(links.starts[i], links.starts[i + 1]):
            gate = gate_flows[links.nodes[e], :size]
            way = maps[links.maps[e] + row : links.maps[e] + row + size]
            for k in range(size):
                cell[way[k]] += gate[k]


@kernel
def add_counts(parts, slots, counts):
    """Add the counts of blocks, block by block, to those of the weight slots."""
    for b in range(len(parts)):
        for e in range(len(slots)):
            if slots[e] >= 0:
                counts[slots[e]] += parts[b, e]
