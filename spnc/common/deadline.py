"""Deadlines for work that cannot be cut short.

Such work checks its deadline from time to time and is abandoned after it. Structure learning
is such work: half a structure is nothing that a recipe could repeat. Training is not: it can end
after any iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable


class OutOfTimeError(Exception):
    """The deadline has passed."""


class Deadline:
    """A time after which work is abandoned; by default there is none."""

    def __init__(self, left: Callable[[], float] = lambda: math.inf, reserve: float = 0.0) -> None:
        """`left` returns the seconds left of a budget, `reserve` of which are needed afterwards."""
        self._left, self._reserve = left, reserve

    def left(self) -> float:
        """Return the seconds until the deadline; negative if it has passed."""
        return self._left() - self._reserve

    def check(self) -> None:
        """Raise `OutOfTimeError` if the deadline has passed. Takes next to no time."""
        if self._left() < self._reserve:
            raise OutOfTimeError


NEVER = Deadline()
