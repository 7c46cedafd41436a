"""Compare all systems on the same circuit and rows: do they agree, and how fast are they?

Every system has a process of its own for each circuit. First, agreement is checked on some of the
rows. Then the systems take turns and do each kind of work once per repeat, so that other processes
on the machine disturb all of them alike.

The kinds of work:

- `call`: what a user gets, `model.log_likelihood(rows)` or the peer's own call, from a NumPy array
  to a NumPy array;
- `pass`: a log-likelihood pass inside training, over rows that were prepared once. Peers prepare
  nothing, so their `pass` is their `call`;
- `em`: an EM iteration inside training, over prepared rows.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.flat_circuit import Flat
from benchmarks.common.steps import Steps
from benchmarks.peers.speed_protocol import Rows
from benchmarks.timing.workers import Asked, Contender, GoneError, Worker

WORKS = ("call", "pass", "em")
WORK_NAMES = {"call": "call", "pass": "log-likelihood pass", "em": "EM"}
CHECKED_ROWS = 500  # enough to see a difference, few enough for the slowest peer
FILL = 0.3  # seconds for which fast systems repeat their work, so that a clock can time it


@dataclass(frozen=True)
class Task:
    """A circuit and rows, with their names in the table."""

    data: str
    circuit: str
    flat: Flat
    rows: Rows
    checked_rows: int = CHECKED_ROWS


@dataclass
class Result:
    """What one system did on one task: seconds by work and repeat, and what went wrong."""

    contender: Contender
    task: Task
    seconds: dict[str, list[float]] = field(default_factory=lambda: {w: [] for w in WORKS})
    cores: dict[str, list[float]] = field(default_factory=lambda: {w: [] for w in WORKS})
    peak_mb: dict[str, float] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)  # of the checked rows, after each work
    unable: dict[str, str] = field(default_factory=dict)  # by work: why it was not done
    differs: dict[str, str] = field(default_factory=dict)  # by work: how its result differs
    about: dict[str, Any] = field(default_factory=dict)  # the worker's reply to `build`

    def record(self) -> dict[str, Any]:
        """Return everything that the page needs, as plain JSON."""
        kept = ("backend", "prepares", "prepared", "first_use", "distinct", "deviation")
        return {
            "system": self.contender.name,
            "version": self.about.get("version", self.contender.version),
            "is_peer": self.contender.is_peer,
            "data": self.task.data,
            "circuit": self.task.circuit,
            "rows": len(self.task.rows),
            "edges": self.task.flat.edges,
            "leaves": self.task.flat.distributions,
            **{key: self.about[key] for key in kept if key in self.about},
            "seconds": self.seconds,
            "cores": self.cores,
            "peak_mb": self.peak_mb,
            "checked_means": self.means,
            "differs": self.differs,
            "unable": self.unable,
        }


def compare(
    task: Task,
    contenders: Sequence[Contender],
    repeats: int,
    patience: float,
    steps: Steps,
    start: Callable[[Contender], Asked] = Worker,
) -> list[Result]:
    """Return the results of all systems; the first is the one that others are compared with.

    A system that does not reply within `patience` seconds is given up. `start` makes a worker: a
    process, except in tests.
    """
    where = f"{task.data} {task.circuit}"
    with tempfile.TemporaryDirectory() as folder:
        files = _written(task, Path(folder))
        steps.say(f"{where}: starting {len(contenders)} systems")
        seats = [_Seat(Result(contender, task), files, patience, start) for contender in contenders]
        results = [seat.result for seat in seats]
        try:
            for seat in seats:
                steps.say(f"{where}: {seat.result.contender.title}, agreement")
                seat.check()
            _agree(results)
            for repeat in range(repeats):
                for seat in seats:
                    title = seat.result.contender.title
                    steps.say(f"{where}: {title}, {repeat + 1} of {repeats}")
                    seat.measure()
        finally:
            for seat in seats:
                seat.worker.stop()
    return results


def _written(task: Task, folder: Path) -> dict[str, str]:
    """Write the files of the task: its circuit, all rows, some rows."""
    files = {name: str(folder / name) for name in ("circuit.npz", "rows.npy", "some.npy")}
    task.flat.save(Path(files["circuit.npz"]))
    np.save(files["rows.npy"], task.rows)
    np.save(files["some.npy"], task.rows[: task.checked_rows])
    return files


class _Seat:
    """A system that takes part: its process, and its result so far."""

    def __init__(
        self,
        result: Result,
        files: dict[str, str],
        patience: float,
        start: Callable[[Contender], Asked],
    ) -> None:
        self.result, self.files, self.patience, self.start = result, files, patience, start
        self.worker = start(result.contender)

    def check(self) -> None:
        """Compute the means of some rows, then load all rows."""
        if not self._build("some.npy"):
            return
        for work in self._asked():
            found = self._ask((work,), do=work, fill=0.0, score=True)
            if found is not None:
                self.result.means[work] = found["mean"]
        self._build("rows.npy")

    def measure(self) -> None:
        """Time each kind of work once more."""
        for work in self._left():
            if work not in self._asked():
                self._copy_call(work)
                continue
            found = self._ask((work,), do=work, fill=FILL, score=False)
            if found is not None:
                self.result.seconds[work].append(found["seconds"])
                self.result.cores[work].append(found["cores"])
                # Only the first one counts: EM comes after it and takes more.
                self.result.peak_mb.setdefault(work, found["peak_mb"])

    def _asked(self) -> list[str]:
        """Return the kinds of work that the worker is asked for: without preparation, no pass."""
        return [work for work in WORKS if work != "pass" or self.result.about.get("prepares")]

    def _copy_call(self, work: str) -> None:
        result = self.result
        if "call" in result.unable:
            result.unable[work] = result.unable["call"]
            return
        result.seconds[work].append(result.seconds["call"][-1])
        result.cores[work].append(result.cores["call"][-1])
        result.peak_mb.setdefault(work, result.peak_mb["call"])

    def _left(self) -> list[str]:
        return [work for work in WORKS if work not in self.result.unable]

    def _build(self, rows: str) -> bool:
        left = self._left()
        files = {"circuit": self.files["circuit.npz"], "rows": self.files[rows]}
        told = self._ask(left, do="build", **files) if left else None
        if told is not None:
            self.result.about = told
        return told is not None

    def _ask(self, works: Sequence[str], **command: Any) -> dict[str, Any] | None:
        """Return the reply, or None after noting why these kinds of work cannot be done."""
        try:
            answer = self.worker.ask(self.patience, **command)
        except GoneError as gone:
            answer = {"error": str(gone)}
            self._replace(works)
        if "error" not in answer:
            return answer
        for work in works:
            self.result.unable.setdefault(work, answer["error"])
        return None

    def _replace(self, works: Sequence[str]) -> None:
        """Start a new process for the kinds of work that the last one did not fail at."""
        left = [work for work in self._left() if work not in works]
        if not left:
            return
        self.worker.stop()
        self.worker = self.start(self.result.contender)
        files = {"circuit": self.files["circuit.npz"], "rows": self.files["rows.npy"]}
        try:
            problem = self.worker.ask(self.patience, do="build", **files).get("error")
        except GoneError as gone:
            problem = str(gone)
        if problem is not None:
            self.result.unable |= dict.fromkeys(left, problem)


def _agree(results: Sequence[Result]) -> None:
    """Note which means, before and after one EM iteration, differ from the first system's."""
    for result in results:
        for work, mean in result.means.items():
            wanted = next(other.means[work] for other in results if work in other.means)
            tolerance = result.about["tolerance"]["em" if work == "em" else "loglik"]
            if math.isclose(mean, wanted, rel_tol=tolerance):
                continue
            after = "after one EM iteration" if work == "em" else "before training"
            result.differs[work] = f"mean log-likelihood {after} {mean:.6f}, not {wanted:.6f}"
        before, later = result.means.get("call"), result.means.get("em")
        if before is not None and later is not None and not later >= before:
            result.differs.setdefault("em", f"EM went from {before:.6f} to {later:.6f}")
        # A call reads the rows by itself; a pass has them as training prepares them.
        prepared = result.means.get("pass", before)
        if before is None or prepared is None:
            continue
        if not math.isclose(before, prepared, rel_tol=result.about["tolerance"]["loglik"]):
            told = f"mean log-likelihood of a call {before:.6f}, and of a pass {prepared:.6f}"
            result.differs.setdefault("call", told)
