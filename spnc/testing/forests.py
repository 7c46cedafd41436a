"""Small random datasets and forests, and what learners and strategies are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spnc.backends import Backend
from spnc.backends.numpy import NumpyBackend
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import grow
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Graph
from spnc.learners import Learner, LearningTask
from spnc.learners.extra_spn import ExtraSpn
from spnc.leaves.smoothing import Smoothing
from spnc.program.lower import lower
from spnc.residuals import LinkingTask
from spnc.spec.recipe import Component
from spnc.testing.circuits import all_states, random_columns, random_rows
from spnc.testing.promises import expect, expect_close

_PRIOR = 0.1  # pseudo-rows


def small_dataset(seed: int, variables: int = 5, train: int = 60, valid: int = 20) -> Dataset:
    """Random rows, some cells missing, whose first two columns often agree."""
    return _dataset(np.random.default_rng(seed), variables, train, valid)


def _dataset(rng: np.random.Generator, variables: int, train: int, valid: int) -> Dataset:
    columns = tuple(random_columns(rng, variables))
    tables = {}
    for name, rows in (("train", train), ("valid", valid)):
        values = random_rows(int(rng.integers(10**6)), columns, rows, missing=0.05)
        if variables > 1:
            agree = (rng.random(rows) < 0.7) & (values[:, 1] < 2)
            values[agree, 0] = values[agree, 1]
        tables[name] = Table(values)
    return Dataset("random", columns, tables)


def learning_task(dataset: Dataset, seed: int, builder: Builder | None = None) -> LearningTask:
    """What a learner is given."""
    return LearningTask(
        dataset.columns,
        dataset.by_columns,
        Smoothing.of(_PRIOR),
        np.random.default_rng(seed),
        builder if builder is not None else Builder(dataset.columns),
        Sink(),
        dataset.in_memory("valid") if "valid" in dataset.splits else None,
    )


def learned(learner: Learner, dataset: Dataset, seed: int) -> Graph:
    """The circuit that a learner makes of a dataset."""
    task = learning_task(dataset, seed)
    root = learner.learn(task)
    expect(not task.sink.failed, f"it reported {[d.message for d in task.sink.diagnostics]}")
    expect(root is not None, "it returned None without reporting an error")
    task.builder.graph.graph["root"] = root
    return task.builder.graph


def small_forest(seed: int, components: int = 3, variables: int = 5) -> tuple[Forest, Dataset]:
    """ExtraSPNs grown on a small dataset."""
    rng = np.random.default_rng(seed)
    dataset = _dataset(rng, variables, 60, 20)
    learner = ExtraSpn(min_instances=int(rng.integers(2, 12)), beta=0.5)
    forest = grow(
        [Component(learner=learner, count=components)],
        dataset,
        smoothing=Smoothing.of(_PRIOR),
        seed=seed,
        sink=Sink(),
    )
    return forest, dataset


def linking_task(
    forest: Forest,
    dataset: Dataset,
    seed: int,
    pretrain: Callable[[int], None] = lambda _: None,
    backend: Backend | None = None,
) -> LinkingTask:
    """What a residual strategy is given; nothing is pretrained unless `pretrain` does so."""
    rng, judge = np.random.default_rng(seed), backend or NumpyBackend()
    return LinkingTask(forest, dataset, rng, Sink(), lambda *_: None, judge, pretrain)


def log_likelihood(graph: Graph, rows: Floats) -> Floats:
    """log p of rows, by the backend that defines it."""
    program, parameters = lower(graph)
    engine = NumpyBackend().open(program)
    return engine.log_likelihood(parameters, engine.load(Table(rows)))


def expect_distribution(graph: Graph, columns: Sequence[Column]) -> None:
    """Raise AssertionError unless the probabilities of all rows sum to one."""
    total = np.exp(log_likelihood(graph, all_states(tuple(columns)))).sum()
    expect_close(total, 1.0, "the sum over all rows", rel=0.0, abs=1e-9)


def drawing(graph: Graph) -> list[object]:
    """All nodes and edges of a graph, to compare it with another."""
    nodes = [(n, data["node"]) for n, data in graph.nodes(data=True)]
    return [*((n, str(node)) for n, node in nodes), *graph.edges(data="weight")]
