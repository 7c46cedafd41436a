"""Watching a run: what the stages tell whoever is looking. Silent by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spnc.training import Optimizer, Record


class Watch:
    """Does nothing; the command line shows progress by overriding these."""

    def stage(self, title: str) -> None:
        """A new stage begins."""

    def progress(self, label: str, done: int, total: int | None) -> None:
        """So much of the present stage is done."""

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """A try begins: so many of all, if that is known, are finished, with the best so far."""

    def spent(self, seconds: float, budget: float) -> None:
        """So much of the time that is allowed for all tries is used."""

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """A try is finished; `best` says whether it is the best so far."""

    def training(self, optimizer: Optimizer) -> None:
        """Training begins."""

    def iteration(self, record: Record, best_iteration: int) -> None:
        """Training has come this far."""
