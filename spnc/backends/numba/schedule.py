"""The order in which cells are computed, and which of them can be computed at the same time.

A *stage* is a run of levels, and its *tasks* are the connected components of the circuit within it:
no edge joins two tasks of a stage, so threads can take them in any order and get the same bits. A
tree is one stage of many tasks. Where components are joined by shared nodes, the stage ends below
these nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.node_order import levels
from spnc.common.arrays import Ints

NODE_OVERHEAD = 30  # the fixed cost of a node, in entries
LARGEST_TASK = 0.125  # the largest share of a stage's cost that a task may have
WORTH_SHARING = 300_000  # entries (about 0.3 ms): less is not worth waking a second thread for


@dataclass(frozen=True, eq=False)
class Schedule:
    """The cells in order, their costs, and for each stage where its tasks start and it ends."""

    nodes: Ints
    costs: Ints
    stages: tuple[Ints, ...]


def schedule(
    sizes: Ints,
    is_cell: NDArray[np.bool_],
    parents: Ints,
    children: Ints,
    together: Sequence[Ints] = (),
) -> Schedule:
    """Order the cells. Nodes are numbered children first; the edges are those between cells.

    The nodes of each group in `together` stay next to each other, at the place of the first.
    """
    count = len(sizes)
    fan = np.bincount(parents, minlength=count)
    cost = sizes * (1 + fan) + NODE_OVERHEAD
    level = levels(count, parents, children)
    rank = np.arange(count)
    for group in together:
        rank[group] = group[0]
    if together:  # the same task, too
        firsts = [np.full(len(group) - 1, group[0]) for group in together]
        parents = np.concatenate([parents, *firsts])
        children = np.concatenate([children, *(group[1:] for group in together)])
    top = int(level[is_cell].max(initial=0))
    stages: list[Ints] = []
    nodes: list[Ints] = []
    done = 0
    low = 0
    while low <= top:
        high = _tallest(low, top, is_cell, level, cost, parents, children)
        chosen = is_cell & (level >= low) & (level <= high)
        labels = _components(chosen, parents, children)
        own = np.flatnonzero(chosen)
        own = own[np.lexsort((own, rank[own], labels[own]))]
        starts = np.flatnonzero(np.diff(labels[own], prepend=-1))
        stages.append(np.concatenate([starts, [len(own)]]) + done)
        nodes.append(own)
        done += len(own)
        low = high + 1
    order = np.concatenate(nodes)
    return Schedule(order, cost[order], tuple(stages))


def _tallest(
    low: int,
    top: int,
    is_cell: NDArray[np.bool_],
    level: Ints,
    cost: Ints,
    parents: Ints,
    children: Ints,
) -> int:
    """Return the last level of the stage that starts at `low`; a single level is always allowed."""

    def fits(high: int) -> bool:
        chosen = is_cell & (level >= low) & (level <= high)
        labels = _components(chosen, parents, children)
        weight = np.bincount(labels[chosen], weights=cost[chosen])
        return bool(weight.sum() < WORTH_SHARING or weight.max() <= LARGEST_TASK * weight.sum())

    if fits(top):
        return top
    good, bad = low, top
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _components(chosen: NDArray[np.bool_], parents: Ints, children: Ints) -> Ints:
    """Return the connected component of every chosen node, by number."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    inside = chosen[parents] & chosen[children]
    pairs = (np.ones(int(inside.sum()), dtype=np.int8), (parents[inside], children[inside]))
    graph = coo_array(pairs, shape=(len(chosen), len(chosen)))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
