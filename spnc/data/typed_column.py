"""From the cells of a column in all splits to what the column is, and its cells as stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from spnc.data.column_kinds import Verdict, judge
from spnc.data.columns import Column
from spnc.data.declared import column_of, is_declared, judge_declared, labelled
from spnc.data.encoding import Misfit, encoded
from spnc.data.options import ColumnRule
from spnc.data.raw_table import RawColumn
from spnc.data.table import Cells
from spnc.data.table_rules import Unseen


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column of a table: what it was found to be, and its cells and misfits by split.

    `column` is None if the column is left out. `odd_parts` are the cells as they were read, if
    some of them are odd (see `Verdict.odd`).
    """

    name: str
    verdict: Verdict
    column: Column | None = None
    cells: list[tuple[Cells, list[Misfit]]] = field(default_factory=list)
    odd_parts: list[RawColumn] = field(default_factory=list)


def typed_column(
    name: str,
    parts: list[RawColumn],
    rule: ColumnRule | None,
    unit: str | None,
    unseen: Unseen,
    delimiter: str | None,
) -> TypedColumn:
    """Return what a column is, as its rule or its cleaned cells in all splits say."""
    if rule is not None and is_declared(rule):
        verdict = judge_declared(parts, rule, delimiter)
    else:
        verdict = judge(name, parts, delimiter)
    odd_parts = parts if verdict.odd is not None else []
    if verdict.kind is None:
        return TypedColumn(name, replace(verdict, parts=[]), odd_parts=odd_parts)
    own_unit = unit or next((p.unit for p in verdict.parts if p.unit), "")
    column = labelled(column_of(name, verdict, rule, own_unit), unseen)
    cells = [encoded(part, column, "error") for part in verdict.parts]
    return TypedColumn(name, replace(verdict, parts=[]), column, cells, odd_parts)
