"""Columns: the name and kind of a variable, what its codes stand for, and its scale."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal, TypeGuard, get_args

from spnc.data.warp import Warp

ColumnKind = Literal["binary", "categorical", "count", "real", "date"]
KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)
FINITE: tuple[ColumnKind, ...] = ("binary", "categorical")
Label = str | int | float | bool
_LARGE = 2.0**52  # doubles hold all whole numbers up to this one, and some more


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the training values of a numeric column lie. Leaves take their units from it.

    `resolution` is the rounding unit: no leaf is narrower. The logarithmic numbers are those of
    the positive values, and are not used where there are none.
    """

    resolution: float = 1.0
    low: float = 0.0
    high: float = 1.0
    mean: float = 0.0
    sd: float = 1.0
    log_mean: float = 0.0
    log_sd: float = 1.0


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed variable.

    A value of a binary or categorical column is one of the codes 0 … states-1; `labels` says what
    they stand for, if not for themselves. A value of a count, real or date column is a number (a
    date in its `unit`: see dates.py), `states` is 0, and `scale` says where
    its values lie.
    """

    name: str
    kind: ColumnKind = "binary"
    states: int = 2
    labels: tuple[Label, ...] | None = None
    scale: Scale | None = None
    unit: str = ""
    warp: Warp | None = None  # of a real column or a date, for leaves that are normal on it

    @property
    def is_finite(self) -> bool:
        """Whether the column has finitely many states."""
        return self.kind in FINITE

    @property
    def has_numbers(self) -> bool:
        """Whether some labels are numbers or truth values."""
        return any(not isinstance(label, str) for label in self.labels or ())

    @property
    def array_labels(self) -> tuple[float, ...] | None:
        """The numbers that stand for labelled states in an array; None if these are the codes.

        Labels that are numbers or truth values stand for themselves, if a double can hold them.
        Others, texts and numbers such as 2⁵³ + 1, are whole numbers from above the largest label on
        that is less than 2⁵². If all labels are texts, these are the codes.
        """
        labels = self.labels or ()
        if not self.has_numbers:
            return None
        held = [label for label in labels if _is_held_by_a_double(label)]
        small = [number for number in held if number < _LARGE]
        free = itertools.count(math.floor(max(small, default=-1.0)) + 1)
        return tuple(label if _is_held_by_a_double(label) else next(free) for label in labels)

    def __str__(self) -> str:
        return f"categorical({self.states})" if self.kind == "categorical" else self.kind


def _is_held_by_a_double(label: Label) -> TypeGuard[float]:
    """Whether a label is a number that a double has the exact value of."""
    if isinstance(label, str):
        return False
    try:
        return float(label) == label
    except OverflowError:  # a whole number of more than 308 digits
        return False
