"""Means over seeds, with confidence intervals by Student's t distribution.

Few seeds make a standard error misleading: over three, two standard errors around a mean cover the
true value with a probability of 82%, not 95% (p = 0.18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from scipy.stats import t

CONFIDENCE = 0.95
EXPLANATION = (
    f"± is half the width of a {CONFIDENCE:.0%} confidence interval over the seeds "
    "(Student's t distribution)"
)


@dataclass(frozen=True)
class Interval:
    """The mean of some values, half the width of its interval, and the number of values."""

    mean: float
    half_width: float | None  # None: one value, which says nothing about its spread
    seeds: int

    @property
    def low(self) -> float:
        """The lower end; the value itself if there is only one."""
        return self.mean - (self.half_width or 0.0)

    @property
    def is_above_zero(self) -> bool:
        """Whether the whole interval is above zero, which a single value cannot show."""
        return self.half_width is not None and self.low > 0

    def text(self, digits: int, *, sign: bool = False, bold: bool = False) -> str:
        """Return `-6.023 ± 0.004`, with the mean in bold if asked."""
        shown = f"{self.mean:{'+' if sign else ''}.{digits}f}"
        shown = f"**{shown}**" if bold else shown
        return shown if self.half_width is None else f"{shown} ± {self.half_width:.{digits}f}"


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of `values` with its confidence interval."""
    count = len(values)
    if count < 2:
        return Interval(mean(values), None, count)
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, count - 1))
    return Interval(mean(values), quantile * stdev(values) / count**0.5, count)


def counted_seeds(counts: Sequence[int]) -> str:
    """Return `3 seeds`, or `1 to 3 seeds` where cells differ."""
    least, most = min(counts), max(counts)
    word = "seed" if most == 1 else "seeds"
    return f"{most} {word}" if least == most else f"{least} to {most} {word}"
