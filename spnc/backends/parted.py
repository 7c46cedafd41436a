"""`PartedEngine`: passes over tables in partitions, summed in a fixed order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from operator import add
from typing import Any, Protocol, TypeVar

from spnc.backends import Backend, Engine
from spnc.common.arrays import Floats, Ints
from spnc.common.memory import resident, room
from spnc.common.threads import in_threads
from spnc.common.tree_sum import TreeSum
from spnc.data.parted import PartedTable, Rows
from spnc.data.piles import Piles
from spnc.data.table import Table
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

Found = TypeVar("Found")
# What has to be left when a partition stays loaded, in its sizes: for the next one, and for the
# arrays that laying it out takes for a while.
_LEFT = 3


def open_engine(backend: Backend, program: Program) -> PartedEngine:
    """Return an engine for passes over tables, whether in memory or in partitions."""
    return PartedEngine(backend, backend.open(program))


def added_counts(one: Counts, other: Counts) -> Counts:
    """Return the counts of both sets of rows together."""
    tables = tuple(a + b for a, b in zip(one.tables, other.tables, strict=True))
    return Counts(one.weights + other.weights, tables, one.score + other.score)


def score_of(backend: Backend, engine: Engine, parameters: Parameters, rows: Rows) -> Score:
    """Return how well rows are explained, in a single pass over them."""
    whole = PartedEngine(backend, engine)
    return whole.score(parameters, whole.load(rows, once=True))


class SummedBatch(ABC):
    """Loaded partitions: what is summed over them."""

    @abstractmethod
    def score(self, parameters: Parameters) -> Score:
        """Return how well all rows are explained."""

    @abstractmethod
    def expected_counts(self, parameters: Parameters) -> Counts:
        """Return the expected counts of all rows, and their score."""


class RemotePasses(Protocol):
    """Computes passes and other sums over the partitions of a table in other processes."""

    def load(self, backend: Backend, program: Program, *, once: bool) -> SummedBatch:
        """Return the partitions, ready for passes."""
        ...

    def sum(self, work: Callable[[Table], Found], plus: Callable[[Found, Found], Found]) -> Found:
        """Return the sum of what `work` returns for each partition, as `PartedTable.sum` does."""
        ...

    def piles(self, check: Callable[[], None]) -> Piles:
        """Return piles for the rows of the partitions; `check` may raise to end the work."""
        ...


class PartedEngine:
    """An engine that loads tables in partitions as well; everything else is the inner engine's."""

    def __init__(self, backend: Backend, engine: Engine) -> None:
        self.backend, self.engine = backend, engine
        self.program = engine.program

    @property
    def planning(self) -> float:
        """Seconds that the engine has planned for, if it plans, in this process."""
        found: float = getattr(self.engine, "planning", 0.0)
        return found

    def load(self, table: Rows, *, once: bool = False) -> Any:
        """Lay out rows; partitions are laid out when they are first computed."""
        if isinstance(table, PartedTable):
            if table.passes is not None:
                passes: RemotePasses = table.passes
                return passes.load(self.backend, self.program, once=once)
            return PartedBatch(self.engine, table, once)
        return self.engine.load(table, once=once)

    def log_likelihood(self, parameters: Parameters, batch: Any) -> Floats:
        """Return log p(row) for every row. Not for tables in partitions, which are only summed."""
        return self.engine.log_likelihood(parameters, batch)

    def score(self, parameters: Parameters, batch: Any) -> Score:
        """Return how well the rows are explained."""
        if isinstance(batch, SummedBatch):
            return batch.score(parameters)
        return self.engine.score(parameters, batch)

    def expected_counts(self, parameters: Parameters, batch: Any) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        if isinstance(batch, SummedBatch):
            return batch.expected_counts(parameters)
        return self.engine.expected_counts(parameters, batch)

    def node_values(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the likelihood ratios of these nodes, `[node, row]`."""
        return self.engine.node_values(parameters, table, nodes)

    def node_values_and_flows(
        self, parameters: Parameters, table: Table, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of these nodes, and the flows through them."""
        return self.engine.node_values_and_flows(parameters, table, nodes)

    def node_flows(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the flows through these nodes, `[node, row]`."""
        return self.engine.node_flows(parameters, table, nodes)


@dataclass(eq=False)
class PartedBatch(SummedBatch):
    """Partitions loaded for an engine: as many stay loaded as memory has room for.

    The others wait on disk, if the engine knows how; otherwise they are loaded anew for every pass.
    """

    engine: Engine
    table: PartedTable
    once: bool
    _kept: dict[int, Any] = field(default_factory=dict)
    _waiting: dict[int, Any] = field(default_factory=dict)
    _is_full: bool = False
    _size: int | None = None  # the bytes of a partition

    def score(self, parameters: Parameters) -> Score:
        """Return how well all rows are explained."""
        total: TreeSum[Score] = TreeSum(add)
        for score in self._each(lambda own: self.engine.score(parameters, own)):
            total.append(score)
        return total.total()

    def expected_counts(self, parameters: Parameters) -> Counts:
        """Return the expected counts of all rows, and their score."""
        total: TreeSum[Counts] = TreeSum(added_counts)
        for counts in self._each(lambda own: self.engine.expected_counts(parameters, own)):
            total.append(counts)
        return total.total()

    def _each(self, work: Callable[[Any], Found]) -> Iterator[Found]:
        """Yield what some work on each loaded partition returns, in order."""
        number, count = 0, len(self.table.parts)
        while number < count:
            if number in self._kept:
                yield work(self._kept[number])
                number += 1
            elif number in self._waiting:
                yield work(self._waiting[number].restored())
                number += 1
            else:
                some = range(number, min(number + self._at_once(), count))
                yield from self._first_pass(some, work)
                number = some.stop

    def _first_pass(self, some: range, work: Callable[[Any], Found]) -> list[Found]:
        """Load partitions that follow one another, at the same time; return the work on each."""
        before = resident() or 0
        batches = in_threads(self._loaded, some, len(some))
        found = [work(batch) for batch in batches]
        if not self.once:
            self._size = max(0, (resident() or 0) - before) // len(some)
            for number, batch in zip(some, batches, strict=True):
                self._keep(number, batch)
        return found

    def _loaded(self, number: int) -> Any:
        return self.engine.load(self.table.parts[number].table(), once=self.once)

    def _at_once(self) -> int:
        """Return how many partitions are loaded at a time: one, until their size is known."""
        if self._size is None:
            return 1
        most = getattr(self.engine, "loads_at_once", 1)
        return max(1, min(most, room() // max(1, _LEFT * self._size)))

    def _keep(self, number: int, batch: Any) -> None:
        """Keep a partition loaded, or let it wait on disk."""
        assert self._size is not None
        self._is_full = self._is_full or room() < _LEFT * self._size
        if not self._is_full:
            self._kept[number] = batch
            return
        spill = getattr(self.engine, "spilled", None)
        if spill is not None:
            with suppress(OSError):  # no space: it is loaded anew
                self._waiting[number] = spill(batch)
