"""Mini-batches of all rows of a table in partitions.

As for rows in memory, each epoch takes every original row once, in a random order. The order is
drawn in blocks of many steps. From each run of neighbouring rows a block takes a share that is
proportional to what is left of the run, in a random order of the run, and deals them out to its
steps at random. So partitions of a sorted table bias no step. One pass over the partitions collects
the rows of a block; the steps themselves read no partition.

The rows of a large batch are divided into chunks, whose gradients are added in a fixed order. A
chunk of every step of the block is one pile (`spnc.data.piles`), which a worker of a cluster may
hold. The number of chunks depends on the settings and the tree alone, never on who computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.common.rng import random_stream
from spnc.common.savepoints import Piece
from spnc.common.threads import ThreadTeam, even_bounds, thread_count
from spnc.data.parted import PartedTable
from spnc.data.piles import Hand, Pick, Piles, piles_of
from spnc.data.table import Cells, Table
from spnc.learners.continuous_mixture.batches import rows_at
from spnc.learners.continuous_mixture.decoder import Decoder
from spnc.learners.continuous_mixture.imputation import Imputation
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.number_leaves import Floats32, RowCells
from spnc.learners.continuous_mixture.objective import Gradient, Objective, quiet
from spnc.learners.support.clustering import thread_pools

BLOCK_CELLS = 1 << 26  # of a block at most: 64 MB, half of what one may have in codes
RUN_ROWS = 1 << 20  # original rows that are put in order at once; bounds memory
# A chunk has at least this many rows: decoding all points, which each chunk does again, takes as
# long as 400 rows (1,024 points, 100 binary columns, a decoder of the default size).
CHUNK_ROWS = 512
# And this many products of rows, points and statistics, which take about 25 ms on a core; a worker
# of a cluster takes up to 10 ms to answer.
CHUNK_PRODUCTS = 1 << 29


@dataclass(frozen=True, eq=False)
class DealtRows:
    """The rows that batches are drawn from: all rows of a table in partitions, completed."""

    table: PartedTable
    imputation: Imputation
    check: Callable[[], None] = lambda: None  # called before a partition is read; may raise

    def piles(self) -> Piles:
        """Return piles for these rows."""
        return piles_of(self.table, self.check)

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of all partitions, in order."""
        return [
            Run(part, start, min(RUN_ROWS, count - start))
            for part, count in enumerate(self.piles().of_parts(original_rows))
            for start in range(0, count, RUN_ROWS)
        ]


class Run(NamedTuple):
    """Neighbouring original rows of a partition, in which a distinct row occurs by its weight."""

    part: int
    start: int
    rows: int


class _Share(NamedTuple):
    """What a block takes of a run: rows of its order from `first` on, for these places."""

    number: int
    run: Run
    first: int
    places: NDArray[np.int32]


def original_rows(table: Table) -> int:
    """Return how many rows a partition had before equal ones were merged; at least one."""
    return max(1, round(float(np.cumsum(table.weights)[-1])))


@dataclass(frozen=True, eq=False)
class _Block:
    """The steps that one pass over the partitions collects rows for."""

    epoch: int
    steps: int
    taken: list[int]  # rows of each run


@dataclass(frozen=True, eq=False)
class _BlockPick:
    """Returns the rows of a partition for the piles of a block; a function of its fields."""

    seed: int
    epoch: int
    shares: list[_Share]  # of the partition's runs
    bounds: list[int]  # of the chunks of a batch
    imputation: Imputation

    def __call__(self, table: Table) -> list[Hand]:
        ends = np.cumsum(table.weights)
        count = original_rows(table)
        with thread_pools().limit(limits=1), quiet():
            cells = [self._cells(share, table, ends, count) for share in self.shares]
        places = np.concatenate([share.places for share in self.shares])
        steps, within = np.divmod(places.astype(np.int64), self.bounds[-1])
        return self._hands(np.concatenate(cells), steps, within)

    def _cells(self, share: _Share, table: Table, ends: Floats, count: int) -> Cells:
        labels = self.epoch, share.number
        order = random_stream(self.seed, "rows of a run", *labels).permutation(share.run.rows)
        chosen = order[share.first : share.first + len(share.places)] + share.run.start
        rng = random_stream(self.seed, "missing cells", *labels, share.first)
        return self.imputation.cells(table, rows_at(chosen, ends, count), rng)

    def _hands(
        self, cells: Cells, steps: NDArray[np.int64], within: NDArray[np.int64]
    ) -> list[Hand]:
        found = []
        for begin, end in pairwise(self.bounds):
            own = (begin <= within) & (within < end)
            places = steps[own] * (end - begin) + within[own] - begin
            found.append(Hand(places, cells[own]))
        return found


