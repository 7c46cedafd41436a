"""Tables that are carried along: what came in, with cells filled and columns added.

A data frame of any library that narwhals knows stays a data frame of that library, with its
index. Dicts and lists of dicts become a dict of columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Ints
from spnc.data.columns import Column
from spnc.data.pandas_names import flat_name
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, nearest

Cells = NDArray[Any]  # numbers, or objects with None for a missing cell


@dataclass(frozen=True, eq=False)
class Carried:
    """A table by column. `frame` is a data frame of narwhals, or None for a dict of columns."""

    names: tuple[str, ...]
    frame: Any
    columns: Mapping[str, list[Any]]

    @staticmethod
    def of(data: Any) -> Carried | None:
        """Return a data frame, a dict of columns or a list of dicts; None for other data.

        Columns of pandas with several levels of names get flat ones. A frame with two columns of
        one name raises a `DuplicateError` of narwhals.
        """
        import narwhals as nw

        if isinstance(data, Mapping):
            plain = {flat_name(name): _listed(cells) for name, cells in data.items()}
            return Carried(tuple(plain), None, plain)
        if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
            names = list(dict.fromkeys(name for row in data for name in row))
            plain = {flat_name(n): [row.get(n) for row in data] for n in names}
            return Carried(tuple(plain), None, plain)
        if nw.dependencies.is_pandas_dataframe(data) and data.columns.nlevels > 1:
            data = data.set_axis([flat_name(label) for label in data.columns], axis=1)
        found = nw.from_native(data, pass_through=True)
        if isinstance(found, nw.LazyFrame):
            found = found.collect()
        if isinstance(found, nw.DataFrame):
            return Carried(tuple(map(flat_name, found.columns)), found, {})
        return None

    def part(self, names: Sequence[str]) -> Any:
        """Return the columns of these names that there are, as data that a model can read."""
        if self.frame is None:
            return {name: self.columns[name] for name in self.names if name in names}
        own = [label for label, n in zip(self.frame.columns, self.names, strict=True) if n in names]
        return self.frame.select(own).to_native()

    def cells(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        if self.frame is None:
            return self.columns[name]
        found: list[Any] = self.frame[self._label(name)].to_list()
        return found

    def number_names(self) -> list[str]:
        """Return the names of the columns of numbers; of a dict, of all columns."""
        if self.frame is None:
            return list(self.names)
        kinds = self.frame.schema.values()
        return [n for n, kind in zip(self.names, kinds, strict=True) if kind.is_numeric()]

    def replaced(self, new: Mapping[str, list[Any]]) -> Carried:
        """Return the table with other cells in some columns, of the same type where they fit."""
        if self.frame is None:
            return Carried(self.names, None, {**self.columns, **new})
        series = [self._series(self._label(n), c, like=self._label(n)) for n, c in new.items()]
        return Carried(self.names, self.frame.with_columns(*series), {})

    def added(self, new: Mapping[str, Cells]) -> Carried:
        """Return the table with more columns at its end."""
        lists = {name: _plain(cells) for name, cells in new.items()}
        names = (*self.names, *lists)
        if self.frame is None:
            return Carried(names, None, {**self.columns, **lists})
        series = [self._series(name, cells) for name, cells in lists.items()]
        return Carried(names, self.frame.with_columns(*series), {})

    def taken(self, rows: Ints) -> Carried:
        """Return some of the rows, in this order."""
        if self.frame is None:
            at = rows.tolist()
            plain = {name: [cells[r] for r in at] for name, cells in self.columns.items()}
            return Carried(self.names, None, plain)
        return Carried(self.names, self.frame[rows.astype(np.int64), :], {})

    @property
    def data(self) -> Any:
        """The table: a data frame of the kind that came in, or a dict of columns."""
        return dict(self.columns) if self.frame is None else self.frame.to_native()

    def _label(self, name: str) -> Any:
        return self.frame.columns[self.names.index(name)]

    def _series(self, name: Any, cells: list[Any], like: Any = None) -> Any:
        import narwhals as nw

        backend = self.frame.implementation
        if like is not None:
            try:
                return nw.new_series(name, cells, self.frame[like].dtype, backend=backend)
            except Exception:
                # Each library has exceptions of its own for a value that the type cannot hold,
                # such as a category of an Enum or a fraction among integers.
                pass
        kinds = {type(cell) for cell in cells if cell is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            # Labels of several types, which many libraries do not allow in a column.
            cells = [None if cell is None else str(cell) for cell in cells]
        return nw.new_series(name, cells, backend=backend)


def warn_of_strangers(
    names: Sequence[str], columns: Sequence[Column], rules: TableRules, sink: Sink, where: str
) -> list[str]:
    """Return the names that the model knows; warn of others that look like an absent column."""
    known = {*(c.name for c in columns), *rules.names, *rules.index}
    if rules.weight is not None:
        known.add(rules.weight)
    absent = [c.name for c in columns if c.name not in names]
    for name in names:
        near = nearest(name, absent) if name not in known else None
        if near is not None:
            message = f"column `{name}` is unknown to the model and is only copied"
            help = f"did you mean `{near}`, which is missing in every row?"
            sink.warning("W501", message, where=where, help=help)
    return [name for name in names if name in known]


def check_free(names: Sequence[str], new: Sequence[str], sink: Sink, where: str) -> None:
    """Report columns that would be added twice (E509)."""
    for name in new:
        if name in names:
            message = f"the table has a column `{name}` already"
            help = "rename or remove it: the answer has a column of this name"
            sink.error("E509", message, where=where, help=help)


def _listed(cells: Any) -> list[Any]:
    if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
        return [cells]
    return cells.tolist() if hasattr(cells, "tolist") else list(cells)


def _plain(cells: Cells) -> list[Any]:
    """Return cells as Python values, None where missing."""
    if cells.dtype.kind == "f":
        return [None if cell != cell else cell for cell in cells.tolist()]
    return list(cells.tolist())
