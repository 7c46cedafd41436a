"""What runs on the workers of a cluster: partitions, and what is summed over them.

Everything here is a plain function of its arguments, so that a result that was lost with a worker
can be computed again by another one, to the same bits. What is costly to make, such as an engine or
a laid out partition, is remembered by the process as long as its circuit or its table is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

import spnc
from spnc.backends import Backend, Engine
from spnc.cluster.carried import Carried
from spnc.data.file_shards import Stamp
from spnc.data.parted import Part
from spnc.data.piles import PileWork
from spnc.data.table import Table
from spnc.program.program import Parameters, Program

Found = TypeVar("Found")
Quantity = Literal["score", "expected_counts"]  # what a pass computes: methods of engines
# One pass at a time: engines have threads of their own.
_LOCK = Lock()
_BATCHES: WeakKeyDictionary[Table, dict[bool, tuple[Circuit, Any]]] = WeakKeyDictionary()


class OtherVersionError(Exception):
    """A worker has another version of spnc than the process that trains."""


class Circuit:
    """A program with its engine, which laid out rows belong to; in another process, another one."""

    def __init__(self, carried: Carried[tuple[Backend, Program]]) -> None:
        self._carried = carried

    def __reduce__(self) -> tuple[Any, ...]:
        return Circuit, (self._carried,)

    @cached_property
    def engine(self) -> Engine:
        """The engine, with as many threads as this worker may use."""
        backend, program = self._carried.opened()
        backend = _with_threads_of_worker(backend)
        backend.prepare(program, lambda *_: None)
        return backend.open(program)


def check_version(wanted: str) -> None:
    """Raise `OtherVersionError` if this process has another version of spnc."""
    if spnc.__version__ != wanted:
        raise OtherVersionError(f"a worker has spnc {spnc.__version__}, and not {wanted}")


def can_read(part: Part) -> bool:
    """Return whether this process can read the file of a partition."""
    path = getattr(part, "path", None)
    return path is not None and bool(path.is_file())


def can_see(files: Sequence[Stamp]) -> bool:
    """Return whether this process sees the same files as the one that trains."""
    return all(file.is_current for file in files)


def read_part(part: Part) -> Table:
    """Return the rows of a partition."""
    return part.table()


def unchanged(value: Any) -> Any:
    """Return a value that was sent to a worker."""
    return value


def passed(
    quantity: Quantity,
    version: str,
    circuit: Circuit,
    parameters: Parameters,
    once: bool,
    table: Table,
) -> Any:
    """Return a quantity of the rows of a partition: their score, or their expected counts."""
    check_version(version)
    with _LOCK:
        return getattr(circuit.engine, quantity)(parameters, _loaded(circuit, table, once))


def applied(version: str, work: Callable[..., Found], *arguments: Any) -> Found:
    """Return what some work returns, which is called with these arguments and nothing else."""
    check_version(version)
    with _LOCK:
        return work(*arguments)


def applied_to_pile(version: str, work: PileWork[Found], pile: Any, given: Any) -> Found:
    """Return what some work on a pile returns, computed with this worker's threads."""
    return applied(version, work, pile, given, _threads())


def _loaded(circuit: Circuit, table: Table, once: bool) -> Any:
    kept = _BATCHES.setdefault(table, {})
    if once not in kept or kept[once][0] is not circuit:
        kept[once] = (circuit, circuit.engine.load(table, once=once))
    return kept[once][1]


def _with_threads_of_worker(backend: Backend) -> Backend:
    """Return a backend with as many threads as this worker may use."""
    if getattr(backend, "threads", 1) is not None:
        return backend
    found: Backend = replace(backend, threads=_threads())  # type: ignore[type-var]
    return found


def _threads() -> int:
    """Return how many threads this worker may use."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)
