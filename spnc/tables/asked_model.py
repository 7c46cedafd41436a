"""`AskedModel`: what working on tables needs of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from spnc.backends import Engine
from spnc.data.columns import Column
from spnc.data.dataset import Table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, did_you_mean
from spnc.program.program import Parameters


class AskedModel(Protocol):
    """A model whose columns, parameters and engine are known: `spnc.model.Model`."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns."""
        ...

    @property
    def rules(self) -> TableRules:
        """How tables are read and matched with the columns."""
        ...

    @property
    def engine(self) -> Engine:
        """The program opened on a backend."""
        ...

    parameters: Parameters

    def table_of(self, data: Any) -> Table:
        """Return data from Python as a table of the model's columns."""
        ...


def column_places(columns: tuple[Column, ...], names: Iterable[str], sink: Sink) -> list[int]:
    """Return the numbers of columns, given their names; report every unknown one (E508)."""
    known = {column.name: i for i, column in enumerate(columns)}
    found = []
    for name in names:
        if name in known:
            found.append(known[name])
        else:
            hint = did_you_mean(name, known)
            sink.error("E508", f"the model has no column `{name}`", help=hint)
    return list(dict.fromkeys(found))
