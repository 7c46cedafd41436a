"""Holding a training to its limits: the stages are timed, the memory is watched.

What cannot be kept to a limit ends with a diagnostic: E408 if the time is used up before there is a
model, E409 if the memory is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from spnc.common.budget import Budget
from spnc.common.deadline import OutOfTimeError
from spnc.common.memory import MemoryLimit
from spnc.common.observer import Observer, Relay, Stage, title_of
from spnc.common.quantities import size_text
from spnc.common.wording import duration
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.program.program import Parameters
from spnc.runs.log_file import Log
from spnc.runs.metrics import Metrics
from spnc.spec.limits import Limits

CODE_WIDTH = 2  # bytes of a cell, as engines lay out rows for many passes
ROW_WIDTH = 48  # bytes of a row besides: weight, order, log-likelihoods, bounds
PARAMETER_COPIES = 6  # present, next and best parameters, counts, and an optimiser's memory
_LESS = {  # what takes less memory, by the stage that took too much
    Stage.DATA: "fewer rows or columns",
    Stage.STRUCTURE: "fewer or smaller components in the `forest`, or fewer rows",
    Stage.LINKS: "fewer links or a smaller `forest`",
    Stage.LOWERING: "fewer or smaller components in the `forest`",
}


class Watch(Relay):
    """Passes everything on, times the stages and watches the memory."""

    def __init__(self, display: Observer, log: Log | None, memory: MemoryLimit) -> None:
        super().__init__(*([display] if log is None else [log, display]))
        self.memory, self.log = memory, log
        self.seconds: dict[str, float] = {}  # by stage, in the order in which they began
        self.current: Stage | str | None = None
        self._began = time.monotonic()

    def stage(self, stage: Stage | str) -> None:
        """Time the stage that ends, and look at the memory."""
        self.end_stage()
        self.current = stage
        self.memory.check(now=True)
        super().stage(stage)

    def finished(self, metrics: Metrics) -> None:
        """Let the log say how well the splits are explained."""
        if self.log is not None:
            scores = {name: split.avg_ll for name, split in metrics.splits.items()}
            fit = metrics.optimizer
            self.log.write("end", outcome="finished", stopped=fit.stopped, scores=scores)

    def end_stage(self) -> None:
        """Add the time of the current stage to those before."""
        now = time.monotonic()
        if self.current is not None:
            title = title_of(self.current)
            self.seconds[title] = self.seconds.get(title, 0.0) + now - self._began
        self._began = now

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Look at the memory, if the last look was not only just."""
        self.memory.check()
        super().progress(label, done, total)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Look at the memory, if the last look was not only just."""
        self.memory.check()
        super().iteration(number, train, valid, is_best)


@contextmanager
def watched(
    display: Observer, log: Log | None, limits: Limits | None, budget: Budget, sink: Sink
) -> Iterator[Watch]:
    """Hold the training inside to its limits; stop with a diagnostic where that fails.

    Yield who observes it, for a display and a log.
    """
    memory = MemoryLimit(limits.memory if limits is not None else None)
    watch = Watch(display, log, memory)
    try:
        with memory.enforced():
            yield watch
    except OutOfTimeError:
        watch.end_stage()
        _report_time(watch, budget, sink)
    except MemoryError as error:
        _report_memory(watch, limits, str(error), sink)
    sink.stop()


def expect_training(limits: Limits | None, parameters: Parameters, dataset: Dataset) -> None:
    """Raise `MemoryLimitError` if training is sure to take more memory than it may."""
    if limits is None or limits.memory is None:
        return
    tables = [dataset.distinct[name] for name in ("train", "valid") if name in dataset.splits]
    rows = sum(table.rows for table in tables)
    size = rows * (CODE_WIDTH * len(dataset.columns) + ROW_WIDTH)
    arrays = (parameters.weights, *parameters.tables)
    size += PARAMETER_COPIES * sum(array.nbytes for array in arrays)
    what = f"training on {rows:,} different rows of {len(dataset.columns):,} columns"
    MemoryLimit(limits.memory).expect(size, what)


def _report_time(watch: Watch, budget: Budget, sink: Sink) -> None:
    notes = [f"{title} took {duration(seconds)}" for title, seconds in watch.seconds.items()]
    if budget.before > 0.0:
        notes.insert(0, f"earlier processes of this run took {duration(budget.before)}")
    sink.error(
        "E408",
        f"the time limit of {duration(budget.seconds)} was reached before there was a model",
        notes=notes,
        help="give more time with `limits: {time: …}` or --budget; with --resume, what the run "
        "has kept is used",
    )


def _report_memory(watch: Watch, limits: Limits | None, reason: str, sink: Sink) -> None:
    most = limits.memory if limits is not None else None
    message = "there is not enough memory to go on"
    if most is not None:
        message = f"training needs more memory than its limit of {size_text(most)}"
    stage = watch.current
    less = _LESS.get(stage) if isinstance(stage, Stage) else None
    raising = "raise `limits: {memory: …}`, or " if most is not None else ""
    sink.error(
        "E409",
        message,
        limits.span_of("memory") if limits is not None else None,
        notes=[
            *([f"while {title_of(stage)}"] if stage is not None else []),
            *([reason[0].lower() + reason[1:]] if reason else []),
        ],
        help=f"{raising}train with {less or 'a smaller circuit or fewer rows'}",
    )
