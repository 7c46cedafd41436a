"""A graph's edges as flat arrays.

A `networkx` graph is nested dicts, and following its edges from Python is slow when there are
many. Here nodes are positions (in the order of the graph) and edges are arrays of integers. The
arrays are a snapshot: when the graph changes, they have to be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from spnc.common.arrays import Ints
from spnc.common.ragged_array import RaggedArray


class EdgeArrays:
    """The names of a graph's nodes, and their children and parents by position."""

    def __init__(
        self, children: Mapping[Any, Mapping[Any, Any]], parents: Mapping[Any, Mapping[Any, Any]]
    ) -> None:
        self.names = list(children)
        if list(parents) != self.names:
            raise ValueError("children and parents are given in different orders")
        position = _positions(self.names)
        self.children = _edges(children, position)
        self.parents = _edges(parents, position)

    @cached_property
    def generations(self) -> list[Ints]:
        """Nodes by height: those without children, those with children only among these, …

        Nodes on or above a cycle are left out. Within a generation, nodes are in the order in
        which the last of their children occurs in the generation before.
        """
        return generations(self.children, self.parents)

    @cached_property
    def order(self) -> Ints:
        """All generations, one after another: children come before parents."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.generations])


def generations(children: RaggedArray, parents: RaggedArray) -> list[Ints]:
    """Return nodes by height (see `EdgeArrays.generations`)."""
    waiting = children.counts.copy()
    last_met = np.zeros(len(waiting), dtype=np.int64)
    found = []
    ready = np.flatnonzero(waiting == 0)
    while len(ready):
        found.append(ready)
        met = parents.at(ready)
        np.subtract.at(waiting, met, 1)
        times = np.arange(len(met))
        last_met[met] = times  # of repeated assignments, the last one stays
        ready = met[(last_met[met] == times) & (waiting[met] == 0)]
    return found


def _positions(names: list[Any]) -> Callable[[Iterable[Any], int], Ints]:
    """Return a function from `count` names to the positions of the nodes with these names."""
    plain = set(map(type, names)) == {int} and min(names) >= 0
    if plain and max(names) < 4 * len(names):  # as a `Builder` numbers nodes: no dict needed
        places = np.zeros(max(names) + 1, dtype=np.int64)
        places[names] = np.arange(len(names))
        return lambda given, count: places[np.fromiter(given, np.int64, count)]
    position = dict(zip(names, range(len(names)), strict=True))
    return lambda given, count: np.fromiter(map(position.__getitem__, given), np.int64, count)


def _edges(
    ends: Mapping[Any, Mapping[Any, Any]], position: Callable[[Iterable[Any], int], Ints]
) -> RaggedArray:
    counts = np.fromiter(map(len, ends.values()), np.int64, len(ends))
    return RaggedArray.of(counts, position(chain.from_iterable(ends.values()), int(counts.sum())))
