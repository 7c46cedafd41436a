"""Answering bound questions: each kind by the query that computes it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.rng import random_stream
from spnc.data.cells import cell_text
from spnc.data.columns import Column
from spnc.diagnostics import Sink
from spnc.program.program import Parameters, Program
from spnc.queries.column_mixture import ColumnMixture
from spnc.queries.conditional_sample import sample_given
from spnc.queries.events import Box, both, boxes_of
from spnc.queries.information import Information as Amount
from spnc.queries.information import TooManyStatesError, entropy, mutual_information
from spnc.queries.most_likely import most_likely
from spnc.queries.posterior import Posterior
from spnc.queries.rows import Rows
from spnc.queries.value_sets import ValueSet
from spnc.questions.answers import IMPOSSIBLE, Answer
from spnc.questions.curve import Curve
from spnc.questions.group_table import GroupTable
from spnc.questions.question import (
    Density,
    Entropy,
    Information,
    MostLikely,
    Probability,
    Question,
    Sample,
    Statistic,
    is_one_number,
)

NATS = "nats"
POINTS = 201  # values at which a density is computed
_ROUNDING = 1e-12  # nats; differences of entropies that are smaller are rounding errors
_TAIL = 5e-4  # the share of a density beyond each end of its curve


def answer(program: Program, parameters: Parameters, question: Question, seed: int = 0) -> Answer:
    """Return the answer to a question. `seed` says which rows are drawn by `sample`.

    Raises `InputError` if the answer needs sums over too many states (E813).
    """
    return _Answering(program, parameters, seed).answer(question)


@dataclass(frozen=True)
class _Group:
    """A combination of states of the columns `by`, and the model given it; None if impossible."""

    states: tuple[int, ...]
    posterior: Posterior | None
    chance: float


class _Answering:
    def __init__(self, program: Program, parameters: Parameters, seed: int) -> None:
        self.program, self.parameters, self.seed = program, parameters, seed
        self.columns = program.columns

    def answer(self, question: Question) -> Answer:
        boxes = boxes_of(question.evidence.event, self.columns)
        posterior = self._given(boxes)
        if posterior is None:
            value = math.nan if is_one_number(question) else None
            return Answer(question.text, value, notes=(IMPOSSIBLE,))
        match question:
            case Probability():
                return self._probability(question, posterior)
            case Statistic():
                return self._statistic(question, posterior)
            case Density():
                return self._density(question, posterior)
            case MostLikely():
                return self._most_likely(question, boxes)
            case Sample():
                rng = random_stream(self.seed, "sample")
                cells = sample_given(self.program, self.parameters, boxes, question.rows, rng)
                return Answer(question.text, rows=self._rows(question.columns, cells))
            case Entropy(text, columns, given):
                return self._amount(
                    text, lambda: entropy(self.program, self.parameters, boxes, columns, given)
                )
            case Information(text, first, second, given):
                return self._amount(
                    text,
                    lambda: mutual_information(
                        self.program, self.parameters, boxes, first, second, given
                    ),
                )

    # ---- one kind of question each -------------------------------------------------------------

    def _probability(self, question: Probability, posterior: Posterior) -> Answer:
        boxes = boxes_of(question.event, self.columns)

        def log_of(given: Posterior) -> float:
            return float(given.log_probability_of(boxes)) if boxes else -math.inf

        if not question.by:
            log = log_of(posterior)
            return Answer(question.text, math.exp(log), log)
        found = self._table(question.by, posterior, log_of, "log")
        logs = found.values
        with_logs = GroupTable(
            found.by, found.groups, "P", np.exp(logs), found.chances, log_values=logs
        )
        return Answer(question.text, table=with_logs)

    def _statistic(self, question: Statistic, posterior: Posterior) -> Answer:
        column = self.columns[question.column]

        def value_of(given: Posterior) -> float:
            return statistic(given.column(question.column), question.name, question.share)

        unit, spread = column.unit, question.name in ("SD", "Var")
        if question.name == "Var" and unit:
            unit = f"{unit}²"
        own = None if spread else column
        if not question.by:
            value = value_of(posterior)
            notes = () if math.isfinite(value) else ("it does not exist: the tails are too heavy",)
            return Answer(question.text, value, column=own, unit=unit, notes=notes)
        name = f"{question.name}[{column.name}]"
        table = self._table(question.by, posterior, value_of, name, own, unit)
        return Answer(question.text, unit=unit, column=own, table=table)

    def _density(self, question: Density, posterior: Posterior) -> Answer:
        column = self.columns[question.column]
        groups = list(self._groups(question.by, posterior))
        mixtures = [
            None if g.posterior is None else g.posterior.column(question.column) for g in groups
        ]
        values = _values(column, [m for m in mixtures if m is not None])
        nothing = np.full(len(values), np.nan)
        dense = np.array([nothing if m is None else m.density(values) for m in mixtures])
        by = [self.columns[i] for i in question.by]
        names = tuple(
            ", ".join(cell_text(c, float(s)) for c, s in zip(by, group.states, strict=True))
            for group in groups
        )
        return Answer(question.text, curve=Curve(column, values, dense, names))

    def _most_likely(self, question: MostLikely, boxes: Sequence[Box]) -> Answer:
        found = most_likely(self.program, self.parameters, boxes, question.columns)
        rows = self._rows(question.columns, found.row[None])
        notes: tuple[str, ...] = ()
        if not found.exact:
            bound = f"no row has a log value above {found.upper_bound:.6g}"
            notes = (f"not known to be the most likely: this is the best row found; {bound}",)
        return Answer(question.text, log_value=found.log_value, rows=rows, notes=notes)

    def _amount(self, text: str, compute: Callable[[], Amount]) -> Answer:
        try:
            found = compute()
        except TooManyStatesError:
            sink = Sink()
            message = "the columns have too many states together to be summed over"
            sink.error("E813", message, where=text, help="ask about fewer columns at a time")
            sink.stop()
        notes = (f"not exact: {found.note}",) if not found.exact else ()
        nats = found.nats if abs(found.nats) > _ROUNDING else 0.0
        return Answer(text, nats, unit=NATS, notes=notes)

    # ---- what they share -----------------------------------------------------------------------

    def _given(self, boxes: Sequence[Box]) -> Posterior | None:
        """Return the model given some boxes; None if they are impossible."""
        if not boxes:
            return None
        found = Posterior(self.program, self.parameters, boxes)
        return found if found.log_probability > -math.inf else None

    def _groups(self, by: Sequence[int], posterior: Posterior) -> Iterator[_Group]:
        if not by:
            yield _Group((), posterior, 1.0)
            return
        for states in itertools.product(*(range(self.columns[i].states) for i in by)):
            pairs = zip(by, states, strict=True)
            own = {i: ValueSet.codes(self.columns[i], [state]) for i, state in pairs}
            common = (both(box, own) for box in posterior.boxes)
            given = self._given([box for box in common if box is not None])
            log = -math.inf if given is None else given.log_probability
            yield _Group(states, given, math.exp(min(log - posterior.log_probability, 0.0)))

    def _table(
        self,
        by: Sequence[int],
        posterior: Posterior,
        value_of: Callable[[Posterior], float],
        name: str,
        column: Column | None = None,
        unit: str = "",
    ) -> GroupTable:
        groups = list(self._groups(by, posterior))
        values = [math.nan if g.posterior is None else value_of(g.posterior) for g in groups]
        return GroupTable(
            tuple(self.columns[i] for i in by),
            np.array([g.states for g in groups], dtype=np.float64),
            name,
            np.array(values),
            np.array([g.chance for g in groups]),
            column=column,
            unit=unit,
        )

    def _rows(self, columns: Sequence[int], cells: Floats) -> Rows:
        some = list(columns)
        return Rows(tuple(self.columns[i] for i in some), cells[:, some])


def statistic(mixture: ColumnMixture, name: str, share: float) -> float:
    """Return a statistic of a column: of its numbers, or of the numbers that its states mean."""
    if mixture.column.is_finite:
        chances = mixture.probabilities()[None]
        return float(statistic_of_states(mixture.column, chances, name, share)[0])
    if name == "E":
        return float(mixture.mean())
    if name in ("SD", "Var"):
        variance = float(mixture.variance())
        return math.sqrt(variance) if name == "SD" else variance
    return float(mixture.quantile(share))


def statistic_of_states(column: Column, chances: Floats, name: str, share: float) -> Floats:
    """Return a statistic of the numbers that states mean, for `chances[row, state]`, by row."""
    labels = range(column.states) if column.labels is None else column.labels
    numbers = np.array([float(label) for label in labels])
    undefined = np.isnan(chances).any(axis=1)
    if name in ("median", "quantile"):
        order = np.argsort(numbers, kind="stable")
        reached = np.cumsum(chances[:, order], axis=1) >= share * (1.0 - 1e-12)  # sums round
        return np.where(undefined, np.nan, numbers[order][np.argmax(reached, axis=1)])
    mean: Floats = chances @ numbers
    if name == "E":
        return mean
    variance: Floats = (chances * (numbers - mean[:, None]) ** 2).sum(axis=1)
    return np.sqrt(variance) if name == "SD" else variance


def _values(column: Column, mixtures: Sequence[ColumnMixture]) -> Floats:
    """Return the values at which densities of a column are shown: nearly all of each of them."""
    if column.is_finite:
        return np.arange(column.states, dtype=np.float64)
    low = min(float(m.quantile(_TAIL)) for m in mixtures)
    high = max(float(m.quantile(1.0 - _TAIL)) for m in mixtures)
    if column.kind == "count":
        step = max(1, math.ceil((high - low) / POINTS))
        return np.arange(low, high + 1, step, dtype=np.float64)
    return np.linspace(low, high, POINTS)
