"""`Budget`: the time that work may take, and how much of it was used."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from spnc.common.deadline import Deadline


@dataclass(eq=False)
class Budget:
    """Seconds allowed and used; those of an interrupted run count when it is resumed."""

    seconds: float = math.inf
    clock: Callable[[], float] = time.monotonic
    before: float = 0.0  # used before this process
    began: float | None = None  # on the clock; None: now
    start: float = field(init=False, repr=False)  # the same, when it is known

    def __post_init__(self) -> None:
        self.start = self.clock() if self.began is None else self.began

    def used(self) -> float:
        """Return the seconds used up to now."""
        return self.before + self.clock() - self.start

    def left(self) -> float:
        """Return the seconds that remain; negative if more was used."""
        return self.seconds - self.used()

    def deadline(self) -> Deadline:
        """Return the end of the budget, for work that cannot be cut short."""
        return Deadline(self.left)
