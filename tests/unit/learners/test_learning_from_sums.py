"""Learners that count pairs of columns count them in all rows of a table in partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spnc.compilation import Compiled, compile_recipe
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.parted import PartedTable, partitioned
from spnc.data.row_sums import CountPairs
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import grow
from spnc.graph.forest import Forest
from spnc.learners import Learner
from spnc.learners.chow_liu import ChowLiu
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.learners.hclt import HiddenChowLiu
from spnc.learners.learn_spn import LearnSpn
from spnc.learners.rat_spn import RatSpn
from spnc.leaves.smoothing import Smoothing
from spnc.spec.read import recipe_from, spec_source
from spnc.spec.recipe import Component
from spnc.testing.forests import drawing
from tests.learning_tasks import learning_task
from tests.pickling_workers import PicklingWorkers

QUICK = ContinuousMixture(points=4, latent=2, width=4, steps=8, settling=2)


def _columns(width: int) -> tuple[Column, ...]:
    return tuple(
        Column(f"c{i}") if i % 3 else Column(f"c{i}", "categorical", 3) for i in range(width)
    )


def _table(width: int, rows: int = 400) -> Table:
    """Rows in which neighbouring columns are dependent, and no two dependencies are alike."""
    rng = np.random.default_rng(width)
    values = [rng.integers(3, size=rows)]
    for column in range(1, width):
        copied = rng.random(rows) < 0.4 + 0.5 * column / width
        fresh = rng.integers(2 if column % 3 else 3, size=rows)
        values.append(np.where(copied & (values[-1] < 2), values[-1], fresh))
    cells = np.stack(values, axis=1).astype(float)
    cells[rng.random(cells.shape) < 0.05] = np.nan
    return Table(cells)


def _datasets(width: int) -> tuple[Dataset, Dataset]:
    """Return the same rows as one table, and in partitions."""
    table, columns = _table(width), _columns(width)
    rows = partitioned(table, 60, 0, "train")
    assert isinstance(rows, PartedTable)
    assert len(rows.parts) == (7 if width > 2 else 1)  # few distinct rows fit into one
    return Dataset("whole", columns, {"train": table}), Dataset("parts", columns, {"train": rows})


def _grown(dataset: Dataset, *learners: Learner, bootstrap: bool = False) -> Forest:
    components = [Component(learner=each, bootstrap=bootstrap) for each in learners]
    return grow(components, dataset, smoothing=Smoothing.of(0.1), seed=3, sink=Sink())


@pytest.mark.parametrize("width", [1, 2, 9])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_a_chow_liu_tree_is_that_of_the_whole_table(width: int, noise: float) -> None:
    whole, parts = (_grown(data, ChowLiu(noise=noise)) for data in _datasets(width))
    assert drawing(parts.builder.graph) == drawing(whole.builder.graph)


def test_a_hidden_tree_is_that_of_the_whole_table() -> None:
    whole, parts = _datasets(9)
    assert parts.sums is not None
    learner, trees = HiddenChowLiu(noise=0.3), []
    for data, sums in ((whole, None), (parts, parts.sums.of({"pairs"})), (parts, None)):
        task = learning_task(data.columns, data.train, seed=1)
        object.__setattr__(task, "sums", sums)
        trees.append(learner.tree(task))
    assert trees[1] == trees[0]
    assert trees[2] != trees[0]  # what the sample says


def test_random_leaves_start_from_the_counts_of_all_rows() -> None:
    """With one input, each leaf is its column's distribution."""
    whole, parts = (
        _grown(data, RatSpn(splits=2, repetitions=1, sums=1, inputs=1)) for data in _datasets(6)
    )
    assert drawing(parts.builder.graph) == drawing(whole.builder.graph)


def test_the_tree_of_a_continuous_mixture_is_that_of_all_rows() -> None:
    def edges(forest: Forest) -> int:
        return forest.builder.graph.number_of_edges()

    plain = ContinuousMixture(points=4, latent=2, width=4, steps=4, settling=0, tree="plain")
    whole, parts = (_grown(data, plain) for data in _datasets(9))
    assert edges(parts) == edges(whole)
    total = _datasets(9)[0].train.total
    assert parts.builder.graph.nodes[parts.roots[0]]["node"].rows == total


def test_bootstrapped_components_learn_from_the_sample() -> None:
    whole, parts = (_grown(data, ChowLiu(), bootstrap=True) for data in _datasets(9))
    assert drawing(parts.builder.graph) != drawing(whole.builder.graph)


def test_workers_are_sent_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    inner = CountPairs.__call__

    def counting(self: CountPairs, table: Table) -> Any:
        counted.append(table.rows)
        return inner(self, table)

    monkeypatch.setattr(CountPairs, "__call__", counting)
    learners = [ChowLiu(), HiddenChowLiu(states=3), QUICK, RatSpn(), LearnSpn(min_instances=40)]
    components = [Component(learner=each) for each in learners]
    drawn = []
    for workers in ({}, {"workers": PicklingWorkers()}):
        _, parts = _datasets(7)
        forest = grow(
            components, parts, smoothing=Smoothing.of(0.1), seed=3, sink=Sink(), **workers
        )
        drawn.append(drawing(forest.builder.graph))
        assert len(counted) == 7  # each partition once, for all components
        counted.clear()
    assert drawn[0] == drawn[1]


def test_columns_of_numbers_are_learned_by_the_ranges_of_the_sample() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(500, 1))
    values = np.concatenate([base + 0.3 * rng.normal(size=(500, 3)), _table(2, 500).values], axis=1)
    columns = (*(Column(f"x{i}", "real") for i in range(3)), *_columns(2))
    rows = partitioned(Table(values), 100, 0, "train")
    forest = _grown(Dataset("mixed", columns, {"train": rows}), HiddenChowLiu(states=2))
    assert len(forest.roots) == 1


def _compiled(spec: dict[str, Any]) -> Compiled:
    sink = Sink()
    source = sink.require(spec_source({"model": "m", **spec}, sink))
    return compile_recipe(sink.require(recipe_from(source, sink, allow_plugins=False)), sink)


def test_partitions_change_no_bit_of_a_chow_liu_forest() -> None:
    data = {"source": "builtin:asia", "split": [0.8, 0.1, 0.1]}
    forest = [{"learner": "chow-liu", "count": 3, "noise": 0.5}]
    whole = _compiled({"data": data, "forest": forest})
    parts = _compiled({"data": {**data, "partition_rows": 20}, "forest": forest})
    rows = parts.dataset.splits["train"]
    assert isinstance(rows, PartedTable)
    assert len(rows.parts) > 1
    np.testing.assert_array_equal(whole.parameters.weights, parts.parameters.weights)
    for own, other in zip(whole.parameters.tables, parts.parameters.tables, strict=True):
        np.testing.assert_array_equal(own, other)
