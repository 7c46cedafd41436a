"""Texts among the numbers or dates of a column, which count as missing: found, and warned of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spnc.data.arrow_arrays import Mask
from spnc.data.encoding import cell_text
from spnc.data.raw_table import RawColumn, RawTable
from spnc.diagnostics import Sink, counted, listed

_SEEN = 1024  # cells of a table whose texts are collected
_SHOWN = 4  # texts in a warning


@dataclass(eq=False)
class _Odd:
    what: str
    where: str
    cells: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def wants_texts(self) -> bool:
        """Whether there are fewer texts than a warning needs."""
        return len(self.texts) <= _SHOWN

    def append(self, cells: int, texts: Sequence[str]) -> None:
        """Add further cells."""
        self.cells += cells
        if self.wants_texts:
            self.texts = list(dict.fromkeys([*self.texts, *texts]))


class OddCells:
    """Collects the odd cells of tables, which may be pieces of one, for one warning per column."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], _Odd] = {}

    def add(self, name: str, what: str, raw: RawColumn, odd: Mask, table: RawTable) -> None:
        """Add the odd cells of a column; `what` says what its other cells are."""
        rows = np.flatnonzero(odd)
        if not len(rows):
            return
        where = table.place_of(int(rows[0]))
        found = self._found.setdefault((name, table.file), _Odd(what, where))
        some = [cell_text(raw, int(row)) for row in rows[:_SEEN]] if found.wants_texts else []
        found.append(len(rows), some)

    def extend(self, other: OddCells) -> None:
        """Add the odd cells of further rows."""
        for key, odd in other._found.items():
            found = self._found.setdefault(key, _Odd(odd.what, odd.where))
            found.append(odd.cells, odd.texts)

    def warn(self, sink: Sink, where: str | None = None) -> None:
        """Warn of the columns with such cells (W309); `where` replaces the place of the first."""
        for (name, _), odd in self._found.items():
            message = (
                f"column `{name}` holds {odd.what}, apart from {counted(odd.cells, 'cell')}: "
                f"{listed(odd.texts, _SHOWN)}"
            )
            help = (
                f"they count as missing; list them under `missing`, or declare "
                f"`columns: {{{name}: categorical}}`"
            )
            sink.warning("W309", message, where=where or odd.where, help=help)
