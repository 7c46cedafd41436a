"""Columns: the name and kind of a variable, what its codes stand for, and its scale."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from math import isfinite
from typing import Any, Literal, get_args

ColumnKind = Literal["binary", "categorical", "count", "real", "date"]
KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)
FINITE: tuple[ColumnKind, ...] = ("binary", "categorical")
Label = str | int | float | bool


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
    date is in the `unit` "days" or "seconds" since 1970), `states` is 0, and `scale` says where
    its values lie.
    """

    name: str
    kind: ColumnKind = "binary"
    states: int = 2
    labels: tuple[Label, ...] | None = None
    scale: Scale | None = None
    unit: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether the column has finitely many states."""
        return self.kind in FINITE

    def __str__(self) -> str:
        return f"categorical({self.states})" if self.kind == "categorical" else self.kind

    def as_json(self) -> list[Any] | dict[str, Any]:
        """Return the column as plain values: name, kind and states if that is all there is."""
        if self.labels is None and self.scale is None and not self.unit:
            return [self.name, self.kind, self.states]
        found: dict[str, Any] = {"name": self.name, "kind": self.kind, "states": self.states}
        if self.labels is not None:
            found["labels"] = list(self.labels)
        if self.scale is not None:
            found["scale"] = asdict(self.scale)
        if self.unit:
            found["unit"] = self.unit
        return found

    @classmethod
    def from_json(cls, value: Any) -> Column:
        """Return the column that `as_json` wrote. Raises ValueError or TypeError for others."""
        if isinstance(value, list):
            name, kind, states = value
            value = {"name": name, "kind": kind, "states": states}
        labels, scale = value.get("labels"), value.get("scale")
        column = cls(
            value["name"],
            value["kind"],
            value["states"],
            tuple(labels) if labels is not None else None,
            Scale(**scale) if scale is not None else None,
            value.get("unit", ""),
        )
        numbers = [] if column.scale is None else list(astuple(column.scale))
        if not (
            isinstance(column.name, str)
            and isinstance(column.unit, str)
            and column.kind in KINDS
            and type(column.states) is int
            and (column.states >= 2 if column.is_finite else column.states == 0)
            and (labels is None or len(labels) == len(set(labels)) == column.states)
            and all(isinstance(label, Label) for label in labels or ())
            and all(type(n) in (int, float) and isfinite(n) for n in numbers)
        ):
            raise ValueError(f"column {column.name!r} is not described in full")
        return column
