"""`AskedModel`: what working on tables needs of a model."""

from __future__ import annotations

from typing import Any, Protocol

from spnc.backends import Engine
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.data.table_rules import TableRules
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
