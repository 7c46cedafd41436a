"""Time budgets, and how people write them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from spnc.diagnostics import Sink, Source
from spnc.spec.override import COMMAND_LINE

DEFAULT = "10min"
_MOST = 1_000 * 3_600.0
_UNITS = {"h": 3_600.0, "min": 60.0, "m": 60.0, "s": 1.0, "": 1.0}
_PART = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(h|min|m|s|)", re.IGNORECASE)


def read_budget(text: str, sink: Sink) -> float | None:
    """Return the seconds in `90s`, `10min`, `1h30m` or a plain number; None after reporting."""
    seconds, at, units = 0.0, 0, []
    while found := _PART.match(text, at):
        units.append(found[2].lower())
        seconds += float(found[1]) * _UNITS[units[-1]]
        at = found.end()
    sizes = [_UNITS[unit] for unit in units]
    falling = all(a > b for a, b in pairwise(sizes))
    well_formed = at == len(text.rstrip()) and falling and (len(units) == 1 or "" not in units)
    if units and well_formed and 0.0 < seconds <= _MOST:
        return seconds
    source = Source(COMMAND_LINE, f"--budget {text}")
    message = f"`{text}` is not a time to spend"
    if units and well_formed:
        message += ": it has to be " + ("above 0" if seconds <= 0.0 else "at most 1000 hours")
    sink.error(
        "E137",
        message,
        source.span_at(9, 9 + max(1, len(text))),
        help="write it as 90s, 10min, 2h or 1h30m; a bare number is seconds",
    )
    return None


@dataclass(eq=False)
class Budget:
    """Seconds allowed and used; those of an interrupted run count when it is resumed."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    before: float = 0.0  # used before this process
    began: float | None = None  # on the clock; None: now

    _began: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._began = self.clock() if self.began is None else self.began

    def used(self) -> float:
        """Return the seconds used up to now."""
        return self.before + self.clock() - self._began

    def left(self) -> float:
        """Return the seconds that remain; negative if more was used."""
        return self.seconds - self.used()
