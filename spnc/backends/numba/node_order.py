"""Kernels that put the nodes and edges of a planned program in order."""

from __future__ import annotations

import numpy as np

from spnc.backends.planning.compiling import kernel


@kernel
def grouped(keys, count):
    """Return the order that sorts keys below `count`, and where each key starts in it.

    Equal keys stay in their order.
    """
    starts = np.zeros(count + 1, dtype=np.int64)
    for key in keys:
        starts[key + 1] += 1
    for i in range(count):
        starts[i + 1] += starts[i]
    free = starts[:-1].copy()
    order = np.empty(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        order[free[keys[i]]] = i
        free[keys[i]] += 1
    return order, starts


@kernel
def levels(count, parents, children):
    """Return the longest path down from every node; edges are sorted by parent, children first."""
    level = np.zeros(count, dtype=np.int64)
    for e in range(len(parents)):
        if level[children[e]] >= level[parents[e]]:
            level[parents[e]] = level[children[e]] + 1
    return level


@kernel
def depth_first(root, starts, children, chosen, block_of, block_starts, members):
    """Order the chosen nodes below the root depth first, each close to its first use.

    The nodes of a block, `members[block_starts[b]:block_starts[b + 1]]`, stay together.
    """
    count = len(starts) - 1
    order = np.empty(count, dtype=np.int64)
    seen = np.zeros(count, dtype=np.uint8)
    done = np.zeros(count, dtype=np.uint8)
    stack = np.empty(count, dtype=np.int64)  # a node is on it once: while its children are visited
    edges = np.empty(count, dtype=np.int64)
    found, depth = 0, 1
    stack[0], edges[0], seen[root] = root, starts[root], 1
    while depth > 0:
        node, e = stack[depth - 1], edges[depth - 1]
        if e < starts[node + 1]:
            edges[depth - 1] = e + 1
            child = children[e]
            if chosen[child] and seen[child] == 0:
                seen[child] = 1
                stack[depth], edges[depth] = child, starts[child]
                depth += 1
            continue
        depth -= 1
        block = block_of[node]
        if block < 0:
            if done[node] == 0:
                done[node] = 1
                order[found] = node
                found += 1
            continue
        for i in range(block_starts[block], block_starts[block + 1]):
            if done[members[i]] == 0:
                done[members[i]] = 1
                seen[members[i]] = 1
                order[found] = members[i]
                found += 1
    return order[:found]
