"""Cost by size: the points of a curve, and the exponent of its growth."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.speed_protocol import peak_mb
from spnc.cli.output import table


@dataclass(frozen=True)
class Point:
    """One size, its cost, and further columns for the table."""

    size: int
    seconds: float
    peak_mb: float | None  # None: not measured in a process of its own
    more: dict[str, str]


@dataclass(frozen=True)
class Curve:
    """Costs by size. Without `grows`, no exponent is fitted."""

    title: str
    by: str
    points: tuple[Point, ...]
    grows: bool = True

    def text(self) -> str:
        """Return a small table with the exponent."""
        with_peak = self.points[0].peak_mb is not None
        head = [self.by, "seconds", *(["peak MB"] if with_peak else []), *self.points[0].more]
        rows = [
            [
                p.size,
                f"{p.seconds:.3g}",
                *([] if p.peak_mb is None else [f"{p.peak_mb:,.0f}"]),
                *p.more.values(),
            ]
            for p in self.points
        ]
        said = self.title
        if self.grows and len(self.points) > 1:
            slope = fitted_exponent([p.size for p in self.points], [p.seconds for p in self.points])
            said += f": grows with {self.by} to the power of {slope:.2f}"
        return f"{said}\n{table(head, rows)}"


def fitted_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of the line through the points in log-log: 1 is linear growth."""
    slope, _ = np.polyfit(np.log(sizes), np.log(costs), 1)
    return float(slope)


def apart(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call the function in a new process; return its result and that process's peak memory."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        found: tuple[Any, float] = pool.submit(_with_peak, function, arguments).result()
    return found


def _with_peak(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    return function(*arguments), peak_mb()
