"""The compiled engine on columns of numbers, most of whose values occur once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends.numba import executor, upper_bounds, wide_leaves
from spnc.backends.planning.kinds import DENSE
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.learners.hclt import HiddenChowLiu
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.uniform import Uniform
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows
from tests.compiled import agree, both, close_counts, planned
from tests.learning_tasks import learn
from tests.mixed import mixed_dataset

SEEDS = st.integers(0, 10**6)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    extremes=st.booleans(),
    missing=st.sampled_from([0.0, 0.15]),
    numeric=st.sampled_from([0.3, 1.0]),
    rows=st.sampled_from([1, 7, 300]),
)
def test_wide_columns_agree_with_the_reference(
    seed: int, extremes: bool, missing: float, numeric: float, rows: int
) -> None:
    """Most values of some real columns occur once: their leaves are computed in strips."""
    graph = random_circuit(
        seed, variables=7, depth=6, share=0.4, extremes=extremes, numeric=numeric
    )
    columns = graph.graph["columns"]
    weights = np.random.default_rng(seed).random(rows) + 0.5
    agree(graph, Table(random_rows(seed, columns, rows, missing), weights))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("entries", [1, 1 << 10, 1 << 19])
def test_strips_of_any_height_agree_with_the_reference(
    monkeypatch: pytest.MonkeyPatch, threads: int, entries: int
) -> None:
    monkeypatch.setattr(wide_leaves, "STRIP_ENTRIES", entries)
    monkeypatch.setattr(executor, "WORTH_SHARING", 0)
    graph = random_circuit(8, variables=9, depth=7, share=0.4, extremes=True, numeric=0.6)
    table = Table(random_rows(8, graph.graph["columns"], 2000, 0.1))
    engine, parameters, batch = planned(graph, table, threads)
    assert batch.executor is not None
    assert len(batch.executor.memory.wide.groups) >= 2
    reference = BACKENDS["numpy"]().open(engine.program)
    found = engine.log_likelihood(parameters, batch)
    expected = reference.log_likelihood(parameters, table)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    close_counts(
        engine.expected_counts(parameters, batch), reference.expected_counts(parameters, table)
    )


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e12, 1e150])
@pytest.mark.parametrize("rounded", [False, True])
def test_densities_in_any_unit_are_exact(unit: float, rounded: bool) -> None:
    """Densities have units: twenty columns of tiny or huge ones are beyond any double."""
    rng = np.random.default_rng(3)
    scale = Scale(unit * 1e-6, -9.0 * unit, 9.0 * unit, 0.0, unit)
    columns = tuple(Column(f"x{i}", "real", 0, scale=scale) for i in range(20))
    builder = Builder(columns)
    parts = [
        builder.product(
            [builder.leaf(v, Gaussian(float(rng.normal()) * unit, unit)) for v in range(20)]
        )
        for _ in range(3)
    ]
    builder.sum(parts, [0.2, 0.3, 0.5])
    values = rng.normal(size=(500, 20))
    agree(builder.graph, Table((np.round(values) if rounded else values) * unit))


def test_rows_far_from_every_leaf_are_exact_and_impossible_rows_are_found() -> None:
    """A hundred standard deviations from all leaves; and outside of every support."""
    columns = (Column("a", "real", 0), Column("b", "real", 0))
    builder = Builder(columns)
    parts = [
        builder.product([builder.leaf(0, Gaussian(m, 1.0)), builder.leaf(1, Uniform(0.0, m + 2.0))])
        for m in (0.0, 1.0)
    ]
    builder.sum(parts, [0.5, 0.5])
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=300), rng.uniform(0.0, 2.0, size=300)], axis=1)
    values[::7, 0] += 100.0 * (1 + np.arange(len(values[::7])))
    values[::11, 1] = 5.0 + rng.random(len(values[::11]))
    found, expected, counts, expected_counts = both(builder.graph, Table(values))
    assert (found == -np.inf).sum() == len(values[::11])
    assert found == pytest.approx(expected, rel=1e-9)
    close_counts(counts, expected_counts)


@pytest.mark.parametrize("seed", range(3))
def test_hidden_trees_over_numbers_agree_with_the_reference(seed: int) -> None:
    """Dense blocks whose children are leaves over wide columns."""
    dataset = mixed_dataset(400, seed=seed)
    graph = learn(HiddenChowLiu(states=12), dataset.columns, dataset.train, seed)
    _, _, batch = planned(graph, dataset.train)
    assert batch.executor is not None
    assert (batch.executor.layout.row_nodes.kinds == DENSE).any()
    assert len(batch.executor.memory.wide.groups) == 4
    agree(graph, dataset.train)


def test_only_doubtful_blocks_are_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves far from a value lose their density, which is no reason to doubt the row."""
    calls: list[object] = []
    computed = upper_bounds.rows_upper_bound
    monkeypatch.setattr(
        upper_bounds, "rows_upper_bound", lambda *all: (calls.append(all), computed(*all))
    )
    builder = Builder((Column("a", "real", 0), Column("b", "real", 0)))
    parts = [
        builder.product([builder.leaf(0, Gaussian(m, 0.1)), builder.leaf(1, Gaussian(m, 0.1))])
        for m in (0.0, 50.0)
    ]
    builder.sum(parts, [0.5, 0.5])
    rng = np.random.default_rng(0)
    values = rng.normal(50.0 * (np.arange(400) % 2)[:, None], 0.1, size=(400, 2))
    agree(builder.graph, Table(values))
    assert calls == []
    values[5] = 0.0, 50.0  # no part explains both
    agree(builder.graph, Table(values))
    assert calls != []
