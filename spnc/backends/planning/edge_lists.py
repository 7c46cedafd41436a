"""The edges of a planned program as flat arrays, from which both layouts start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.planning.planner import Planner
from spnc.common.arrays import Ints


class Edges(NamedTuple):
    """All edges, sorted by parent, in the order of each parent's children."""

    parents: Ints
    children: Ints
    maps: Ints  # the number of the map through which the child is read; -1: none is needed
    slots: Ints  # the weight slot, below sums; else -1


class EdgeLists(NamedTuple):
    """Edges grouped by the node at one end: those of node i are starts[i] … starts[i+1]-1.

    A named tuple, since compiled kernels can take these apart.
    """

    starts: Ints
    nodes: Ints  # the node at the other end
    maps: Ints  # the map between the two, as the layout identifies it; -1: none is needed
    slots: Ints  # the weight slot, below sums; else -1


def edges_of(planner: Planner) -> Edges:
    """Return all edges of a planned program."""
    fan = np.diff(planner.starts)
    place = np.arange(len(planner.children)) - np.repeat(planner.starts[:-1], fan)
    first = np.repeat(planner.first_slots, fan)
    return Edges(
        np.repeat(np.arange(len(fan)), fan),
        planner.children,
        planner.child_maps,
        np.where(first >= 0, first + place, -1),
    )
