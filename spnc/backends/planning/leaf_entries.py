"""Where the values of leaves come from, once a layout has decided where they go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.planning.planner import Planner
from spnc.common.arrays import Floats, Ints


class LeafEntries(NamedTuple):
    """All values of leaves: one entry for every leaf and every code that occurs in its column.

    Leaves over wide columns have none.
    """

    entries: Ints  # the position among the values of cells
    sources: Ints  # the position in the `LeafList`
    reference: Floats  # what the value there is divided by


def leaf_entries(planner: Planner, reference: list[Floats], firsts: Ints) -> LeafEntries:
    """Return the entries of all leaves, if the values of leaf i start at firsts[i].

    `reference` has a number for every column and code. Leaves are the first nodes of the planned
    program, as they are of the program itself.
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
        np.repeat(planner.encoded.leaves.starts, size) + np.concatenate(present)[value],
        np.concatenate(own)[value],
    )
