"""The compiled loops, in the linear domain. Generic over circuits: a plan's arrays are the program.

Every leaf value is divided by the largest probability that any leaf gives to that column's value.
All numbers in the circuit are then at most one: nothing can overflow, and what underflows is
smaller than 1e-307 of what the root could be. So the root alone tells whether a row is exact: if
its value is at least `TINY`, all that was lost is less than 1e-20 of it.

Flows: a sum's flow is divided by its value once (one division a node and projection); the edge
to a child then costs two multiplications and an addition. Products hand their flow on unchanged.

Kernels release the interpreter's lock and never share what they write: threads run them on
disjoint tasks, blocks or cells, and every sum is taken in one fixed order.
"""

from __future__ import annotations

import numpy as np

from spnc.engine.compiling import kernel
from spnc.engine.plan import DENSE, LEAF, MEMBER, PRODUCT, SUM

TINY = 1e-287


@kernel
def fill_leaves(probabilities, leaves, top, values):
    """The values of leaf cells, and in `top` what each column's values were divided by."""
    entries, sources, scales = leaves.entries, leaves.sources, leaves.scales
    top[:] = 0.0
    for i in range(len(sources)):
        top[scales[i]] = max(top[scales[i]], probabilities[sources[i]])
    for i in range(len(top)):
        if top[i] == 0.0:
            top[i] = 1.0
    for i in range(len(sources)):
        values[entries[i]] = probabilities[sources[i]] / top[scales[i]]


@kernel
def fill_scales(top, groups, starts, tables):
    """For every group of columns and projection onto it, the sum of the columns' log scales."""
    logs = np.log(top)
    for g in range(len(groups.sizes)):
        position = groups.starts[g]
        for k in range(groups.sizes[g]):
            total = 0.0
            for _ in range(groups.widths[g]):
                total += logs[groups.members[position]]
                position += 1
            tables[starts[g] + k] = total


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
def _add_times(own, weight, other):
    for k in range(len(own)):
        own[k] += weight * other[k]


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
def cells_forward(first, last, cells, weights, matrices, maps, alive, values):
    """The values of the cells first … last-1."""
    links, dense, offsets = cells.children, cells.dense, cells.offsets
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
                if weight > 0.0:
                    child = offsets[links.nodes[e]]
                    _add_times(own, weight, values[child : child + size])
        elif kind == PRODUCT:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                way = maps[links.maps[e] : links.maps[e] + size]
                _times(own, values[offsets[links.nodes[e]] :], way)
        else:
            block = dense.block_of[i]
            matrix = _matrix(dense, block, matrices)
            below = _gather_cells(dense, block, offsets, size, values)
            stop = offsets[i] + dense.sums[block] * size
            np.dot(matrix, below, values[offsets[i] : stop].reshape(dense.sums[block], size))


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
    row, size, width, nodes, offsets, weights, matrices, maps, alive, cell_values, values
):
    """The values of all row nodes for rows row … row+size-1: values[node · width + k]."""
    links, dense = nodes.children, nodes.dense
    for i in range(len(nodes.kinds)):
        kind = nodes.kinds[i]
        if alive[i] == 0 or kind == MEMBER:
            continue
        own = values[i * width : i * width + size]
        if kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight = weights[links.slots[e]]
                if weight > 0.0:
                    child = links.nodes[e] * width
                    _add_times(own, weight, values[child : child + size])
        elif kind == PRODUCT:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                child = links.nodes[e] * width
                other = values[child : child + size]
                for k in range(size):
                    own[k] *= other[k]
            for e in range(nodes.cells.starts[i], nodes.cells.starts[i + 1]):
                start = nodes.cells.maps[e] + row
                _times(
                    own, cell_values[offsets[nodes.cells.nodes[e]] :], maps[start : start + size]
                )
        else:
            block = dense.block_of[i]
            matrix = _matrix(dense, block, matrices)
            below = _gather_rows(dense, block, width, values)
            sums = dense.sums[block]
            np.dot(matrix, below, values[i * width : (i + sums) * width].reshape(sums, width))


@kernel
def _block_root(row, size, width, root, values, group_maps, table_starts, tables, maps, found):
    """The log-likelihood of each row of the block; not a number where it must be done exactly."""
    own = found[row : row + size]
    for k in range(size):
        value = values[root * width + k]
        own[k] = np.log(value) if value >= TINY else np.nan
    for g in range(len(group_maps)):
        table = tables[table_starts[g] :]
        way = maps[group_maps[g] + row : group_maps[g] + row + size]
        for k in range(size):
            own[k] += table[way[k]]


@kernel
def rows_pass(
    first, last, width, nodes, offsets, weights, matrices, maps, alive, cell_values, group_maps,
    table_starts, tables, row_weights, flowing, base, values, flows, gate_flows, counts,
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
        _block_forward(
            row, size, width, nodes, offsets, weights, matrices, maps, alive, cell_values, values
        )
        _block_root(row, size, width, root, values, group_maps, table_starts, tables, maps, found)
        if not flowing:
            continue
        edge_counts = counts[block - base]
        flows[:] = 0.0
        for k in range(size):
            if values[root * width + k] >= TINY:
                flows[root * width + k] = row_weights[row + k]
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
