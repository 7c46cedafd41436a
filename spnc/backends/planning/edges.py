"""The edges of a rewritten program, as flat arrays: what layouts for processors start from."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np

from spnc.backends.planning.planner import Planner
from spnc.common.arrays import Ints


class Edges(NamedTuple):
    """Edges by parent, in the order of its children."""

    parents: Ints
    children: Ints
    maps: Ints  # the number of the map that the child is read through; -1: none is needed
    slots: Ints  # the weight slot, below sums; else -1


def edges_of(planner: Planner) -> Edges:
    """All edges of what the planner made."""
    fan = np.array([len(c) for c in planner.children], dtype=np.int64)
    children = flat(planner.children)
    place = np.arange(len(children)) - np.repeat(np.cumsum(fan) - fan, fan)
    first = np.repeat(np.array(planner.first_slots, dtype=np.int64), fan)
    return Edges(
        np.repeat(np.arange(len(fan)), fan),
        children,
        flat(planner.child_maps),
        np.where(first >= 0, first + place, -1),
    )


def flat(lists: list[list[int]]) -> Ints:
    """Lists of numbers as one array."""
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64)
