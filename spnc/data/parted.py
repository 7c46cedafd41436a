"""Tables in partitions, which are never in memory all at once.

A table of more rows than a partition holds is cut into partitions, each with its distinct rows.
Where they end depends on the data alone, so that whoever adds up a sum over partitions, in whatever
process, gets the same bits. If all partitions together have no more distinct rows than one holds,
they become one.

Counts are sums over rows. What is none, such as splitting rows again and again, works on a sample
of the rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from spnc.common.observer import Progress, silent
from spnc.common.rng import random_stream
from spnc.common.tree_sum import TreeSum
from spnc.data.table import Block, Table

Term = TypeVar("Term")
PARTITION_ROWS = 1 << 20
_SPREADS = 4.0  # standard deviations of the number of rows that are drawn for a split
PARTITION_CELLS = 1 << 27  # of a partition at most: 128 MB of codes, or 1 GB of doubles


def rows_of_partition(wanted: int, columns: int) -> int:
    """Return how many rows a partition has at most, of a table with this many columns."""
    return max(1, min(wanted, PARTITION_CELLS // max(1, columns)))


class Sizes(NamedTuple):
    """How the rows of a split are cut.

    A partition has at most `most` rows, and each but the last one has `each`. `share` is the
    probability of a row to be sampled.
    """

    most: int
    each: int
    share: float

    @staticmethod
    def of(most: int, rows: int, fraction: float = 1.0) -> Sizes:
        """Return the sizes for the part of this many rows that a split draws at random.

        Partitions are about equal, since the largest decides how long several workers take. How
        many rows are drawn is not known before; `each` is large enough nearly always.
        """
        expected = rows * fraction
        if expected <= most:
            return Sizes(most, most, most / max(1.0, expected))
        likely = expected + _SPREADS * math.sqrt(expected * (1.0 - fraction))
        return Sizes(most, math.ceil(likely / math.ceil(likely / most)), most / expected)


class Part(Protocol):
    """A partition: distinct rows with their weights."""

    @property
    def rows(self) -> int:
        """The number of distinct rows."""
        ...

    @property
    def digest(self) -> str:
        """A SHA-256 of all cells and weights."""
        ...

    def table(self) -> Table:
        """Return the rows; from a file, they are read anew each time."""
        ...


@dataclass(eq=False)
class PartInMemory:
    """A partition that is in memory."""

    content: Table

    @property
    def rows(self) -> int:
        """The number of distinct rows."""
        return self.content.rows

    @cached_property
    def digest(self) -> str:
        """A SHA-256 of all cells and weights."""
        return digest_of(self.content)

    def table(self) -> Table:
        """Return the rows."""
        return self.content


@dataclass(frozen=True, eq=False)
class PartedTable:
    """Rows in partitions, and a sample of them in memory.

    `rows` and `total` are the number of rows and their weight before equal ones were merged.
    """

    parts: Sequence[Part]
    sample: Table
    rows: int
    total: float
    # Computes sums over partitions elsewhere (`spnc.backends.parted.RemotePasses`); None: in this
    # process.
    passes: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process computes passes itself.
        return PartedTable, (self.parts, self.sample, self.rows, self.total)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.sample.width

    @property
    def stored_rows(self) -> int:
        """The number of rows in all partitions, each of which has distinct ones."""
        return sum(part.rows for part in self.parts)

    def sum(
        self,
        work: Callable[[Table], Term],
        plus: Callable[[Term, Term], Term],
        progress: Progress = silent,
    ) -> Term:
        """Return the sum of what `work` returns for the rows of each partition, in a fixed order.

        It is computed where passes are: `work`, `plus` and what they return can be pickled.
        """
        if self.passes is not None:
            found: Term = self.passes.sum(work, plus)
            return found
        total, count = TreeSum(plus), len(self.parts)
        for number, part in enumerate(self.parts):
            progress("partitions", number, count)
            total.append(work(part.table()))
        progress("partitions", count, count)
        return total.total()

    def distinct(self) -> Rows:
        """Return the distinct rows: a table if there is one partition, else the partitions."""
        return self.parts[0].table() if len(self.parts) == 1 else self


Rows = Table | PartedTable


class Elsewhere(Protocol):
    """Other processes that compute passes over partitions."""

    def passes(self, table: PartedTable) -> Any:
        """Return the passes over the partitions of a table (`RemotePasses`)."""
        ...

    def shards(self, source: Any) -> Any:
        """Return shards of a `ShardSource`, worked on there (`spnc.data.shard_work.ShardWork`)."""
        ...

    def sees(self, files: Sequence[Any]) -> bool:
        """Return whether all workers see these files (`spnc.data.file_shards.Stamp`)."""
        ...


class Partitioning:
    """Cuts rows that come in pieces into partitions, and draws a sample of them.

    `keep` returns a partition of these distinct rows. It is called once for each of them, and once
    more if all are merged into one.
    """

    def __init__(
        self, sizes: Sizes, rng: np.random.Generator, keep: Callable[[Table], Part]
    ) -> None:
        self._sizes, self._rng, self._keep = sizes, rng, keep
        self._open: list[Table] = []  # rows of the partition that is not full yet
        self._parts: list[Part] = []
        self._sampled: list[Table] = []
        self._merged: TreeSum[Table] | None = TreeSum(self._together)
        self._rows, self._total = 0, 0.0

    def add(self, piece: Table) -> None:
        """Add the next rows."""
        if piece.rows == 0:
            return
        self._rows += piece.rows
        chosen = np.flatnonzero(self._rng.random(piece.rows) < self._sizes.share)
        if len(chosen):
            self._sampled.append(piece.take(chosen))
        while piece.rows:
            room = self._sizes.each - sum(table.rows for table in self._open)
            self._open.append(piece.take(slice(0, room)))
            if piece.rows < room:
                return
            piece = piece.take(slice(room, None))
            self._close()

    def _close(self) -> None:
        """Make a partition of the rows that are waiting."""
        if not self._open:
            return
        distinct = stacked(self._open).distinct()
        self._open = []
        self._total += distinct.total  # in the order of partitions, however the rows came
        self._parts.append(self._keep(distinct))
        if self._merged is not None:
            try:
                self._merged.append(distinct)
            except _TooManyError:
                self._merged = None

    def _together(self, one: Table, other: Table) -> Table:
        """Return the distinct rows of two tables, if a partition has room for them."""
        found = stacked([one, other]).distinct()
        if found.rows > self._sizes.most:
            raise _TooManyError
        return found

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self._rows

    def finished(self) -> Rows:
        """Return all rows; in memory if they fit into a partition. There has to be one."""
        if not self._parts and self._sizes.share >= 1.0:
            return stacked(self._sampled)
        self._close()
        parts: Sequence[Part] = tuple(self._parts)
        if self._merged is not None and len(parts) > 1:
            with suppress(_TooManyError):
                parts = (self._keep(self._merged.total()),)
        sample = stacked(self._sampled) if self._sampled else parts[0].table().take(slice(0, 1))
        return PartedTable(parts, sample, self._rows, self._total)


class _TooManyError(Exception):
    """All rows together do not fit into one partition."""


def partitioned(table: Table, wanted: int, seed: int, name: str) -> Rows:
    """Return a table in partitions of about `wanted` rows if it has more, else the table itself.

    `name` is that of the split: each has a sample of its own.
    """
    size = rows_of_partition(wanted, table.width)
    if table.rows <= size:
        return table
    sizes = Sizes.of(size, table.rows)
    cutter = Partitioning(sizes, sampling_stream(seed, name), PartInMemory)
    cutter.add(table)
    return cutter.finished()


def sampling_stream(seed: int, split: str) -> np.random.Generator:
    """Return the random numbers that choose the rows of a split that are sampled."""
    return random_stream(seed, "sample", split)


def stacked(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables, whose cells are stored alike, one after another."""
    if len(tables) == 1:
        return tables[0]
    blocks = [
        Block(first.columns, np.concatenate([t.blocks[i].cells for t in tables], axis=1))
        for i, first in enumerate(tables[0].blocks)
    ]
    return Table.of_blocks(blocks, np.concatenate([table.weights for table in tables]))


def as_stored(table: Table) -> Table:
    """Return the rows as a file gives them back, whose arrays lie in memory in one way only."""
    blocks = [Block(b.columns, np.ascontiguousarray(b.cells)) for b in table.blocks]
    return Table.of_blocks(blocks, np.ascontiguousarray(table.weights))


def tables_of(rows: Rows) -> Iterator[Table]:
    """Yield the table, or that of each partition in order."""
    if isinstance(rows, Table):
        yield rows
    else:
        yield from (part.table() for part in rows.parts)


def in_memory(rows: Rows) -> Table:
    """Return the rows, or the sample of them that is in memory."""
    return rows if isinstance(rows, Table) else rows.sample


def digest_of(table: Table) -> str:
    """Return a SHA-256 of all cells and weights, as they are stored."""
    sha = hashlib.sha256()
    for block in table.blocks:
        sha.update(f"{block.columns.tolist()} {block.cells.dtype} {block.cells.shape}\n".encode())
        for cells in block.cells:
            sha.update(np.ascontiguousarray(cells).tobytes())
    sha.update(np.ascontiguousarray(table.weights).tobytes())
    return sha.hexdigest()
