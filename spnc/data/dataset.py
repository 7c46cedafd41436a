"""Data in memory: columns, tables, and a dataset of splits."""

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
UNSPLIT = "all"  # the name of a table that is not split
PIECE_CELLS = 1 << 21  # 16 MiB of doubles: work on a piece needs little memory


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed variable. A value is one of the codes 0 … states-1, or missing."""

    name: str
    kind: ColumnKind = "binary"
    states: int = 2

    def __str__(self) -> str:
        return self.kind if self.kind == "binary" else f"categorical({self.states})"


class Table:
    """Rows of numbers, `values[row, column]`, NaN where a cell is missing, and a weight per row."""

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
        """Return the distinct rows, sorted, each with its total weight (NaN equals NaN)."""
        return self.distinct_with_inverse()[0]

    def distinct_with_inverse(self) -> tuple[Table, NDArray[np.intp]]:
        """Return the distinct rows, and for every row of this table the index of its equal."""
        first, inverse = distinct_rows(self.values)
        weights = np.bincount(inverse, weights=self.weights, minlength=len(first))
        return Table(self.values[first], weights.astype(np.float64)), inverse

    def pieces(self) -> Iterator[Table]:
        """Yield the rows in order, in tables of at most `PIECE_CELLS` cells or one row."""
        step = max(1, PIECE_CELLS // max(1, self.values.shape[1]))
        for begin in range(0, self.rows, step):
            part = slice(begin, begin + step)
            yield Table(self.values[part], self.weights[part])


@dataclass(frozen=True, eq=False)
class Dataset:
    """Columns and the tables over them: `train`, `valid` and `test`, or those of them there are.

    A table that is not split is the only one, and is called "all".
    """

    name: str
    columns: tuple[Column, ...]
    splits: Mapping[str, Table]
    cut: bool = False  # whether one table was shuffled and split by fractions

    @property
    def train(self) -> Table:
        """The training rows."""
        return self.splits["train"]

    @cached_property
    def distinct(self) -> Mapping[str, Table]:
        """The distinct rows of each split, with their weights."""
        return {name: table.distinct() for name, table in self.splits.items()}

    @cached_property
    def by_columns(self) -> Table:
        """The training rows stored column by column: learners read one column of many rows."""
        return Table(np.asfortranarray(self.train.values), self.train.weights)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of column names, kinds and all values: equal data has an equal digest."""
        sha = hashlib.sha256()
        for column in self.columns:
            sha.update(f"{column.name}\0{column}\n".encode())
        for name, table in self.splits.items():
            sha.update(f"{name} {table.values.shape}\n".encode())
            sha.update(np.ascontiguousarray(table.values).tobytes())
            sha.update(np.ascontiguousarray(table.weights).tobytes())
        return sha.hexdigest()
