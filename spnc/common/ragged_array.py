"""`RaggedArray`: many lists of numbers in one array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spnc.common.arrays import Ints


@dataclass(frozen=True, eq=False)
class RaggedArray:
    """Many lists in one: list i is members[starts[i]:starts[i+1]]."""

    starts: Ints
    members: Ints

    @classmethod
    def of(cls, counts: Ints, members: Ints) -> RaggedArray:
        """Return lists of these lengths, cut from `members` one after another."""
        starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        return cls(starts, members)

    @cached_property
    def counts(self) -> Ints:
        """The length of each list."""
        return np.diff(self.starts)

    def places(self, which: Ints) -> Ints:
        """Return the positions of these lists' members, one list after another."""
        counts = self.counts[which]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        places: Ints = np.arange(total) + np.repeat(self.starts[which] - (ends - counts), counts)
        return places

    def at(self, which: Ints) -> Ints:
        """Return the members of these lists, one list after another."""
        return self.members[self.places(which)]

    def take(self, which: Ints) -> RaggedArray:
        """Return these lists alone."""
        return RaggedArray.of(self.counts[which], self.at(which))

    def ascending(self) -> RaggedArray:
        """Return the lists with their members in ascending order. None may be negative."""
        span = int(self.members.max(initial=0)) + 1
        keys = np.repeat(np.arange(len(self.counts)) * span, self.counts) + self.members
        keys.sort()
        keys %= span
        return RaggedArray(self.starts, keys)
