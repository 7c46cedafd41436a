"""The values that data becomes: columns, tables and a dataset of splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spnc.data.distinct import distinct_rows

ColumnKind = Literal["binary", "categorical"]
SPLITS = ("train", "valid", "test")
PIECE_CELLS = 1 << 21  # 16 megabytes of doubles


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

    __slots__ = ("__weakref__", "values", "weights")

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
        return self.distinct_with_inverse()[0]

    def distinct_with_inverse(self) -> tuple[Table, NDArray[np.intp]]:
        """The distinct rows, and for every row of this table which of them it has become."""
        first, inverse = distinct_rows(self.values)
        weights = np.bincount(inverse, weights=self.weights, minlength=len(first))
        return Table(self.values[first], weights.astype(np.float64)), inverse

    def pieces(self) -> Iterator[Table]:
        """The rows in order, so many at a time that work on them needs little memory."""
        step = max(1, PIECE_CELLS // max(1, self.values.shape[1]))
        for begin in range(0, self.rows, step):
            part = slice(begin, begin + step)
            yield Table(self.values[part], self.weights[part])


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named, typed columns and the tables over them: `train`, `valid`, `test`, as far as given."""

    name: str
    columns: tuple[Column, ...]
    splits: Mapping[str, Table]
    cut: bool = False  # whether the splits are fractions of one table, its rows shuffled

    @property
    def train(self) -> Table:
        """The training rows."""
        return self.splits["train"]

    @cached_property
    def distinct(self) -> Mapping[str, Table]:
        """The distinct rows of every split, with their weights."""
        return {name: table.distinct() for name, table in self.splits.items()}

    @cached_property
    def by_columns(self) -> Table:
        """The training rows laid out by columns: learners read one column at many rows."""
        return Table(np.asfortranarray(self.train.values), self.train.weights)

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
