"""Where the values of leaves come from, once a layout has decided where they go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.planning.planner import Planner
from spnc.common.arrays import Floats, Ints


class LeafEntries(NamedTuple):
    """All values of leaves: one entry for every leaf and every code that occurs in its column."""

    entries: Ints  # the position among the values of cells
    sources: Ints  # the position in the flat list of leaf probabilities
    reference: Floats  # the probability in the reference distribution, which it is divided by


def leaf_entries(planner: Planner, reference: list[Floats], firsts: Ints) -> LeafEntries:
    """Return the entries of all leaves, if the values of leaf i start at firsts[i].

    Leaves are the first nodes of the planned program, as they are of the program itself.
    """
    index, present = planner.index, planner.present
    columns = index.leaf_columns
    count = np.array([len(p) for p in present], dtype=np.int64)
    size = count[columns]
    place = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    value = np.repeat((np.cumsum(count) - count)[columns], size) + place
    own = [table[codes] for table, codes in zip(reference, present, strict=True)]
    return LeafEntries(
        np.repeat(firsts, size) + place,
        np.repeat(index.leaf_sources, size) + np.concatenate(present)[value],
        np.concatenate(own)[value],
    )
