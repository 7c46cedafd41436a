"""Piles on the workers of a Dask cluster: rows dealt out from all partitions, and sums over them.

Workers that hold partitions pick the rows, and send them to the workers that hold the piles. Then
parameters go out, and sums come back. A single pile comes to this process, where work on it needs
no messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import TYPE_CHECKING, Any, TypeVar

import spnc
from spnc.cluster import worker
from spnc.cluster.attempts import Tasks
from spnc.cluster.holders import Held, balanced
from spnc.data.piles import Pick, PileWork, joined
from spnc.data.table import Cells, Table

if TYPE_CHECKING:
    from spnc.cluster.dask_rows import DaskPasses

Found = TypeVar("Found")


class DaskPiles:
    """Piles on workers, in a fixed number; which worker holds which makes no difference."""

    def __init__(self, passes: DaskPasses, check: Callable[[], None]) -> None:
        """`check` is called before partitions are read; it may raise to end the work."""
        self._passes, self._check = passes, check
        self._attempts = passes.cluster.attempts
        self._picks: Sequence[Pick | None] = ()
        self._sizes: Sequence[int] = ()
        self._here: Cells | None = None  # the only pile
        self._piles: list[Held] = []
        # What was sent to the workers, and its future on each of them.
        self._work: tuple[Any, dict[str, Any]] | None = None

    def of_parts(self, work: Callable[[Table], Found]) -> list[Found]:
        """Return what some work returns for each partition, in order."""
        self._check()

        def found(tasks: Tasks) -> list[Found]:
            terms = [
                tasks.on(address).submit(worker.applied, spnc.__version__, work, rows)
                for address, rows in self._passes.held(tasks)
            ]
            gathered: list[Found] = tasks.client.gather(terms)
            return gathered

        return self._attempts.at(found, self._forget, self._lost)

    def deal(self, picks: Sequence[Pick | None], sizes: Sequence[int]) -> None:
        """Fill piles of these sizes anew, when they are needed."""
        self._picks, self._sizes, self._here = picks, sizes, None
        self._lost()

    def sum(
        self, work: PileWork[Found], given: Any, plus: Callable[[Found, Found], Found]
    ) -> Found:
        """Return the sum, over all piles, of what some work returns for each."""
        if len(self._sizes) == 1:
            if self._here is None:
                self._check()
                self._here = self._attempts.at(self._fetched, self._forget, self._lost)
            return work(self._here, given, None)
        return self._attempts.at(
            lambda tasks: self._summed(tasks, work, given, plus), self._forget, self._lost
        )

    def _summed(
        self,
        tasks: Tasks,
        work: PileWork[Found],
        given: Any,
        plus: Callable[[Found, Found], Found],
    ) -> Found:
        if not self._piles:
            self._check()
            self._piles = self._dealt(tasks)
        if self._work is None or self._work[0] is not work:
            workers = [pile.address for pile in self._piles]
            self._work = work, tasks.kept(tasks.sent(work), workers)
        works, parameters, version = self._work[1], tasks.sent(given), spnc.__version__
        terms = [
            tasks.on(pile.address).submit(
                worker.applied_to_pile, version, works[pile.address], pile.rows, parameters
            )
            for pile in self._piles
        ]
        found: Found = tasks.added_up(terms, plus)
        return found

    def _hands(self, tasks: Tasks) -> list[Any]:
        """Return the rows that each partition gives to all piles, as futures."""
        parts = zip(self._passes.held(tasks), self._picks, strict=True)
        return [
            tasks.on(part.address).submit(worker.applied, spnc.__version__, pick, part.rows)
            for part, pick in parts
            if pick is not None
        ]

    def _fetched(self, tasks: Tasks) -> Cells:
        """Return the only pile."""
        hands = tasks.client.gather(self._hands(tasks))
        return joined((hand for (hand,) in hands), self._sizes[0])

    def _dealt(self, tasks: Tasks) -> list[Held]:
        """Return the piles, spread over the workers that there are now."""
        hands = self._hands(tasks)
        addresses = balanced([None] * len(self._sizes), tasks.threads())
        piles = []
        for number, (size, address) in enumerate(zip(self._sizes, addresses, strict=True)):
            own = [tasks.submit(getitem, hand, number) for hand in hands]
            piles.append(Held(address, tasks.on(address).submit(joined, own, size)))
        return piles

    def _lost(self) -> None:
        """Deal out again: workers were lost."""
        self._piles, self._work = [], None

    def _forget(self) -> None:
        """Deal out and send everything again: it may be lost."""
        self._passes.forget()
        self._lost()