class _Given(NamedTuple):
    """What the gradient of a chunk depends on besides its rows."""

    step: int  # within the block
    steps: int  # of the block
    batch: int  # rows of the whole batch
    decoder: Decoder
    points: Floats32
    log_weights: Floats32


@dataclass(eq=False)
class ChunkGradient:
    """Computes what a chunk adds to the gradient of a batch's mean log-likelihood."""

    tree: LogLinearTree
    objective: Objective | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has threads of its own.
        return ChunkGradient, (self.tree,)

    def __call__(self, pile: Cells, given: _Given, threads: int | None) -> Gradient:
        """Return the gradient of the rows that a pile has for a step."""
        if self.objective is None:
            self.objective = Objective(self.tree, ThreadTeam(thread_count(threads)))
        size = len(pile) // given.steps
        cells, times = merged(pile[given.step * size : (given.step + 1) * size])
        weights = (times / given.batch).astype(np.float32)
        # Products of matrices round differently for another layout, which may not survive pickling.
        points = np.ascontiguousarray(given.points)
        with thread_pools().limit(limits=1), quiet():
            return self.objective.gradient(given.decoder, points, given.log_weights, cells, weights)


def merged(cells: Cells) -> tuple[RowCells, NDArray[np.int64]]:
    """Return the distinct rows, and how often each occurs."""
    rows = np.ascontiguousarray(cells).view(f"V{cells.shape[1] * cells.itemsize}")[:, 0]
    _, first, times = np.unique(rows, return_index=True, return_counts=True)
    return cells[first].astype(np.float64 if cells.dtype.kind == "f" else np.int32), times


def added(one: Gradient, other: Gradient) -> Gradient:
    """Return the sum of two gradients, which stay as they are."""
    arrays = [a + b for a, b in zip(one.arrays, other.arrays, strict=True)]
    return Gradient(arrays, one.points + other.points, one.shares + other.shares)


