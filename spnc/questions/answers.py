"""`Answer`: what a model says to a question, for people, notebooks and programs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spnc.common.views import line, rows_html
from spnc.data.columns import Column
from spnc.queries.rows import Rows
from spnc.questions.curve import Curve
from spnc.questions.group_table import GroupTable
from spnc.questions.numbers import number_for_people, plain_number

if TYPE_CHECKING:
    import pandas as pd

IMPOSSIBLE = "the evidence is impossible: it has probability zero"
UNDEFINED = "undefined"


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The answer to one question.

    `value` is a probability or another number, NaN if the evidence is impossible; `log_value` is
    the logarithm of a probability or of a density. Questions with `by` have a `table`, `most
    likely` and `sample` have `rows`, densities a `curve`. `column` is the column that the value is
    a number of, `unit` the unit of the value. `notes` say what is not exact, or not defined.
    """

    question: str
    value: float | None = None
    log_value: float | None = None
    column: Column | None = None
    unit: str = ""
    table: GroupTable | None = None
    rows: Rows | None = None
    curve: Curve | None = None
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        """Return the value; raises `TypeError` for a table, rows or a curve."""
        if self.value is None:
            raise TypeError(f"the answer to `{self.question}` is not one number")
        return self.value

    def __repr__(self) -> str:
        return "\n".join([self._head(), *filter(None, [self._body()]), *self._note_lines()])

    def _head(self) -> str:
        if self.value is None:
            return self.question + (self._log() if self.rows is not None else "")
        return f"{self.question} = {self._value()}{self._log()}"

    def _value(self) -> str:
        assert self.value is not None
        if IMPOSSIBLE in self.notes:
            return UNDEFINED
        return number_for_people(self.value, self.column, self.unit)

    def _log(self) -> str:
        if self.log_value is None or IMPOSSIBLE in self.notes:
            return ""
        return f"   (log {number_for_people(self.log_value)})"

    def _body(self) -> str:
        parts = [repr(part) for part in (self.table, self.rows, self.curve) if part is not None]
        return "\n".join(parts)

    def _note_lines(self) -> list[str]:
        return [f"  {note}" for note in self.notes]

    def _repr_html_(self) -> str:
        """Return the answer as HTML for Jupyter."""
        value = "" if self.value is None else f"= {self._value()}"
        found = [line(self.question, value + self._log(), *self.notes)]
        for part in (self.table, self.curve):
            if part is not None:
                head, rows = part.texts()
                found.append(rows_html(head, rows[:_ROWS_IN_HTML], _shown(len(rows))))
        if self.rows is not None:
            found.append(self.rows._repr_html_())
        return f"<div>{''.join(found)}</div>"

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values; numbers that are not finite are None."""
        found: dict[str, Any] = {"question": self.question}
        if self.value is not None:
            found["value"] = plain_number(self.value)
            if self.column is not None and self.column.kind == "date":
                found["text"] = self._value()
        if self.log_value is not None:
            found["log_value"] = plain_number(self.log_value)
        if self.unit:
            found["unit"] = self.unit
        if self.table is not None:
            found["table"] = self.table.plain()
        if self.rows is not None:
            found["rows"] = [{k: _plain(v) for k, v in row.items()} for row in self.rows]
        if self.curve is not None:
            found["curve"] = self.curve.plain()
        return {**found, "notes": list(self.notes)}

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame: of the table, rows or curve, or of the value alone."""
        import pandas as pd

        if self.rows is not None:
            return self.rows.to_pandas()
        for part in (self.table, self.curve):
            if part is not None:
                return pd.DataFrame(part.frame())
        found = {"question": self.question, "value": self.value, "log_value": self.log_value}
        return pd.DataFrame([{key: value for key, value in found.items() if value is not None}])


_ROWS_IN_HTML = 50


def _shown(rows: int) -> str:
    more = f"; shown: the first {_ROWS_IN_HTML}" if rows > _ROWS_IN_HTML else ""
    return f"{rows:,} row{'' if rows == 1 else 's'}{more}"


def _plain(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, dt.date) else cell
