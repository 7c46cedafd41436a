"""The values that data becomes: columns, tables and a dataset of splits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ColumnKind = Literal["binary", "categorical"]
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed variable. A value is one of the codes 0 … states-1, or missing."""

    name: str
    kind: ColumnKind = "binary"
    states: int = 2

    def __str__(self) -> str:
        return self.kind if self.kind == "binary" else f"categorical({self.states})"


class Table:
    """Rows of numbers, `values[row, column]`, NaN where a cell is missing; a weight per row."""

    __slots__ = ("values", "weights")

    def __init__(
        self, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> None:
        self.values = values
        self.weights = np.ones(len(values)) if weights is None else weights

    @property
    def rows(self) -> int:
        """The number of rows stored."""
        return len(self.values)

    def distinct(self) -> Table:
        """The distinct rows, sorted, each weighted by how often it occurs (NaN equals NaN)."""
        if self.rows == 0:
            return self
        keys = np.where(np.isnan(self.values), -1.0, self.values)
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        weights = np.bincount(inverse.reshape(-1), weights=self.weights, minlength=len(first))
        return Table(self.values[first], weights.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named, typed columns and the tables over them: `train`, `valid`, `test`, as far as given."""

    name: str
    columns: tuple[Column, ...]
    splits: Mapping[str, Table]

    @property
    def train(self) -> Table:
        """The training rows."""
        return self.splits["train"]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over column names, types and all values: equal data, equal digest."""
        sha = hashlib.sha256()
        for column in self.columns:
            sha.update(f"{column.name}\0{column}\n".encode())
        for name, table in self.splits.items():
            sha.update(f"{name} {table.values.shape}\n".encode())
            sha.update(np.ascontiguousarray(table.values).tobytes())
            sha.update(np.ascontiguousarray(table.weights).tobytes())
        return sha.hexdigest()
