"""Savepoints: results of long work that are kept, so that a killed run need not compute them again.

Whoever works for more than a few seconds gets a `Savepoints`, asks it for what an earlier run has
kept, and offers results as they are made. This module has the interface, and one that keeps
nothing, for work that is not to be resumed; `spnc.runs.kept_work` writes files.

There are two ways to keep the progress of one piece of work:

- a snapshot: `save` everything that the next step depends on, whenever that `is_due`;
- a `StepLog`: the results of all steps so far, in order. The work is done again from its beginning,
  but each step takes its result from the log instead of computing it. This suits work whose state
  is a graph that is costly to store and cheap to build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


class Piece(NamedTuple):
    """One kept result: plain JSON values, and arrays."""

    about: Mapping[str, Any]
    arrays: Arrays


NO_PIECE = Piece({}, {})


class UnusableError(ValueError):
    """A kept result does not fit the work that it is to be used for."""


class Savepoints:
    """Keeps results by name. This one keeps nothing."""

    place: str = ""  # where results are kept, for messages

    def load(self, name: str) -> Piece | None:
        """Return what an earlier run, or this one, has kept under a name."""
        del name
        return None

    def is_due(self) -> bool:
        """Whether enough time has passed since something was last kept. Takes next to no time."""
        return False

    def save(self, name: str, piece: Piece) -> None:
        """Keep a result, in place of an earlier one with that name."""

    def later(
        self, name: str, make: Callable[[], Piece | None], replaces: str | None = None
    ) -> None:
        """Keep a result now if that `is_due`, otherwise when something else is kept.

        `make` returns it, or None if it cannot be kept. What it is made from must not change before
        `cancel` or `settle`. When it has been kept, results whose names begin with `replaces` are
        deleted, but for itself.
        """

    def cancel(self, name: str) -> None:
        """Do not keep a result later: what it is made from is about to change."""

    def settle(self) -> None:
        """Come to the end of a stage: nothing is kept later from here on.

        What was to be kept is kept now if the run has kept anything yet.
        """

    def drop(self, prefix: str) -> None:
        """Delete the results whose names begin like this: they are contained in another."""

    def unusable(self, name: str, reason: str) -> None:
        """Report that a kept result does not fit its work, which is then done again."""

    def within(self, prefix: str) -> Savepoints:
        """Return the savepoints of a part of the work; its names get a prefix."""
        del prefix
        return self


NOTHING_KEPT = Savepoints()


class NamedSavepoints(Savepoints):
    """A part of other savepoints: those whose names have a prefix."""

    def __init__(self, whole: Savepoints, prefix: str) -> None:
        self._whole, self._prefix, self.place = whole, prefix, whole.place

    def load(self, name: str) -> Piece | None:
        """Return what was kept under a name."""
        return self._whole.load(self._prefix + name)

    def is_due(self) -> bool:
        """Whether something is to be kept now."""
        return self._whole.is_due()

    def save(self, name: str, piece: Piece) -> None:
        """Keep a result."""
        self._whole.save(self._prefix + name, piece)

    def later(
        self, name: str, make: Callable[[], Piece | None], replaces: str | None = None
    ) -> None:
        """Keep a result now or later."""
        full = None if replaces is None else self._prefix + replaces
        self._whole.later(self._prefix + name, make, full)

    def cancel(self, name: str) -> None:
        """Do not keep a result later."""
        self._whole.cancel(self._prefix + name)

    def settle(self) -> None:
        """Keep nothing later from here on."""
        self._whole.settle()

    def drop(self, prefix: str) -> None:
        """Delete results."""
        self._whole.drop(self._prefix + prefix)

    def unusable(self, name: str, reason: str) -> None:
        """Report that a kept result does not fit its work."""
        self._whole.unusable(self._prefix + name, reason)

    def within(self, prefix: str) -> Savepoints:
        """Return the savepoints of a part of this part."""
        return NamedSavepoints(self._whole, self._prefix + prefix)


class StepLog:
    """The results of the steps of one piece of work, each an array of one dimension.

    `next` returns the results that an earlier run has kept, one after another, then None; from
    there on, steps are computed and added. With `rng`, the generator that the steps use, its state
    is kept too, and restored with the last result that was kept.
    """

    def __init__(
        self, savepoints: Savepoints, name: str, rng: np.random.Generator | None = None
    ) -> None:
        self._savepoints, self._name, self._rng = savepoints, name, rng
        self._results: list[NDArray[Any]] = []  # kept by an earlier run
        self._taken = 0
        self._new: list[NDArray[Any]] = []  # not kept yet
        self._parts = 0
        self.snapshot: Arrays = {}  # what was kept with the last result
        self._state: Any = None
        while (piece := savepoints.load(self._part(self._parts))) is not None:
            try:
                self._take_up(piece)
            except (LookupError, TypeError, ValueError) as error:
                savepoints.unusable(self._part(self._parts), str(error) or type(error).__name__)
                break
            self._parts += 1

    def next(self) -> NDArray[Any] | None:
        """Return the result of the next step, or None if it has to be computed."""
        if self._taken == len(self._results):
            return None
        self._taken += 1
        if self._taken == len(self._results) and self._rng is not None:
            set_generator_state(self._rng, self._state)
        return self._results[self._taken - 1]

    def add(self, result: NDArray[Any], snapshot: Callable[[], Arrays] = dict) -> None:
        """Add the result of a step that was computed; write what is new if that is due.

        `snapshot` returns what else the next step depends on.
        """
        self._new.append(result)
        if not self._savepoints.is_due():
            return
        arrays = {f"snapshot.{name}": array for name, array in snapshot().items()}
        arrays["ends"] = np.cumsum([len(result) for result in self._new])
        arrays["results"] = np.concatenate(self._new)
        state = None if self._rng is None else generator_state(self._rng)
        self._savepoints.save(self._part(self._parts), Piece({"rng": state}, arrays))
        self._parts += 1
        self._new.clear()

    def _part(self, number: int) -> str:
        return f"{self._name}.{number}"

    def _take_up(self, piece: Piece) -> None:
        ends, results = piece.arrays["ends"], piece.arrays["results"]
        counts = np.diff(ends, prepend=0)
        if not len(ends) or (counts < 0).any() or ends[-1] != len(results):
            raise ValueError("its results have the wrong length")
        if self._rng is not None:
            check_generator_state(self._rng, piece.about["rng"])
        self._results += np.split(results, ends[:-1])
        self._state = piece.about["rng"]
        prefix = "snapshot."
        kept = {n.removeprefix(prefix): a for n, a in piece.arrays.items() if n.startswith(prefix)}
        self.snapshot = kept


def generator_state(rng: np.random.Generator) -> Any:
    """Return the state of a generator as plain JSON values."""
    return _plain(rng.bit_generator.state)


def set_generator_state(rng: np.random.Generator, state: Any) -> None:
    """Set a generator to a state. Raises LookupError, TypeError or ValueError if it is none."""
    rng.bit_generator.state = state


def check_generator_state(rng: np.random.Generator, state: Any) -> None:
    """Raise LookupError, TypeError or ValueError if this is no state of such a generator."""
    set_generator_state(np.random.Generator(type(rng.bit_generator)()), state)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return value if isinstance(value, str) else int(value)
