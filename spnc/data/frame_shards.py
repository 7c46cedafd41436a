"""Dask frames in shards: each partition is a data frame of pandas, computed where it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from spnc.data.arrow_columns import object_text
from spnc.data.frames import GIVEN, raw_from_python
from spnc.data.pandas_names import flat_name
from spnc.data.python_columns import column_of
from spnc.data.raw_table import RawColumn, RawTable, text_column
from spnc.data.shards import Changed, Layout
from spnc.diagnostics import Sink, listed


@dataclass(frozen=True, eq=False)
class FrameShard:
    """A partition of a Dask frame."""

    frame: Any
    number: int

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"`frame.partitions[{self.number}]`"

    def pieces(
        self, layout: Layout | None, sink: Sink, begin: int = 0, end: int | None = None
    ) -> Iterator[RawTable]:
        """Yield the rows from `begin` on and before `end`, if any; report what is wrong."""
        rows = self.frame.iloc[begin:end]
        if not len(rows):
            return
        table = raw_from_python(rows, sink)
        if table is not None and layout is not None:
            table = self._laid_out(table, rows, layout, sink)
        if table is not None:
            yield replace(table, within=f" of {self.name}")

    def _laid_out(self, table: RawTable, rows: Any, layout: Layout, sink: Sink) -> RawTable | None:
        """Return a table with the columns of the layout, in its order."""
        found = dict(zip(table.column_names, table.columns, strict=True))
        for name in layout.index - found.keys():
            if flat_name(rows.index.name) == name:  # row numbers, no column by themselves
                found[name] = column_of(rows.index.to_series())
        absent = [f"`{name}`" for name in layout.names if name not in found]
        known = {*layout.names, *table.index}
        extra = [f"`{name}`" for name in found if name not in known]
        if absent or extra:
            notes = [f"not there: {listed(absent)}"] if absent else []
            notes += [f"only there: {listed(extra)}"] if extra else []
            message = f"{self.name} does not have the columns of those before it"
            help = "all partitions must have the same columns"
            sink.error("E307", message, notes=notes, help=help, where=GIVEN)
            return None
        columns = [_as_texts(rows, n) if n in layout.texts else found[n] for n in layout.names]
        return replace(table, columns=columns, names=layout.names, index=layout.index)


def _as_texts(rows: Any, name: str) -> RawColumn:
    """Return a column as texts, as it is where its values are of different kinds."""
    labels = [flat_name(label) for label in rows.columns]
    cells = rows.iloc[:, labels.index(name)] if name in labels else rows.index
    return text_column([object_text(cell) for cell in cells.tolist()])


class FrameSource:
    """The shards of a Dask frame."""

    changed = Changed(
        "E515",
        "the Dask frame",
        GIVEN,
        "make the frame's rows the same each time, or keep them: `frame = frame.persist()`",
    )

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.splits: Mapping[str, range] = {}  # all shards are one table

    def tasks(self) -> list[Any]:
        """Return what Dask computes to the shards."""
        from dask.delayed import delayed

        wrapped = delayed(FrameShard, pure=False)
        return [wrapped(each, number) for number, each in enumerate(self._frame.to_delayed())]

    def report_failed(self, error: BaseException) -> NoReturn:
        """Report that the frame cannot be computed, and stop (E515)."""
        sink = Sink()
        text = str(error).strip()
        kind = type(error).__name__
        note = f"{kind}: {text.splitlines()[0]}" if text else kind
        message, help = (
            "the Dask frame cannot be computed",
            "`frame.compute()` shows all of the message",
        )
        sink.error("E515", message, where=GIVEN, notes=[note], help=help)
        sink.stop()
        raise AssertionError from error
