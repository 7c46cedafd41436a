"""Where the values of leaves come from, once a layout has given them their places."""

from __future__ import annotations

import numpy as np

from spnc.backends.planning.plan import Leaves
from spnc.backends.planning.planner import Planner
from spnc.common.arrays import Floats, Ints


def leaf_entries(planner: Planner, reference: list[Floats], firsts: Ints) -> Leaves:
    """Of all leaves; the values of leaf i start at firsts[i], one for every code that occurs.

    Leaves are the first nodes of the rewritten program, as of the program itself.
    """
    skeleton, present = planner.skeleton, planner.present
    columns = skeleton.leaf_columns
    count = np.array([len(p) for p in present], dtype=np.int64)
    size = count[columns]
    place = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    value = np.repeat((np.cumsum(count) - count)[columns], size) + place
    own = [table[codes] for table, codes in zip(reference, present, strict=True)]
    return Leaves(
        np.repeat(firsts, size) + place,
        np.repeat(skeleton.leaf_sources, size) + np.concatenate(present)[value],
        np.concatenate(own)[value],
    )
