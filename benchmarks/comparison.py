"""All systems on the same circuit and rows: do they agree, and how fast are they?

Every system has a process of its own for each circuit. Agreement is looked at first, on some of the
rows. Then the systems take turns, one log-likelihood pass and one EM iteration each per repeat, so
that whatever else the machine does meets all of them alike.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.circuits import Flat
from benchmarks.peers.speed_protocol import Rows
from benchmarks.steps import Steps
from benchmarks.workers import Asked, Contender, GoneError, Worker

WORKS = ("loglik", "em")
CHECKED_ROWS = 500
FILL = 0.3  # fast systems repeat their work for so many seconds


@dataclass(frozen=True)
class Task:
    """A circuit and rows, by the names they have in the table."""

    data: str
    circuit: str
    flat: Flat
    rows: Rows


@dataclass
class Result:
    """What one system did on one task: seconds by work and repeat, and what was wrong."""

    contender: Contender
    task: Task
    seconds: dict[str, list[float]] = field(default_factory=lambda: {w: [] for w in WORKS})
    cores: dict[str, list[float]] = field(default_factory=lambda: {w: [] for w in WORKS})
    peak_mb: dict[str, float] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)  # of the checked rows, after each work
    unable: dict[str, str] = field(default_factory=dict)  # by work: why it was not done
    differs: dict[str, str] = field(default_factory=dict)  # by work: how its answer is another
    about: dict[str, Any] = field(default_factory=dict)  # what the worker said of itself

    def row_edges_per_second(self, work: str) -> float | None:
        """All rows times all edges by the median time; None if it was not done."""
        times = self.seconds[work]
        if not times:
            return None
        return len(self.task.rows) * self.task.flat.edges / float(np.median(times))

    def ratios(self, other: Result, work: str) -> list[float]:
        """How many times longer the other took, repeat by repeat."""
        pairs = zip(self.seconds[work], other.seconds[work], strict=False)
        return [theirs / ours for ours, theirs in pairs]


def compare(
    task: Task,
    contenders: Sequence[Contender],
    repeats: int,
    patience: float,
    steps: Steps,
    start: Callable[[Contender], Asked] = Worker,
) -> list[Result]:
    """The results of all systems; the first is the one the others are held against.

    `patience`: after so many seconds without an answer a system is given up. `start` makes what
    is asked: a process, but for tests.
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
    """The files of the task: its circuit, all rows, some rows."""
    files = {name: str(folder / name) for name in ("circuit.npz", "rows.npy", "some.npy")}
    task.flat.save(Path(files["circuit.npz"]))
    np.save(files["rows.npy"], task.rows)
    np.save(files["some.npy"], task.rows[:CHECKED_ROWS])
    return files


class _Seat:
    """A system taking part: its process, and what came of it so far."""

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
        """The means of some rows; then all rows are loaded."""
        if not self._build("some.npy"):
            return
        for work in WORKS:
            found = self._ask((work,), do=work, fill=0.0, score=True)
            if found is not None:
                self.result.means[work] = found["mean"]
        self._build("rows.npy")

    def measure(self) -> None:
        """One more time of each kind of work that can be done."""
        for work in self._left():
            found = self._ask((work,), do=work, fill=FILL, score=False)
            if found is not None:
                self.result.seconds[work].append(found["seconds"])
                self.result.cores[work].append(found["cores"])
                # The first is the one that counts: EM comes after it, and takes more.
                self.result.peak_mb.setdefault(work, found["peak_mb"])

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
        """The answer, or None after noting why these kinds of work cannot be done."""
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
        """A new process, for the kinds of work that the last one did not break down at."""
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
    """Note whose means, before and after one EM iteration, are not those of the others."""
    for result in results:
        for work, mean in result.means.items():
            wanted = next(other.means[work] for other in results if work in other.means)
            if math.isclose(mean, wanted, rel_tol=result.about["tolerance"][work]):
                continue
            after = "after one EM iteration" if work == "em" else "before training"
            result.differs[work] = f"mean log-likelihood {after} {mean:.6f}, not {wanted:.6f}"
        before, later = result.means.get("loglik"), result.means.get("em")
        if before is not None and later is not None and not later >= before:
            result.differs.setdefault("em", f"EM went from {before:.6f} to {later:.6f}")
