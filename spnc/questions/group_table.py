"""`GroupTable`: an answer for each combination of states of the columns `by`."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

from spnc.common.aligned_table import table
from spnc.common.arrays import Floats
from spnc.data.cells import cell_texts, cell_value, heading
from spnc.data.columns import Column
from spnc.questions.numbers import number_for_people, plain_number

PROBABILITY = "P(group)"  # the head of the groups' own probabilities


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable:
    """A value for each group, NaN where the group is impossible.

    `groups[group, column]` are the states of the columns `by`; `chances` is the probability of each
    group, given the evidence. `value_name` and `unit` are those of the values, which are numbers of
    `column` if there is one.
    """

    by: tuple[Column, ...]
    groups: Floats
    value_name: str
    values: Floats
    chances: Floats
    log_values: Floats | None = None
    column: Column | None = None
    unit: str = ""

    def __len__(self) -> int:
        return len(self.groups)

    def texts(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads of the columns and the cells of all rows, for people."""
        head = [*map(heading, self.by), self.value_name]
        head += [] if self.log_values is None else ["log"]
        rows = []
        for i, states in enumerate(self.groups.tolist()):
            row = cell_texts(self.by, states)
            row.append(number_for_people(float(self.values[i]), self.column, self.unit))
            if self.log_values is not None:
                row.append(number_for_people(float(self.log_values[i])))
            rows.append([*row, number_for_people(float(self.chances[i]))])
        return [*head, PROBABILITY], rows

    def __repr__(self) -> str:
        return table(*self.texts(), left=len(self.by))

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows as JSON can have them."""
        return [
            {key: _plain(value) for key, value in zip(self.frame(), row, strict=True)}
            for row in zip(*self.frame().values(), strict=True)
        ]

    def frame(self) -> dict[str, list[Any]]:
        """Return the columns by name; a name that is taken gets a `_` at its end."""
        found: dict[str, list[Any]] = {}
        for i, column in enumerate(self.by):
            found[column.name] = [cell_value(column, v) for v in self.groups[:, i].tolist()]
        more = {"value": self.values, "log_value": self.log_values, "probability": self.chances}
        for name, values in more.items():
            if values is not None:
                while name in found:
                    name += "_"
                found[name] = values.tolist()
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return plain_number(value) if not math.isnan(value) else None
    return value.isoformat() if isinstance(value, dt.date) else value
