"""Numbers in answers: for people, and as JSON has them."""

from __future__ import annotations

import math

from spnc.common.arrays import Floats
from spnc.data.cells import MISSING, number_text
from spnc.data.columns import Column


def number_for_people(value: float, column: Column | None = None, unit: str = "") -> str:
    """Return a number with six digits and its unit, or a date if the column is one of dates."""
    if math.isnan(value):
        return MISSING
    if column is not None and column.kind == "date":
        return number_text(column, value)
    return f"{value:.6g} {unit}".rstrip()


def plain_number(value: float | None) -> float | None:
    """Return a number as JSON can have it: None if it is not finite."""
    return value if value is not None and math.isfinite(value) else None


def plain_numbers(values: Floats) -> list[float | None]:
    """Return numbers as JSON can have them."""
    return [plain_number(value) for value in values.tolist()]
