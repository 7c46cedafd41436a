"""LearnSPN: structure from tests and clusters (Algorithm 1 of the paper; Gens & Domingos 2013).

On a slice of rows and columns:

1. One column: a leaf.
2. Strictly fewer rows than `min_instances`: factorised, a product of one leaf per column.
3. Otherwise every two columns are tested for independence. If the graph of dependent pairs has
   several connected components: a product over these. (A column with one value is its own.)
4. If it is connected, the rows are clustered: a sum weighted by the clusters' shares.
5. If there is only one cluster: factorised.

A row of weight two counts as two rows, so the learner works on distinct rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from spnc.common.savepoints import StepLog, UnusableError
from spnc.data.pairs import PairCounter
from spnc.learners import LearningTask
from spnc.learners.support.chow_liu_trees import slice_counter
from spnc.learners.support.clustering import HardEm, encoded, kmeans, parts_by_label, thread_pools
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.independence import GTest, PairTest, dependent_groups
from spnc.learners.support.leaf_choice import SliceOptions
from spnc.learners.support.leaf_fit import DataSlice, Indices
from spnc.learners.support.random_dependence import DependenceTest, Waves
from spnc.learners.support.slice_models import add_slice_model
from spnc.registry import LEARNERS, Conflict, Options, option

# What a slice is split by, as the log of splits has it.
_NEITHER, _COLUMNS, _ROWS = range(3)

# Options that have a value with one choice only: the option that chooses, and the choice.
_BELONGS_TO = {
    "independence": ("test", "g"),
    "correlation": ("test", "rdc"),
    "level": ("test", "rdc"),
    "penalty": ("rows", "em"),
    "restarts": ("rows", "em"),
}


@LEARNERS.register("learn-spn")
@dataclass(frozen=True, kw_only=True)
class LearnSpn(Options):
    """LearnSPN: columns split by an independence test, rows by clustering (Algorithm 1)."""

    min_instances: int = option(10, "slices of fewer rows are factorised", min=2)
    test: Literal["g", "rdc"] = option(
        "g",
        "how dependence is tested: a G-test of states and of ranges of numbers, or the randomised "
        "dependence coefficient of states and of ranks of numbers",
    )
    independence: float | None = option(
        5.0,
        "with `test: g`, two columns are dependent when their G statistic reaches twice the "
        "degrees of freedom times this (`g_factor` elsewhere); for binary columns 1.92 is a "
        "significance level of 5%, and pairs with numbers are tested at the level that it has "
        "there",
        min=0,
    )
    correlation: float | None = option(
        0.1,
        "with `test: rdc`, two columns are dependent when their coefficient, between 0 and 1, "
        "reaches this and is significant",
        min=0,
        max=1,
    )
    level: float | None = option(
        0.001,
        "with `test: rdc`, the significance level: how often independent columns may be taken for "
        "dependent",
        above=0,
        max=1,
    )
    rows: Literal["em", "kmeans"] = option(
        "em", "how rows are clustered: online hard EM over naive Bayes models, or k-means"
    )
    clusters: int = option(2, "the number of clusters of rows; with `em`, at most", min=2)
    penalty: float | None = option(
        0.2, "with `rows: em`, the cost of a new cluster, in nats per cell of a row", min=0
    )
    restarts: int | None = option(
        4, "with `rows: em`, the number of random restarts, of which the best is kept", min=1
    )
    leaves: SliceOptions = option(
        SliceOptions(),
        "the model of a slice that is not split (factorised or chow-liu), and the distributions of "
        "leaves over numbers",
    )

    def __post_init__(self) -> None:
        """Drop the defaults of options that belong to another choice."""
        for name, (chooser, choice) in _BELONGS_TO.items():
            if getattr(self, chooser) != choice and name not in self.spans:
                object.__setattr__(self, name, None)

    def conflicts(self) -> Iterator[Conflict]:
        """Report options that the choices need and lack, and options of other choices."""
        for name, (chooser, choice) in _BELONGS_TO.items():
            given, chosen = getattr(self, name) is not None, getattr(self, chooser) == choice
            if given and not chosen:
                yield Conflict(
                    name,
                    f"`{name}` is for `{chooser}: {choice}` only",
                    f"drop `{name}`, or choose `{choice}`",
                )
            if chosen and not given:
                message = f"`{chooser}: {choice}` needs `{name}`"
                yield Conflict(name, message, f"drop `{name}` for its default")

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        table = task.table.distinct()
        some = table.weights > 0.0
        if some.any() and not some.all():
            table = table.take(some)
        task = replace(task, table=table)
        builder = DeferredBuilder(task, self.leaves)
        everything = np.arange(len(task.columns))
        waves = Waves.draw(task.columns, task.rng) if self.test == "rdc" else None
        whole = DataSlice(np.arange(table.rows), everything, float(table.weights.sum()))
        stack: list[tuple[DataSlice, AttachPoint | None]] = [(whole, None)]
        log = StepLog(task.savepoints, "splits", task.rng)
        with thread_pools().limit(limits=1):
            while stack:
                stack += self._grow(builder, task, log, waves, *stack.pop())
        return builder.build()

    def _grow(
        self,
        builder: DeferredBuilder,
        task: LearningTask,
        log: StepLog,
        waves: Waves | None,
        part: DataSlice,
        point: AttachPoint | None,
    ) -> list[tuple[DataSlice, AttachPoint | None]]:
        """Add the node for a slice. Return the slices below it that are still to be modelled."""
        small = part.weight < self.min_instances or len(part.rows) < 2
        if len(part.columns) == 1 or (small and self.leaves.model != "chow-liu"):
            add_slice_model(builder, task, point, part, self.leaves)
            return []
        task.deadline.check()
        kind, labels, counter = self._split(task, log, waves, part, small)
        if kind == _COLUMNS:
            below = builder.add_product(point, part.weight)
            columns = parts_by_label(part.columns, labels)
            return [(DataSlice(part.rows, own, part.weight), below) for own in columns]
        if kind == _ROWS:
            clusters = parts_by_label(part.rows, labels)
            weights = [float(task.table.weights[rows].sum()) for rows in clusters]
            points = builder.add_sum(point, weights)
            return [
                (DataSlice(rows, part.columns, weight), below)
                for rows, weight, below in zip(clusters, weights, points, strict=True)
            ]
        pairs = None if counter is None else counter.pairs
        add_slice_model(builder, task, point, part, self.leaves, pairs=pairs)
        return []

    def _split(
        self, task: LearningTask, log: StepLog, waves: Waves | None, part: DataSlice, small: bool
    ) -> tuple[int, Indices, PairCounter | None]:
        """Return what a slice is split by, and the group of each of its columns or rows.

        Splits are kept in the log, so that a run that was killed need not compute them again.
        Otherwise, return what counted its pairs as well, if anything did.
        """
        found, counter = log.next(), None
        if found is None:
            test: PairTest
            if waves is None:
                counter = slice_counter(task, part)
                test = self._g_test(task, part, counter)
            else:
                test = self._rdc(task, part, waves)
            found = self._computed_split(task, part, test, small)
            log.add(found)
        kind, labels = int(found[0]), found[1:]
        if len(labels) != (0, len(part.columns), len(part.rows))[kind]:
            raise UnusableError("a split is not one of its slice")
        return kind, labels, counter

    def _g_test(self, task: LearningTask, part: DataSlice, counter: PairCounter) -> GTest:
        """Return the G-test of the slice's columns."""
        assert self.independence is not None
        numbers = np.array([not task.columns[c].is_finite for c in part.columns.tolist()])
        return GTest(counter, self.independence, numbers)

    def _rdc(self, task: LearningTask, part: DataSlice, waves: Waves) -> DependenceTest:
        """Return the test of the slice's columns by their randomised dependence."""
        assert self.correlation is not None
        assert self.level is not None
        columns = [task.columns[c] for c in part.columns.tolist()]
        table = task.table.cut(part.rows, part.columns)
        return DependenceTest(columns, table, waves, correlation=self.correlation, level=self.level)

    def _computed_split(
        self, task: LearningTask, part: DataSlice, test: PairTest, small: bool
    ) -> Indices:
        """Return a split for the log: its kind, then the groups."""
        parts = dependent_groups(test)
        if len(parts) > 1:
            found = np.full(1 + len(part.columns), _COLUMNS)
            for number, places in enumerate(parts):
                found[1 + places] = number
            return found
        labels = np.zeros(1, dtype=np.int64) if small else self._cluster(task, part)
        one = labels.min() == labels.max()
        return np.array([_NEITHER]) if one else np.concatenate([[_ROWS], labels])

    def _cluster(self, task: LearningTask, part: DataSlice) -> Indices:
        """Return the cluster of each of the slice's rows."""
        values = np.ascontiguousarray(task.table.at(part.rows[:, None], part.columns))
        weights = task.table.weights[part.rows]
        columns = [task.columns[c] for c in part.columns.tolist()]
        if self.rows == "em":
            assert self.penalty is not None
            assert self.restarts is not None
            method = HardEm(penalty=self.penalty, most=self.clusters, restarts=self.restarts)
            labels = method.labels(columns, values, weights, task.rng)
        else:
            labels = kmeans(encoded(columns, values), weights, self.clusters, task.rng)
        return labels
