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

from spnc.engine.compiling import inlined, kernel
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
    low, high = 0, 0
    for k in range(len(own)):
        low += own[k] < FLOOR
        high += own[k] > CEILING
    return (LOW if low else 0) | (HIGH if high else 0)


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
def _matmul(left, right, rows, inner, columns, out):
    """out = left · right, all flat."""
    np.dot(left.reshape(rows, inner), right.reshape(inner, columns), out.reshape(rows, columns))


@kernel
def _gather(dense, block, places, size, values, transposed):
    """The values of a dense block's children: [child, entry], or [entry, child] if transposed."""
    start, stop = dense.starts[block], dense.starts[block + 1]
    fan = stop - start
    found = np.empty(fan * size)
    for j in range(fan):
        child = values[places[dense.children[start + j]] :]
        for k in range(size):
            found[k * fan + j if transposed else j * size + k] = child[k]
    return found


@kernel
def _dense_forward(dense, block, matrices, places, size, from_above, values, own):
    """The values of a dense block's sums."""
    below = _gather(dense, block, places, size, values, False)
    matrix = matrices[dense.weights[block] : dense.weights[block + 1]]
    sums, fan = dense.sums[block], dense.starts[block + 1] - dense.starts[block]
    if not from_above:
        _matmul(matrix, below, sums, fan, size, own)
        return
    own[:] = 0.0
    for i in range(sums):
        for j in range(fan):
            if matrix[i * fan + j] > 0.0:
                _add_times_above(
                    own[i * size : (i + 1) * size],
                    matrix[i * fan + j],
                    below[j * size : (j + 1) * size],
                )


@kernel
def _dense_backward(dense, block, matrices, transposed, places, size, values, above, counts, out):
    """Flows, divided by values, from a dense block's sums: to its children, and of its edges."""
    start, stop = dense.weights[block], dense.weights[block + 1]
    sums, fan = dense.sums[block], dense.starts[block + 1] - dense.starts[block]
    _matmul(transposed[start:stop], above, fan, sums, size, out)
    below = _gather(dense, block, places, size, values, True)
    own = counts[start:stop]
    _matmul(above, below, sums, size, fan, own)
    for e in range(stop - start):
        own[e] *= matrices[start + e]


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
        if kind == DENSE:
            block = dense.block_of[i]
            own = values[offsets[i] : offsets[i] + dense.sums[block] * size]
            _dense_forward(dense, block, matrices, offsets, size, from_above, values, own)
        elif kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight = weights[links.slots[e]]
                child = offsets[links.nodes[e]]
                if weight > 0.0 and from_above:
                    _add_times_above(own, weight, values[child : child + size])
                elif weight > 0.0:
                    _add_times(own, weight, values[child : child + size])
        else:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                way = maps[links.maps[e] : links.maps[e] + size]
                if from_above:
                    _times_above(own, values[offsets[links.nodes[e]] :], way)
                else:
                    _times(own, values[offsets[links.nodes[e]] :], way)
        signs |= _signs(own)
    return signs


@kernel
def cells_backward(
    first, last, cells, weights, matrices, transposed, maps, alive, values, flows, buffers, counts,
    dense_counts,
):  # fmt: skip
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
            _dense_backward(
                dense, block, matrices, transposed, offsets, size, values,
                flows[offsets[i] : offsets[i] + dense.sums[block] * size], dense_counts,
                buffers[dense.buffers[block] : dense.buffers[block + 1]],
            )  # fmt: skip