class DealtBatches:
    """Gradients of mini-batches that are dealt out from all partitions, for ever."""

    def __init__(
        self,
        rows: DealtRows,
        tree: LogLinearTree,
        points: int,
        size: int,
        steps: int,
        rng: np.random.Generator,
    ) -> None:
        """`size` is the rows of a batch, `steps` how many batches are expected."""
        self._rows, self._tree, self._seed = rows, tree, int(rng.integers(1 << 62))
        self._left = [run.rows for run in rows.runs]  # rows of each run, in this epoch
        self._size = min(size, sum(self._left))
        statistics = tree.statistics_count + tree.numbers.statistics_count
        least = max(CHUNK_ROWS, CHUNK_PRODUCTS // (points * statistics))
        self._bounds = even_bounds(self._size, max(1, self._size // least))
        bytes_of_row = len(tree.states)  # in doubles, if there are columns of numbers
        if tree.numbers:
            bytes_of_row = 8 * (len(tree.states) + len(tree.numbers.columns))
        most = max(1, BLOCK_CELLS // (self._size * bytes_of_row))
        blocks = -(-max(1, steps) // most)
        self._block_steps = -(-max(1, steps) // blocks)
        self._epoch, self._done = 0, 0  # steps of the present block
        self._piles = rows.piles()
        self._block: _Block | None = None
        self._work: ChunkGradient | None = None

    @property
    def chunks(self) -> int:
        """The number of chunks that a batch is divided into."""
        return len(self._bounds) - 1

    def gradient(
        self, objective: Objective, decoder: Decoder, points: Floats32, log_weights: Floats32
    ) -> Gradient:
        """Return the gradient of the next batch's mean log-likelihood."""
        if self._block is None:
            self._block = self._next_block()
            self._deal(self._block)
        if self._work is None or self._work.objective is not objective:
            self._work = ChunkGradient(self._tree, objective)
        block = self._block
        given = _Given(self._done, block.steps, self._size, decoder, points, log_weights)
        found = self._piles.sum(self._work, given, added)
        self._done += 1
        if self._done == block.steps:
            self._left = [n - taken for n, taken in zip(self._left, block.taken, strict=True)]
            self._epoch, self._done, self._block = block.epoch, 0, None
        return found

    def stored(self) -> Piece:
        """Return how far the epoch has come: up to the present block, and steps of that."""
        about = {"epoch": self._epoch, "taken": self._done}
        return Piece(about, {"left": np.array(self._left, dtype=np.int64)})

    def take_up(self, piece: Piece) -> None:
        """Continue in the middle of an epoch.

        Raises LookupError, TypeError or ValueError if it is not one of these rows.
        """
        epoch, done = piece.about["epoch"], piece.about["taken"]
        left = piece.arrays["left"]
        most = np.array([run.rows for run in self._rows.runs], dtype=np.int64)
        if (left.shape, left.dtype) != (most.shape, most.dtype):
            raise ValueError("its epoch is not one of this table")
        if not ((left >= 0) & (left <= most)).all():
            raise ValueError("its epoch is not one of these rows")
        if not (type(epoch) is type(done) is int and epoch >= 0):
            raise ValueError("its epoch is not a number")
        self._epoch, self._left, self._block = epoch, left.tolist(), None
        if not 0 <= done < self._next_block().steps:
            raise ValueError("its step is not one of its block")
        self._done = done

    def _next_block(self) -> _Block:
        """Return the block after the rows that are taken, in a new epoch if few are left."""
        epoch, left = self._epoch, self._left
        if sum(left) < self._size:
            epoch, left = epoch + 1, [run.rows for run in self._rows.runs]
            self._epoch, self._left = epoch, left
        steps = min(self._block_steps, sum(left) // self._size)
        rng = random_stream(self._seed, "shares of runs", epoch, sum(left))
        return _Block(epoch, steps, shares(left, steps * self._size, rng))

    def _deal(self, block: _Block) -> None:
        """Collect the rows of a block."""
        labels = "places in a block", block.epoch, sum(self._left)
        places = random_stream(self._seed, *labels).permutation(block.steps * self._size)
        runs, ends = self._rows.runs, np.cumsum([0, *block.taken])
        by_part: list[list[_Share]] = [[] for _ in self._rows.table.parts]
        for number, (run, taken) in enumerate(zip(runs, block.taken, strict=True)):
            if taken:
                own = places[ends[number] : ends[number + 1]].astype(np.int32)
                first = run.rows - self._left[number]
                by_part[run.part].append(_Share(number, run, first, own))
        imputation = self._rows.imputation
        picks: list[Pick | None] = [
            _BlockPick(self._seed, block.epoch, own, self._bounds, imputation) if own else None
            for own in by_part
        ]
        sizes = [block.steps * (end - begin) for begin, end in pairwise(self._bounds)]
        self._piles.deal(picks, sizes)


def shares(left: Sequence[int], wanted: int, rng: np.random.Generator) -> list[int]:
    """Return how many of the `wanted` rows come from each run, by how many it has left.

    The share is the exact proportion, rounded up or down at random so that it is right on average.
    """
    total, before, found = sum(left), 0, []
    begin = int(rng.integers(total))
    last = begin // total
    for rows in left:
        before += rows
        here = (wanted * before + begin) // total
        found.append(here - last)
        last = here
    return found
