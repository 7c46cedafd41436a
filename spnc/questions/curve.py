"""`Curve`: the density of a column at many values, or the probabilities of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.aligned_table import table
from spnc.common.arrays import Floats
from spnc.data.cells import cell_text, cell_value, exact_text, heading, number_text
from spnc.data.columns import Column
from spnc.data.summary import histogram_text
from spnc.questions.numbers import number_for_people, plain_numbers

_LISTED = 40  # values of a count whose probabilities are printed; more are drawn


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Densities, or probabilities if the values of the column are whole numbers.

    `densities[group, value]` is NaN for an impossible group; `groups` are the names of the groups,
    one empty name if there is just one curve.
    """

    column: Column
    values: Floats
    densities: Floats
    groups: tuple[str, ...] = ("",)

    @property
    def is_density(self) -> bool:
        """Whether the numbers are densities, not probabilities."""
        return self.column.kind in ("real", "date")

    @property
    def unit(self) -> str:
        """What a density is given per: the unit of the column; empty for probabilities."""
        return self.column.unit if self.is_density else ""

    def texts(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and cells of a table for people."""
        names = [name or ("density" if self.is_density else "probability") for name in self.groups]
        rows = [
            [cell_text(self.column, value), *map(number_for_people, at.tolist())]
            for value, at in zip(self.values.tolist(), self.densities.T, strict=True)
        ]
        return [heading(self.column), *names], rows

    def __repr__(self) -> str:
        if not self.is_density and len(self.values) <= _LISTED:
            return table(*self.texts(), left=1)
        return "\n".join(self._drawn(i) for i in range(len(self.groups)))

    def _drawn(self, group: int) -> str:
        """Return a curve as a row of block characters between its ends, and where it is highest."""
        name, dense = self.groups[group], self.densities[group]
        before = f"  {name}: " if name else "  "
        if np.isnan(dense).any():
            return f"{before}impossible"
        low, high = (number_text(self.column, v) for v in (self.values[0], self.values[-1]))
        top = int(np.argmax(dense))
        at = cell_text(self.column, float(self.values[top]))
        per = f" per {self.unit.removesuffix('s') if self.column.kind == 'date' else self.unit}"
        what = number_for_people(float(dense[top])) + (per if self.unit else "")
        return f"{before}{low} {histogram_text(dense.tolist())} {high}, highest near {at}: {what}"

    def frame(self) -> dict[str, list[Any]]:
        """Return the columns of a data frame."""
        column, name = self.column, "density" if self.is_density else "probability"
        values = self.values.tolist()
        own = values if column.kind == "real" else [cell_value(column, v) for v in values]
        found: dict[str, list[Any]] = {column.name: own}
        for i, group in enumerate(self.groups):
            key = group or name
            while key in found:
                key += "_"
            found[key] = self.densities[i].tolist()
        return found

    def plain(self) -> dict[str, Any]:
        """Return the curve as JSON can have it."""
        own = self.values.tolist()
        if self.column.kind != "real":
            own = [exact_text(self.column, value) for value in own]
        curves = [
            {"group": group, "densities": plain_numbers(self.densities[i])}
            for i, group in enumerate(self.groups)
        ]
        return {"column": self.column.name, "unit": self.unit, "values": own, "curves": curves}
