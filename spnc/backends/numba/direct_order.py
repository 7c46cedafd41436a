"""The order in which a single pass evaluates a program, and where it keeps the values.

Inner nodes are evaluated depth first, and a node's place is given to another node once all parents
have read it. So few values are alive at a time, and those of a block of rows stay in the cache.
This is worked out once per program, whatever the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.planning.compiling import kernel
from spnc.backends.planning.kinds import PRODUCT
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Ints


class Edges(NamedTuple):
    """Edges by step: those of step i are starts[i] … starts[i+1]-1."""

    starts: Ints
    children: Ints  # leaves, or the places of inner nodes
    slots: Ints  # of weights; only those of sums have a meaning


class Order(NamedTuple):
    """The steps of a pass: inner nodes, children first. The last step is the root."""

    kinds: Ints
    places: Ints  # where the value of each step is kept
    leaves: Edges
    inner: Edges


@kernel
def _depth_first(root, leaves, starts, children):
    """Return the inner nodes below the root, children first, without their offset of `leaves`."""
    count = len(starts) - 1
    order = np.empty(count, dtype=np.int64)
    seen = np.zeros(count, dtype=np.uint8)
    stack = np.empty(count, dtype=np.int64)  # a node is on it once: while its children are visited
    edges = np.empty(count, dtype=np.int64)
    done, depth = 0, 1
    stack[0], edges[0], seen[root - leaves] = root - leaves, starts[root - leaves], 1
    while depth > 0:
        node, e = stack[depth - 1], edges[depth - 1]
        if e == starts[node + 1]:
            order[done] = node
            done += 1
            depth -= 1
            continue
        edges[depth - 1] = e + 1
        child = children[e] - leaves
        if child >= 0 and seen[child] == 0:
            seen[child] = 1
            stack[depth], edges[depth] = child, starts[child]
            depth += 1
    return order[:done]


@kernel
def _places(order, leaves, starts, children):
    """Return the place of every inner node's value, and the number of places."""
    count = len(starts) - 1
    waiting = np.zeros(count, dtype=np.int64)  # edges that have yet to read the value
    for node in order:
        for e in range(starts[node], starts[node + 1]):
            if children[e] >= leaves:
                waiting[children[e] - leaves] += 1
    places = np.zeros(count, dtype=np.int64)
    free = np.empty(count, dtype=np.int64)
    unused, used = 0, 0
    for node in order:
        if unused > 0:
            unused -= 1
            places[node] = free[unused]
        else:
            places[node] = used
            used += 1
        for e in range(starts[node], starts[node + 1]):
            child = children[e] - leaves
            if child >= 0:
                waiting[child] -= 1
                if waiting[child] == 0:
                    free[unused] = places[child]
                    unused += 1
    return places, used


def program_order(index: ProgramIndex) -> Order:
    """Return the steps in the program's own order, with a place for every inner node."""
    every = np.arange(len(index.inner_nodes[0]))
    return _steps(index, every, every) if len(every) else evaluation_order(index)[0]


def evaluation_order(index: ProgramIndex) -> tuple[Order, int]:
    """Return the steps of a pass over the program, and the number of places for values."""
    _, starts, children, _ = index.inner_nodes
    leaves, root = len(index.leaf_columns), index.program.root
    if root < leaves:  # a single leaf: a product of it
        one, none = np.array([0, 1]), np.empty(0, dtype=np.int64)
        own = Edges(one, np.array([root]), np.zeros(1, dtype=np.int64))
        nothing = Edges(np.zeros(2, dtype=np.int64), none, none)
        return Order(np.array([PRODUCT]), np.zeros(1, dtype=np.int64), own, nothing), 1
    order = _depth_first(root, leaves, starts, children)
    places, used = _places(order, leaves, starts, children)
    return _steps(index, order, places), used


def _steps(index: ProgramIndex, order: Ints, places: Ints) -> Order:
    """Return the steps for inner nodes in this order, with values at these places."""
    kinds, starts, children, slots = index.inner_nodes
    leaves = len(index.leaf_columns)
    fans = np.diff(starts)[order]
    firsts = np.cumsum(fans) - fans
    edges = np.repeat(starts[order] - firsts, fans) + np.arange(int(fans.sum()))
    steps = np.repeat(np.arange(len(order)), fans)
    over_leaf = children[edges] < leaves

    def chosen(which: np.ndarray, targets: Ints) -> Edges:
        ends = np.cumsum(np.bincount(steps[which], minlength=len(order)))
        return Edges(np.concatenate([[0], ends]), targets, slots[edges[which]])

    own = chosen(over_leaf, children[edges[over_leaf]])
    inner = chosen(~over_leaf, places[children[edges[~over_leaf]] - leaves])
    return Order(kinds[order].astype(np.int64), places[order], own, inner)