@inlined
def _block_forward(
    row, size, width, nodes, places, offsets, weights, matrices, maps, alive, from_above,
    cell_values, values,
):  # fmt: skip
    """The values of all row nodes for rows row … row+size-1, and the signs they give."""
    links, dense = nodes.children, nodes.dense
    signs = 0
    for i in range(len(nodes.kinds)):
        kind = nodes.kinds[i]
        if alive[i] == 0 or kind == MEMBER:
            continue
        own = values[places[i] : places[i] + size]
        if kind == DENSE:
            block = dense.block_of[i]
            own = values[places[i] : places[i] + dense.sums[block] * width]
            _dense_forward(dense, block, matrices, places, width, from_above, values, own)
        elif kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight = weights[links.slots[e]]
                child = places[links.nodes[e]]
                if weight > 0.0 and from_above:
                    _add_times_above(own, weight, values[child : child + size])
                elif weight > 0.0:
                    _add_times(own, weight, values[child : child + size])
        else:
            own[:] = 1.0
            for e in range(links.starts[i], links.starts[i + 1]):
                child = values[places[links.nodes[e]] :]
                for k in range(size):
                    both = own[k] * child[k]
                    if from_above and own[k] > 0.0 and child[k] > 0.0:
                        both = max(both, FLOOR)
                    own[k] = both
            for e in range(nodes.cells.starts[i], nodes.cells.starts[i + 1]):
                start = nodes.cells.maps[e] + row
                cell = cell_values[offsets[nodes.cells.nodes[e]] :]
                if from_above:
                    _times_above(own, cell, maps[start : start + size])
                else:
                    _times(own, cell, maps[start : start + size])
        signs |= _signs(own)
    return signs


@inlined
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
    first, last, width, nodes, places, offsets, weights, matrices, transposed, maps, alive,
    cell_values, cell_uppers, cell_signs, reference, row_weights, flowing, base, values, flows,
    dense_flows, gate_flows, counts, dense_counts, found,
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
        signs = cell_signs
        from_above = False
        below, own_values = cell_values, values
        while True:
            signs |= _block_forward(
                row, size, width, nodes, places, offsets, weights, matrices, maps, alive,
                from_above, below, own_values,
            )  # fmt: skip
            if from_above or not signs & LOW:
                break
            # The room for flows holds the values from above meanwhile.
            from_above, below, own_values = True, cell_uppers, flows
        low = values[places[root] : places[root] + size]
        high = own_values[places[root] : places[root] + size]
        own_found = found[row : row + size]
        _block_root(low, high, reference[row : row + size], own_found)
        if not flowing:
            continue
        flows[:] = 0.0
        for k in range(size):
            if own_found[k] > -np.inf:
                flows[places[root] + k] = row_weights[row + k]
            elif signs & HIGH:  # an infinity here must not meet a flow of zero
                for i in range(root + 1):
                    values[places[i] + k] = 0.0
        for i in range(root, -1, -1):
            kind = nodes.kinds[i]
            if alive[i] == 0:
                continue
            own = flows[places[i] : places[i] + size]
            if kind == PRODUCT:
                for e in range(links.starts[i], links.starts[i + 1]):
                    child = flows[places[links.nodes[e]] :]
                    for k in range(size):
                        child[k] += own[k]
                continue
            _divide(own, values[places[i] : places[i] + size])
            if kind == SUM:
                for e in range(links.starts[i], links.starts[i + 1]):
                    child = places[links.nodes[e]]
                    counts[block - base, e] = _share_flow(
                        weights[links.slots[e]], own, values[child : child + size],
                        flows[child : child + size],
                    )  # fmt: skip
            elif kind == DENSE:
                number = dense.block_of[i]
                fan = dense.starts[number + 1] - dense.starts[number]
                _dense_backward(
                    dense, number, matrices, transposed, places, width, values,
                    flows[places[i] : places[i] + dense.sums[number] * width],
                    dense_counts[block - base], dense_flows[: fan * width],
                )  # fmt: skip
                for j in range(fan):
                    child = places[dense.children[dense.starts[number] + j]]
                    for k in range(size):
                        flows[child + k] += dense_flows[j * width + k] * values[child + k]
        start = row - base * width
        for g in range(len(nodes.gates)):
            gate = flows[places[nodes.gates[g]] :]
            for k in range(size):
                gate_flows[g, start + k] = gate[k]


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
