"""Sets of values of one column: unions of closed intervals.

The values of a binary, categorical or count column are whole numbers (codes or counts), and so are
the ends of intervals. For a real column or a date, single numbers have no probability: it does not
matter to which side an end belongs, and an interval of one number is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from spnc.data.columns import Column

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Disjoint intervals in increasing order; `whole` if values are whole numbers."""

    spans: tuple[Span, ...]
    whole: bool

    @staticmethod
    def of(column: Column, spans: Iterable[Span]) -> ValueSet:
        """Return the values of a column in any of these intervals, whose ends are included."""
        whole = is_whole(column)
        low, high = every_value(column)
        kept = []
        for a, b in spans:
            a, b = max(a, low), min(b, high)
            if whole:
                a, b = _up(a), _down(b)
            kept.append((a, b))
        return ValueSet(_merged(kept, whole), whole)

    @staticmethod
    def everything(column: Column) -> ValueSet:
        """Return all values of a column."""
        return ValueSet((every_value(column),), is_whole(column))

    @staticmethod
    def codes(column: Column, codes: Iterable[int]) -> ValueSet:
        """Return the states of a column with these codes."""
        return ValueSet.of(column, ((float(code), float(code)) for code in codes))

    def __contains__(self, value: float) -> bool:
        return any(low <= value <= high for low, high in self.spans)

    @property
    def is_empty(self) -> bool:
        """Whether the set has no values, or only single numbers of a real column."""
        return not self.spans

    def is_everything(self, column: Column) -> bool:
        """Whether the set has all values of a column."""
        return self.spans == (every_value(column),)

    def __and__(self, other: ValueSet) -> ValueSet:
        """Return the values in both sets."""
        common = [(max(a, c), min(b, d)) for a, b in self.spans for c, d in other.spans]
        return ValueSet(_merged(common, self.whole), self.whole)

    def __or__(self, other: ValueSet) -> ValueSet:
        """Return the values in one of the sets, or in both."""
        return ValueSet(_merged([*self.spans, *other.spans], self.whole), self.whole)

    def without(self, other: ValueSet) -> ValueSet:
        """Return the values of this set that are not in the other."""
        found = list(self.spans)
        gap = 1.0 if self.whole else 0.0
        for c, d in other.spans:
            found = [
                part for a, b in found for part in ((a, min(b, c - gap)), (max(a, d + gap), b))
            ]
        return ValueSet(_merged(found, self.whole), self.whole)

    def states(self) -> list[int]:
        """Return the codes in the set, which is one of a column with finitely many states."""
        return [code for a, b in self.spans for code in range(int(a), int(b) + 1)]


def is_whole(column: Column) -> bool:
    """Whether the values of a column are whole numbers."""
    return column.is_finite or column.kind == "count"


def every_value(column: Column) -> Span:
    """Return the interval of all values that a column can have."""
    if column.is_finite:
        return 0.0, float(column.states - 1)
    return (0.0 if column.kind == "count" else -math.inf), math.inf


def _up(value: float) -> float:
    return float(math.ceil(value)) if math.isfinite(value) else value


def _down(value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value


def _merged(spans: Iterable[Span], whole: bool) -> tuple[Span, ...]:
    """Return the same values as disjoint intervals in order."""
    gap = 1.0 if whole else 0.0
    found: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] <= span[1]):
        if low == high and (math.isinf(low) or not whole):
            continue
        if found and low <= found[-1][1] + gap:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)
