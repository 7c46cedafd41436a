"""Rows dealt out from all partitions to piles, and sums over the piles.

Work that needs few rows at a time, but random ones of the whole table, cannot read all partitions
every time. Instead, the rows that it needs next are collected in one pass over the partitions and
dealt out to *piles*, each of which is in memory somewhere. How many piles there are, and which
rows they get, is decided by the caller, and must not depend on where piles are: so sums over them,
which are added in a fixed order, have the same bits in one process and on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from spnc.common.tree_sum import TreeSum
from spnc.data.parted import PartedTable
from spnc.data.table import Cells, Table

Found = TypeVar("Found")
Found_co = TypeVar("Found_co", covariant=True)


class Hand(NamedTuple):
    """Rows of one partition for one pile, `cells[row, column]`, and their places in it."""

    places: NDArray[np.int64]
    cells: Cells


# Returns the rows that a partition gives to each pile.
Pick = Callable[[Table], Sequence[Hand]]


class PileWork(Protocol[Found_co]):
    """What is computed of a pile; a cluster sends it to workers, so it can be pickled."""

    def __call__(self, pile: Cells, given: Any, threads: int | None) -> Found_co:
        """Return a term of the sum, computed with this many threads; None: all there are."""
        ...


class Piles(Protocol):
    """Rows of a table in partitions, dealt out to piles."""

    def of_parts(self, work: Callable[[Table], Found]) -> list[Found]:
        """Return what some work returns for each partition, in order."""
        ...

    def deal(self, picks: Sequence[Pick | None], sizes: Sequence[int]) -> None:
        """Fill piles of these sizes anew; each partition has a pick, or gives no rows."""
        ...

    def sum(
        self, work: PileWork[Found], given: Any, plus: Callable[[Found, Found], Found]
    ) -> Found:
        """Return the sum, over all piles, of what some work returns for each."""
        ...


class PilesHere:
    """Piles in the memory of this process; partitions are read one after another."""

    def __init__(self, table: PartedTable, check: Callable[[], None] = lambda: None) -> None:
        """`check` is called before each partition is read; it may raise to end the work."""
        self._table, self._check = table, check
        self._piles: list[Cells] = []

    def of_parts(self, work: Callable[[Table], Found]) -> list[Found]:
        """Return what some work returns for each partition, in order."""
        found = []
        for part in self._table.parts:
            self._check()
            found.append(work(part.table()))
        return found

    def deal(self, picks: Sequence[Pick | None], sizes: Sequence[int]) -> None:
        """Fill piles of these sizes anew."""
        self._piles = []  # their memory is needed for the next ones
        made: list[Cells | None] = [None] * len(sizes)
        for part, pick in zip(self._table.parts, picks, strict=True):
            if pick is None:
                continue
            self._check()
            for i, hand in enumerate(pick(part.table())):
                made[i] = put(made[i], hand, sizes[i])
        self._piles = [pile for pile in made if pile is not None]

    def sum(
        self, work: PileWork[Found], given: Any, plus: Callable[[Found, Found], Found]
    ) -> Found:
        """Return the sum, over all piles, of what some work returns for each."""
        total: TreeSum[Found] = TreeSum(plus)
        for pile in self._piles:
            total.append(work(pile, given, None))
        return total.total()


def piles_of(table: PartedTable, check: Callable[[], None] = lambda: None) -> Piles:
    """Return piles for the rows of a table, on a cluster if its partitions are there."""
    if table.passes is not None and len(table.parts) > 1:
        found: Piles = table.passes.piles(check)
        return found
    return PilesHere(table, check)


def put(pile: Cells | None, hand: Hand, size: int) -> Cells:
    """Put rows into their places of a pile of this size. Without a pile, make one."""
    if pile is None:
        pile = np.empty((size, hand.cells.shape[1]), hand.cells.dtype)
    pile[hand.places] = hand.cells
    return pile


def joined(hands: Iterable[Hand], size: int) -> Cells:
    """Return the pile of this size that rows from all partitions make."""
    pile: Cells | None = None
    for hand in hands:
        pile = put(pile, hand, size)
    assert pile is not None
    return pile
