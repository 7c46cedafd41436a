"""The compiled loops, in the linear domain. They take any circuit, as the arrays of a layout.

Every leaf value is divided by the probability of that value in the reference distribution, so that
a node's value is a likelihood ratio near one, and sums and products are plain multiply-adds. Where
numbers leave the range in which they are exact, kernels return a flag (see `upper_bounds`).

Flows: a sum's flow is divided by its value once (one division per node and projection); the edge
to a child then costs two multiplications and an addition. Products pass their flow on unchanged.

Kernels release the GIL and never write to the same places: threads run them on disjoint tasks,
blocks or cells, and every sum is taken in one fixed order.

`dense` is None in layouts without dense blocks, and numba leaves out all code that depends on it.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.dense_kernels import dense_backward, dense_forward
from spnc.backends.planning.compiling import inlined, kernel
from spnc.backends.planning.kinds import DENSE, LEAF, MEMBER, PRODUCT, SUM

FLOOR, CEILING = 1e-290, 1e290  # what lies between is exact: doubles reach from 1e-308 to 1e308
LOW, HIGH = 1, 2  # flags: a number was below the floor, or above the ceiling


@inlined
def _range_flags(own):
    """Return the flags of numbers below the floor and above the ceiling."""
    low, high = 0, 0
    for k in range(len(own)):
        low += own[k] < FLOOR
        high += not (own[k] <= CEILING)  # true for NaN as well
    return (LOW if low else 0) | (HIGH if high else 0)


@inlined
def _high_flag(own):
    """Return the flag of numbers above the ceiling only."""
    high = 0
    for k in range(len(own)):
        high += not (own[k] <= CEILING)
    return HIGH if high else 0


@inlined
def _multiply_mapped(own, table, lookup):
    """Multiply in place, factors read through a map; return LOW if a result is below the floor.

    The next factor may lead back above the floor, so every product is checked. A factor of zero
    loses nothing: an indicator is zero for all states but one.
    """
    low = 0
    for k in range(len(own)):
        factor = table[lookup[k]]
        both = own[k] * factor
        low += (both < FLOOR) & (own[k] > 0.0) & (factor > 0.0)
        own[k] = both
    return LOW if low else 0


@inlined
def _multiply(own, factors):
    """Multiply in place, factors in the same order; return LOW if a result is below the floor."""
    low = 0
    for k in range(len(own)):
        both = own[k] * factors[k]
        low += (both < FLOOR) & (own[k] > 0.0) & (factors[k] > 0.0)
        own[k] = both
    return LOW if low else 0


@inlined
def _add_weighted(own, weight, other):
    for k in range(len(own)):
        own[k] += weight * other[k]


@inlined
def _share_flow(weight, above, value, own):
    """Add to a child its share of a sum's flow, which is divided by its value; return the total."""
    total = 0.0
    for k in range(len(own)):
        flow = weight * above[k] * value[k]
        own[k] += flow
        total += flow
    return total


@inlined
def _divide(flow, value):
    for k in range(len(flow)):
        flow[k] = flow[k] / value[k] if value[k] > 0.0 else 0.0


@kernel
def mark_alive(kinds, links, dense, weights, alive):
    """Mark what marked nodes reach through weights above zero; the rest is skipped."""
    for i in range(len(kinds) - 1, -1, -1):
        if kinds[i] == DENSE:
            if dense is not None:
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


@inlined
def move_leaves(nodes, width, places):
    """Let the places of leaves move on by one block."""
    for i in nodes.leaves:
        places[i] += width


@kernel
def cells_forward(first, last, cells, dense, weights, matrices, maps, alive, values):
    """Compute the values of the cells first … last-1; return their flags."""
    links, offsets = cells.children, cells.offsets
    flags = 0
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
                flags |= _multiply_mapped(own, values[offsets[links.nodes[e]] :], lookup)
        elif kind == SUM:
            own[:] = 0.0
            for e in range(links.starts[i], links.starts[i + 1]):
                weight = weights[links.slots[e]]
                if weight > 0.0:
                    child = offsets[links.nodes[e]]
                    _add_weighted(own, weight, values[child : child + size])
        elif dense is not None:
            block = dense.block_of[i]
            own = values[offsets[i] : offsets[i] + dense.sums[block] * size]
            dense_forward(dense, block, matrices, offsets, size, values, own)
        flags |= _high_flag(own) if kind == PRODUCT else _range_flags(own)
    return flags


@kernel
def cells_backward(
    first, last, cells, dense, weights, matrices, maps, alive, values, flows, buffers, counts,
    dense_counts,
):  # fmt: skip
    """Compute the flows of the cells first … last-1 in reverse, and the counts of their edges.

    Every cell collects from its parents. The flow of a sum is left divided by its value.
    """
    links, offsets = cells.parents, cells.offsets
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
            if cells.kinds[parent] == PRODUCT:
                lookup = maps[links.maps[e] : links.maps[e] + len(above)]
                for k in range(len(above)):
                    own[lookup[k]] += above[k]
            elif cells.kinds[parent] == SUM:
                slot = links.slots[e]
                counts[slot] = _share_flow(weights[slot], above, value, own)
            elif dense is not None:
                buffer = buffers[links.maps[e] : links.maps[e] + size]
                for k in range(size):
                    own[k] += buffer[k] * value[k]
        if cells.kinds[i] in (LEAF, PRODUCT):
            continue
        _divide(own, value)
        if dense is not None and cells.kinds[i] == DENSE:
            block = dense.block_of[i]
            dense_backward(
                dense, block, matrices, offsets, size, values,
                flows[offsets[i] : offsets[i] + dense.sums[block] * size],
                dense_counts, buffers[dense.buffers[block] : dense.buffers[block + 1]],
            )  # fmt: skip


