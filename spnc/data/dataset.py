"""A dataset: columns, and a table of rows for each split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from spnc.data.columns import Column
from spnc.data.parted import PartedTable, Rows, in_memory
from spnc.data.row_sums import RowSums
from spnc.data.table import PIECE_CELLS, Block, Table
from spnc.data.table_rules import AS_MODELLED, TableRules

SPLITS = ("train", "valid", "test")
UNSPLIT = "all"  # the name of a table that is not split


@dataclass(frozen=True, eq=False)
class Dataset:
    """Columns and the tables over them: `train`, `valid` and `test`, or those of them there are.

    A table that is not split is the only one, and is called "all". Tables of more rows than a
    partition holds are in partitions; what needs rows in memory has a sample of them.
    """

    name: str
    columns: tuple[Column, ...]
    splits: Mapping[str, Rows]
    cut: bool = False  # whether one table was shuffled and split by fractions
    rules: TableRules = AS_MODELLED  # how later data is matched with the columns
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns that are not modelled, why

    @property
    def train(self) -> Table:
        """The training rows, or a sample of them."""
        return self.in_memory("train")

    def in_memory(self, split: str) -> Table:
        """Return the rows of a split, or the sample of them that is in memory."""
        return in_memory(self.splits[split])

    @property
    def sampled(self) -> Sequence[str]:
        """The splits that are not in memory, so that learners work on a sample of their rows."""
        return [name for name, rows in self.splits.items() if isinstance(rows, PartedTable)]

    @cached_property
    def distinct(self) -> Mapping[str, Rows]:
        """The distinct rows of each split, or of each of its partitions, with their weights."""
        return {name: rows.distinct() for name, rows in self.splits.items()}

    @cached_property
    def distinct_in_memory(self) -> Mapping[str, Table]:
        """The distinct rows of each split, or of the sample of it that is in memory."""
        return {
            name: found if isinstance(found, Table) else found.sample.distinct()
            for name, found in self.distinct.items()
        }

    @cached_property
    def sums(self) -> RowSums | None:
        """Sums over all training rows, if these are in partitions and learners have a sample."""
        rows = self.splits.get("train")
        return RowSums(self.columns, rows) if isinstance(rows, PartedTable) else None

    @cached_property
    def by_columns(self) -> Table:
        """The training rows, each column in one piece of memory: learners read single columns."""
        blocks = (Block(b.columns, np.ascontiguousarray(b.cells)) for b in self.train.blocks)
        return Table.of_blocks(list(blocks), self.train.weights)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of column names, kinds and all values: equal data has an equal digest."""
        sha = hashlib.sha256()
        for column in self.columns:
            sha.update(f"{column.name}\0{column}\n".encode())
            if column.labels is not None or column.unit:
                sha.update(f"{column.labels!r}\0{column.unit}\n".encode())
        for name, table in self.splits.items():
            sha.update(f"{name} {(table.rows, table.width)}\n".encode())
            if isinstance(table, PartedTable):
                sha.update(" ".join(part.digest for part in table.parts).encode())
                continue
            for piece in table.pieces():
                sha.update(np.ascontiguousarray(piece.values).tobytes())
            for begin in range(0, table.rows, PIECE_CELLS):
                weights = table.weights[begin : begin + PIECE_CELLS]
                sha.update(np.ascontiguousarray(weights).tobytes())
        return sha.hexdigest()
