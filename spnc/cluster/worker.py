"""What runs on the workers of a cluster: partitions, and passes over them.

Everything here is a plain function of its arguments, so that a result that was lost with a worker
can be computed again by another one, to the same bits. What is costly to make, such as an engine or
a laid out partition, is remembered by the process as long as its table or its program is there.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any, Literal
from weakref import WeakKeyDictionary

import spnc
from spnc.backends import Backend, Engine
from spnc.data.parted import Part
from spnc.data.table import Table
from spnc.program.program import Parameters, Program

Quantity = Literal["score", "expected_counts"]  # what a pass computes: methods of engines
# One pass at a time: engines have threads of their own.
_LOCK = Lock()
_ENGINES: WeakKeyDictionary[Program, Engine] = WeakKeyDictionary()
_BATCHES: WeakKeyDictionary[Table, dict[bool, tuple[Program, Any]]] = WeakKeyDictionary()


class OtherVersionError(Exception):
    """A worker has another version of spnc than the process that trains."""


def check_version(wanted: str) -> None:
    """Raise `OtherVersionError` if this process has another version of spnc."""
    if spnc.__version__ != wanted:
        raise OtherVersionError(f"a worker has spnc {spnc.__version__}, and not {wanted}")


def can_read(part: Part) -> bool:
    """Return whether this process can read the file of a partition."""
    path = getattr(part, "path", None)
    return path is not None and bool(path.is_file())


def read_part(part: Part) -> Table:
    """Return the rows of a partition."""
    return part.table()


def passed(
    quantity: Quantity,
    version: str,
    backend: Backend,
    program: Program,
    parameters: Parameters,
    table: Table,
    once: bool,
) -> Any:
    """Return a quantity of the rows of a partition: their score, or their expected counts."""
    check_version(version)
    with _LOCK:
        engine, batch = _loaded(backend, program, table, once)
        return getattr(engine, quantity)(parameters, batch)


def _loaded(backend: Backend, program: Program, table: Table, once: bool) -> tuple[Engine, Any]:
    engine = _ENGINES.get(program)
    if engine is None:
        backend = _with_threads_of_worker(backend)
        backend.prepare(program, lambda *_: None)
        engine = _ENGINES[program] = backend.open(program)
    kept = _BATCHES.setdefault(table, {})
    if once not in kept or kept[once][0] is not program:
        kept[once] = (program, engine.load(table, once=once))
    return engine, kept[once][1]


def _with_threads_of_worker(backend: Backend) -> Backend:
    """Return a backend with as many threads as this worker may use."""
    if getattr(backend, "threads", 1) is not None:
        return backend
    from distributed import get_worker

    found: Backend = replace(backend, threads=get_worker().state.nthreads)  # type: ignore[type-var]
    return found
