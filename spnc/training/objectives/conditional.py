"""The conditional objective: fit the parameters to predict some columns from the others.

The parameters that the optimiser found are moved to maximise the log-likelihood of the target
given the other cells, summed over the training rows, minus a penalty that keeps them near the
generative solution (`spnc.training.anchor`). The gradient is exact: the expected counts of whole
rows minus those of the rows without their target, in coordinates without bounds
(`spnc.training.coordinates`). Steps are those of Adam on mini-batches, with a step size that falls
along a cosine to zero. After every pass over the mini-batches the parameters are judged on the
validation rows by the same conditional log-likelihood. The best are kept, and the generative
solution is the first candidate: the result is never worse there.

Why Adam and not L-BFGS: docs/decisions/0043-objectives-follow-the-optimizer.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import add
from typing import ClassVar, Self

import numpy as np

from spnc.backends import Engine
from spnc.common.rng import random_stream
from spnc.common.tree_sum import TreeSum
from spnc.data.dataset import Dataset
from spnc.data.parted import Rows, in_memory, tables_of
from spnc.data.table import Table
from spnc.data.targets import report_unknown_targets, target_conflicts
from spnc.diagnostics import Sink
from spnc.program.program import Parameters
from spnc.program.score import Score
from spnc.registry import OBJECTIVES, Conflict, Options, option
from spnc.training import OUT_OF_TIME, FitResult, FitTask, Memory, Record, State
from spnc.training.adam import adam_direction
from spnc.training.anchor import Anchor
from spnc.training.batches import in_parts
from spnc.training.conditional_rows import ConditionalRows, hide_at_random, with_target
from spnc.training.coordinates import Coordinates
from spnc.training.loop import first_state

HIDDEN_COPIES = 3  # with `hide`, the copies of a mini-batch that it is visited in, besides itself
# How far a coordinate of a numeric leaf may move: e^30 standard deviations are out of all scale,
# and exponentials stay finite.
_FARTHEST = 30.0


@OBJECTIVES.register("conditional")
@dataclass(frozen=True, kw_only=True)
class Conditional(Options):
    """The likelihood of the target given the other cells; what the optimizer found is a prior."""

    refines: ClassVar[bool] = True

    target: tuple[str, ...] = option(doc="the column to predict, or a list of them")
    prior: float = option(
        0.03,
        "how strongly parameters are held near those that the optimizer found; with 1, as much as "
        "all training rows together do",
        min=0,
    )
    hide: float = option(
        0.0,
        "the share of the other cells that is hidden at random in most visits to a row, to learn "
        "to predict from incomplete rows; 0: none",
        min=0,
        below=1,
    )
    max_iterations: int = option(40, "how many passes over the training rows at most", min=0)
    last_iteration: int | None = option(
        None,
        "end after this many passes, with the step sizes of `max_iterations`; written by spnc when "
        "a time limit ended training",
        min=0,
    )
    patience: int | None = option(
        10,
        "stop after this many iterations without a better conditional log-likelihood of the "
        "validation rows, and keep the best parameters; without patience or validation rows, the "
        "last parameters are kept",
        min=1,
    )
    learning_rate: float = option(0.03, "the initial step size of Adam", above=0)
    batch_rows: int = option(500, "approximate number of training rows in a mini-batch", min=1)

    def conflicts(self) -> Iterator[Conflict]:
        """Report a target without columns, or with one of them twice."""
        yield from target_conflicts(self.target)

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report target columns that the model does not have, or that cannot be predicted."""
        if dataset is None:
            return
        where = self.span_of("target")
        if report_unknown_targets(self.target, dataset, where, sink):
            return
        names = [column.name for column in dataset.columns]
        targets = [names.index(name) for name in self.target]
        if len(targets) == len(names):
            message = "the target is every column: nothing is left to predict from"
            sink.error("E406", message, where, help="leave out the columns that are given")
        elif with_target(dataset.train, targets).rows == 0:
            message = "no training row has a value of the target"
            help = "predict another column, or give rows in which it is known"
            sink.error("E406", message, where, help=help)

    def targets(self, engine: Engine) -> list[int]:
        """Return the numbers of the target's columns."""
        names = [column.name for column in engine.program.columns]
        return [names.index(name) for name in self.target]

    def score(self, engine: Engine, parameters: Parameters, table: Rows) -> Score | None:
        """Return how well the target is predicted from the other cells of these rows."""
        targets = self.targets(engine)
        total: TreeSum[Score] = TreeSum(add)
        for part in tables_of(table):
            known = with_target(part, targets)
            if known.rows == 0:
                total.append(Score())
                continue
            rows = ConditionalRows.of(engine, known, targets, once=True)
            total.append(rows.scores(parameters)[0])
        return total.total()

    def refine(self, task: FitTask) -> FitResult | None:
        """Fit the parameters; with patience, keep the best on the validation rows."""
        began = time.monotonic()
        ascent = _Ascent.of(self, task)
        if ascent is None:
            return None
        state = first_state(task, ascent.initial_memory())
        if state is None:
            return None
        began -= state.history[-1].seconds if state.history else 0.0
        keeps_best = bool(ascent.valid) and self.patience is not None
        best_rank = ascent.valid_scores(state.best)[0].rank if state.history else None
        while True:
            iteration = len(state.history)
            record, rank = ascent.record(iteration, state.parameters, began)
            best, best_iteration = state.best, state.best_iteration
            if best_rank is None or rank > best_rank:
                best_rank, best, best_iteration = rank, state.parameters, iteration
            history = (*state.history, record)
            stopped = self._last_is_over(iteration)
            if self.patience is not None and keeps_best:
                waited = iteration - best_iteration
                stopped = "patience" if waited >= self.patience else stopped
            if stopped is None and task.enough is not None and task.enough(history):
                stopped = OUT_OF_TIME
            if stopped is not None:
                if keeps_best:
                    return FitResult(best, history, stopped, "best on valid", best_iteration)
                return FitResult(state.parameters, history, stopped, "last", iteration)
            updated, memory = ascent.step(iteration, state.parameters, state.memory)
            state = State(updated, best, best_iteration, history, memory)
            if task.monitor is not None:
                task.monitor(state)

    def cut(self, iterations: int) -> Self | None:
        """Return the same objective, ended earlier."""
        return replace(self, last_iteration=iterations)

    def _last_is_over(self, iteration: int) -> str | None:
        if iteration >= self.max_iterations:
            return "max_iterations"
        ended = self.last_iteration is not None and iteration >= self.last_iteration
        return "last_iteration" if ended else None

    def rate(self, passes: float) -> float:
        """Return the step size after this many passes over the mini-batches."""
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * passes / self.max_iterations))