@kernel
def rows_pass(
    first, last, width, nodes, dense, places, offsets, weights, matrices, maps, alive, cell_values,
    reference, row_weights, skipped, flowing, base, values, flows, dense_flows, gate_flows,
    counts, dense_counts, flags, found,
):  # fmt: skip
    """Compute log-likelihoods of the blocks first … last-1 and, if `flowing`, flows of row nodes.

    A row whose ratio is out of range gets NaN and no flow; a skipped row gets no flow either. The
    flags of every block are added to `flags`. The values of leaves are given for all blocks, and
    `places` says where those of block `first` are; their flows go to the same places. The flows of
    gates go to gate_flows[gate, row - base·width]; those of edges, summed over a block, to
    counts[block - base, edge] and dense_counts[block - base, edge].
    """
    links = nodes.children
    root = len(nodes.kinds) - 1
    places = places.copy()
    for block in range(first, last):
        row = block * width
        size = min(width, len(found) - row)
        if block > first:
            move_leaves(nodes, width, places)
        for i in range(root + 1):
            kind = nodes.kinds[i]
            if alive[i] == 0 or kind == MEMBER:
                continue
            own = values[places[i] : places[i] + size]
            if kind == LEAF and i < root:
                continue
            if kind == PRODUCT:
                own[:] = 1.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    flags[block] |= _multiply(own, values[places[links.nodes[e]] :])
                for e in range(nodes.cells.starts[i], nodes.cells.starts[i + 1]):
                    start = nodes.cells.maps[e] + row
                    cell = cell_values[offsets[nodes.cells.nodes[e]] :]
                    flags[block] |= _multiply_mapped(own, cell, maps[start : start + size])
            elif kind == SUM:
                own[:] = 0.0
                for e in range(links.starts[i], links.starts[i + 1]):
                    weight = weights[links.slots[e]]
                    if weight > 0.0:
                        child = places[links.nodes[e]]
                        _add_weighted(own, weight, values[child : child + size])
            elif dense is not None:
                number = dense.block_of[i]
                all_sums = values[places[i] : places[i] + dense.sums[number] * width]
                dense_forward(dense, number, matrices, places, width, values, all_sums)
                for m in range(1, dense.sums[number]):
                    flags[block] |= _range_flags(all_sums[m * width : m * width + size])
            # A root of zero may be an impossible row, which only the upper bound can tell.
            flags[block] |= _high_flag(own) if kind == PRODUCT and i < root else _range_flags(own)

        for k in range(size):
            value = values[places[root] + k]
            if value >= FLOOR and value <= CEILING:
                found[row + k] = np.log(value) + reference[row + k]
            else:
                found[row + k] = np.nan
        if not flowing:
            continue

        flows[: (root + 1 - len(nodes.leaves)) * width] = 0.0
        for i in nodes.leaves:  # their flows come after all others
            flows[places[i] : places[i] + width] = 0.0
        for k in range(size):
            if found[row + k] > -np.inf:
                flows[places[root] + k] = 0.0 if skipped[row + k] else row_weights[row + k]
            elif flags[block] & HIGH:  # infinity times a flow of zero would be NaN
                for i in range(root + 1):
                    values[places[i] + k] = 0.0
        for i in range(root, -1, -1):
            if alive[i] == 0 or nodes.kinds[i] == LEAF:
                continue
            own = flows[places[i] : places[i] + size]
            if nodes.kinds[i] == PRODUCT:
                for e in range(links.starts[i], links.starts[i + 1]):
                    child = flows[places[links.nodes[e]] :]
                    for k in range(size):
                        child[k] += own[k]
                continue
            _divide(own, values[places[i] : places[i] + size])
            if nodes.kinds[i] == SUM:
                for e in range(links.starts[i], links.starts[i + 1]):
                    weight = weights[links.slots[e]]
                    if weight > 0.0:
                        child = places[links.nodes[e]]
                        counts[block - base, e] = _share_flow(
                            weight, own, values[child : child + size], flows[child : child + size]
                        )
            elif dense is not None and nodes.kinds[i] == DENSE:
                number = dense.block_of[i]
                fan = dense.starts[number + 1] - dense.starts[number]
                dense_backward(
                    dense, number, matrices, places, width, values,
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
def add_by_code(first, last, codes, starts, table, totals):
    """Add to totals[i] the numbers that the codes of row first + i lead to, over all columns."""
    for c in range(len(starts)):
        for row in range(first, last):
            totals[row - first] += table[starts[c] + codes[c, row]]


@kernel
def feed_cells(first, last, row, size, width, feeds, offsets, maps, gate_flows, flows):
    """Add the flows of gates, for rows row … row+size-1, to those of the cells below them.

    The order is block by block, and gate by gate within a block, whatever the size of a wave.
    """
    links = feeds.gates
    for i in range(first, last):
        cell = flows[offsets[feeds.cells[i]] :]
        for start in range(0, size, width):
            stop = min(start + width, size)
            for e in range(links.starts[i], links.starts[i + 1]):
                gate = gate_flows[links.nodes[e], start:stop]
                lookup = maps[links.maps[e] + row + start : links.maps[e] + row + stop]
                for k in range(stop - start):
                    cell[lookup[k]] += gate[k]


@kernel
def add_counts(parts, slots, counts):
    """Add the counts of all blocks, in order, to those of the weight slots."""
    for b in range(len(parts)):
        for e in range(len(slots)):
            if slots[e] >= 0:
                counts[slots[e]] += parts[b, e]