@dataclass(frozen=True, eq=False)
class _Ascent:
    """The objective opened on the rows of one fit."""

    options: Conditional
    task: FitTask
    view: Coordinates
    anchor: Anchor
    train: ConditionalRows
    valid: tuple[ConditionalRows, ...]  # with `hide`, also a copy with cells hidden
    parts: tuple[tuple[ConditionalRows, ...], ...]  # mini-batches, each with its hidden copies

    @staticmethod
    def of(options: Conditional, task: FitTask) -> _Ascent | None:
        """Load the rows. Return None after reporting that no row can be learned from."""
        engine, start = task.engine, task.start
        targets = options.targets(engine)
        table = with_target(in_memory(task.train), targets)
        # The derivatives exist only for possible rows; steps keep a possible row possible.
        possible = engine.log_likelihood(start, engine.load(table, once=True)) > -np.inf
        table = table.take(np.flatnonzero(possible))
        if table.rows == 0:
            task.sink.error(
                "E402",
                "every training row with a target has probability zero, so there is nothing to "
                "learn from",
                help="set `smoothing` above 0, or mend the leaves whose p is 0 or 1",
            )
            return None

        def hidden(rows: Table, *labels: str | int) -> Table:
            rng = random_stream(task.seed, "hidden cells", *labels)
            return hide_at_random(rows, targets, options.hide, rng)

        def loaded(rows: Table) -> ConditionalRows:
            return ConditionalRows.of(engine, rows, targets)

        rng = random_stream(task.seed, "conditional batches")
        parts = []
        for number, part in enumerate(in_parts(table, options.batch_rows, rng)):
            copies = range(HIDDEN_COPIES if options.hide > 0.0 else 0)
            others = [hidden(part, "train", number, copy) for copy in copies]
            parts.append(tuple(map(loaded, (part, *others))))
        valid: tuple[ConditionalRows, ...] = ()
        if (
            task.valid is not None
            and (rows := with_target(in_memory(task.valid), targets)).rows > 0
        ):
            both = [rows, hidden(rows, "valid")] if options.hide > 0.0 else [rows]
            valid = tuple(map(loaded, both))
        train = loaded(table)
        view = Coordinates.of(engine.program, start)
        counts = engine.expected_counts(start, train.whole)
        anchor = Anchor.of(view, start, counts, options.prior)
        return _Ascent(options, task, view, anchor, train, valid, tuple(parts))

    def initial_memory(self) -> Memory:
        return {name: np.zeros(len(self.anchor.at)) for name in ("mean", "squares")}

    def valid_scores(self, parameters: Parameters) -> tuple[Score, Score]:
        """Return the conditional score of the validation rows, hidden copy included, and the joint.

        Without validation rows, both are empty.
        """
        found = [rows.scores(parameters) for rows in self.valid]
        conditional = sum((score for score, _ in found), Score())
        return conditional, found[0][1] if found else Score()

    def record(
        self, iteration: int, parameters: Parameters, began: float
    ) -> tuple[Record, tuple[float, float]]:
        """Return the line of the history about these parameters, and their rank."""
        conditional, joint = self.train.scores(parameters)
        penalty = joint.possible * self.anchor.value(self.view.flat(parameters))
        valid, valid_joint = self.valid_scores(parameters)
        record = Record(
            iteration,
            joint.average,
            joint.impossible,
            conditional.total - penalty,
            valid_joint.average if self.valid else None,
            valid_joint.impossible if self.valid else None,
            time.monotonic() - began,
            conditional.average,
            valid.average if self.valid else None,
        )
        return record, valid.rank

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory
    ) -> tuple[Parameters, Memory]:
        """Visit every mini-batch once, in this iteration's order and copies."""
        flat, start = self.view.flat(parameters), self.task.start
        rng = random_stream(self.task.seed, "order of conditional batches", iteration)
        order = rng.permutation(len(self.parts)).tolist()
        picks = rng.integers(len(self.parts[0]), size=len(self.parts)).tolist()
        for visit, which in enumerate(order):
            part = self.parts[which][picks[which]]
            parameters = self.view.parameters(flat, start)
            counts = part.counts(parameters)
            if counts is None:
                continue
            t = iteration * len(self.parts) + visit
            gradient = self.view.gradient(flat, parameters, counts) / counts.score.possible
            gradient += self.anchor.gradient(flat)
            direction, memory = adam_direction(t, gradient, memory)
            flat = flat + self.options.rate(t / len(self.parts)) * direction
            numeric = slice(self.view.finite, None)
            near = self.anchor.at[numeric]
            flat[numeric] = np.clip(flat[numeric], near - _FARTHEST, near + _FARTHEST)
        return self.view.parameters(flat, start), memory
