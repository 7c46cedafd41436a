"""The compiled engine: what it leaves out changes nothing, and threads change no bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends.numba import executor, row_memory, wide_leaves
from spnc.backends.planning import planner
from spnc.backends.planning.kinds import DENSE
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.program.program import Parameters
from spnc.registry import BACKENDS
from tests.circuits import (
    hidden_tree,
    random_circuit,
    random_columns,
    random_rows,
    repeated_rows,
)
from tests.compiled import agree, both, close_counts, planned

SEEDS = st.integers(0, 10**6)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    extremes=st.booleans(),
    missing=st.sampled_from([0.0, 0.15]),
    numeric=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_many_rows_agree_with_the_reference(
    seed: int, extremes: bool, missing: float, numeric: float
) -> None:
    graph = random_circuit(
        seed, variables=9, depth=6, share=0.4, extremes=extremes, numeric=numeric
    )
    agree(graph, repeated_rows(seed, graph.graph["columns"], 400, missing))


@pytest.mark.parametrize("states", [3, 16])
@pytest.mark.parametrize("seed", range(3))
def test_hidden_trees_agree_with_the_reference(states: int, seed: int) -> None:
    columns = random_columns(np.random.default_rng(seed), 14, binary_only=True)
    graph = hidden_tree(columns, states, seed)
    table = repeated_rows(seed, tuple(columns), 700, 0.05)
    _, _, batch = planned(graph, table)
    assert batch.executor is not None
    layout = batch.executor.layout
    dense = (layout.cells.kinds == DENSE).sum() + (layout.row_nodes.kinds == DENSE).sum()
    assert dense == (13 if states == 16 else 0)
    agree(graph, table)


def test_threads_and_working_memory_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small waves or one, one thread or eight: the same sums in the same order."""
    rng = np.random.default_rng(5)
    columns = random_columns(rng, 12, binary_only=True)
    binary = random_circuit(5, variables=12, depth=9, share=0.5, binary_only=True)
    mixed = random_circuit(5, variables=12, depth=9, share=0.5, numeric=0.5)
    monkeypatch.setattr(wide_leaves, "STRIP_ENTRIES", 1 << 14)  # several strips
    for graph, table in (
        *((g, repeated_rows(5, g.graph["columns"], 3000, 0.1)) for g in (binary, mixed)),
        (mixed, Table(random_rows(5, mixed.graph["columns"], 3000, 0.1))),
        (hidden_tree(columns, 16, 5), repeated_rows(5, tuple(columns), 3000, 0.1)),
    ):
        found = []
        for threads, wave_bytes in ((1, 32_000_000), (1, 20_000), (2, 300_000), (8, 20_000)):
            monkeypatch.setattr(row_memory, "WAVE_BYTES", wave_bytes)
            monkeypatch.setattr(executor, "WORTH_SHARING", 0)
            engine, parameters, batch = planned(graph, table, threads)
            counts = engine.expected_counts(parameters, batch)
            found.append((engine.log_likelihood(parameters, batch), counts))
        assert len({len(f) for f, _ in found}) == 1
        for log_likelihoods, counts in found[1:]:
            assert (log_likelihoods == found[0][0]).all()
            assert (counts.weights == found[0][1].weights).all()
            for a, b in zip(counts.tables, found[0][1].tables, strict=True):
                assert (a == b).all()


def test_rows_beyond_the_range_of_doubles_are_exact() -> None:
    """Some rows are within range, some far below it, some impossible; each is right."""
    width = 400
    columns = tuple(Column(f"x{i}") for i in range(width))
    builder = Builder(columns)
    low = [builder.leaf(i, Bernoulli(1e-3)) for i in range(width)]
    high = [builder.leaf(i, Bernoulli(0.6)) for i in range(width - 1)]
    sure = builder.leaf(width - 1, Bernoulli(0.0))
    builder.sum([builder.product(low), builder.product([*high, sure])], [0.5, 0.5])
    zeros, ones = np.zeros((1, width)), np.ones((1, width))
    half = (np.arange(width) % 2).astype(float)[None, :]
    rows = np.concatenate([zeros, ones, half, half[:, ::-1], ones])
    table = Table(np.concatenate([rows] * 20))
    found, expected, counts, expected_counts = both(builder.graph, table)
    assert expected.min() < -2000
    assert found == pytest.approx(expected, rel=1e-9)
    close_counts(counts, expected_counts)


def bernoullis(builder: Builder, chances: list[float], first: int = 0) -> list[int]:
    return [builder.leaf(first + i, Bernoulli(p)) for i, p in enumerate(chances)]


def test_a_row_that_overflows_and_meets_a_zero_spoils_no_other() -> None:
    """One outlier among sparse rows: its ratio is infinite, times a leaf's true zero."""
    rng = np.random.default_rng(0)
    width = 300
    builder = Builder(tuple(Column(f"x{i}") for i in range(width)))
    bold = builder.product(bernoullis(builder, [0.9] * (width - 1) + [0.0]))
    builder.sum([bold, builder.product(bernoullis(builder, [0.05] * width))], [0.5, 0.5])
    values = (rng.random((200, width)) < 0.005).astype(float)
    values[7] = 1.0
    agree(builder.graph, Table(values))


def test_an_infinite_cell_times_nothing_is_not_taken_for_impossible() -> None:
    rng = np.random.default_rng(1)
    high, low, rest = 230, 300, 20
    width = high + low + rest
    builder = Builder(tuple(Column(f"x{i}") for i in range(width)))
    inner = builder.product(bernoullis(builder, [0.5] * high))
    head = builder.product([*bernoullis(builder, [1e-3] * low, high), inner])

    def tail(last: float) -> int:
        others = bernoullis(builder, rng.uniform(0.2, 0.8, rest - 1).tolist(), high + low)
        return builder.product([builder.product(others), builder.leaf(width - 1, Bernoulli(last))])

    builder.product([head, builder.sum([tail(0.0), tail(0.5)], [0.5, 0.5])])
    values = np.zeros((300, width))
    values[:5, : high + low] = 1.0
    values[:, high + low :] = rng.random((300, rest)) < 0.5
    agree(builder.graph, Table(values))


def test_a_partial_product_that_comes_back_is_noticed() -> None:
    """Two factors lead below what doubles hold exactly, eighty others lead back."""
    rng = np.random.default_rng(2)
    width = 120
    builder = Builder(tuple(Column(f"x{i}") for i in range(width)))
    parts = []
    for last in (0.99, 0.9):
        chances = [0.5] * 40 + [last] * 80
        chances[0] = chances[20] = 3e-162
        parts.append(builder.product(bernoullis(builder, chances)))
    builder.sum(parts, [0.5, 0.5])
    values = (rng.random((300, width)) < 0.5).astype(float)
    values[:, 40:] = rng.random((300, 80)) < 0.2
    values[:, [0, 20]] = 0.0
    values[7] = 1.0
    agree(builder.graph, Table(values))


def test_a_cell_below_many_gates_collects_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    width = 14
    builder = Builder(tuple(Column(f"x{i}") for i in range(width)))
    shared = builder.leaf(0, Bernoulli(0.37))
    parts = []
    for _ in range(5):
        ways = [
            builder.product(bernoullis(builder, rng.random(width - 1).tolist(), 1)) for _ in "ab"
        ]
        parts.append(builder.product([shared, builder.sum(ways, [0.4, 0.6])]))
    builder.sum(parts, [0.2] * 5)
    table = Table((rng.random((2900, width)) < 0.5).astype(float), rng.random(2900))
    found = []
    for wave_bytes in (1, 30_000, 60_000, 32_000_000):
        monkeypatch.setattr(row_memory, "WAVE_BYTES", wave_bytes)
        engine, parameters, batch = planned(builder.graph, table)
        found.append(engine.expected_counts(parameters, batch))
    for counts in found[1:]:
        assert (counts.weights == found[0].weights).all()
        assert (counts.tables[0] == found[0].tables[0]).all()


def test_a_dead_component_costs_nothing_and_gets_nothing() -> None:
    rng = np.random.default_rng(1)
    columns = random_columns(rng, 20, binary_only=True)
    builder = Builder(columns)

    def component() -> int:
        parts = [
            builder.product([builder.leaf(v, Bernoulli(float(rng.random()))) for v in range(20)])
            for _ in range(2)
        ]
        return builder.sum(parts, [0.4, 0.6])

    builder.graph.graph["root"] = builder.sum([component(), component()], [1.0, 0.0])
    table = repeated_rows(1, tuple(columns), 300, 0.0)
    agree(builder.graph, table)
    engine, parameters, batch = planned(builder.graph, table)
    engine.expected_counts(parameters, batch)
    assert batch.executor is not None
    for alive in (batch.executor.cells_alive, batch.executor.rows_alive):
        assert 0 < alive.sum() < len(alive)
    # All of it comes back when the weight does, and leaves nothing behind when it goes again.
    reference = BACKENDS["numpy"]().open(engine.program)
    revived = Parameters(np.full_like(parameters.weights, 0.5), parameters.tables)
    for now in (revived, parameters):
        close_counts(engine.expected_counts(now, batch), reference.expected_counts(now, table))


@pytest.mark.parametrize("seed", range(3))
def test_dense_blocks_leave_nothing_behind_when_they_die(seed: int) -> None:
    """Two hidden trees under one sum, of which one gets a weight of zero, and back."""
    columns = random_columns(np.random.default_rng(seed), 10, binary_only=True)
    builder = Builder(columns)
    roots = []
    for k in range(2):
        tree = hidden_tree(columns, 16, seed + 10 * k)
        first = builder.graph.number_of_nodes()
        nodes = [tree.nodes[n]["node"] for n in sorted(tree)]
        edges = [(a, b, data.get("weight")) for a, b, data in tree.edges(data=True)]
        builder.extend(nodes, edges)
        roots.append(first + tree.graph["root"])
    top = builder.sum(roots, [0.5, 0.5])
    builder.graph.graph["root"] = top
    table = repeated_rows(seed, tuple(columns), 500, 0.0)
    engine, parameters, batch = planned(builder.graph, table)
    reference = BACKENDS["numpy"]().open(engine.program)
    dead = parameters.weights.copy()
    dead[-2:] = 1.0, 0.0
    for weights in (parameters.weights, dead, parameters.weights, dead):
        now = Parameters(weights, parameters.tables)
        close_counts(engine.expected_counts(now, batch), reference.expected_counts(now, table))


def test_wide_products_are_computed_per_distinct_projection() -> None:
    """Two mixtures of 40 binary factors over 2,000 rows: a tenth of the look-ups, or fewer."""
    rng = np.random.default_rng(2)
    columns = random_columns(rng, 40, binary_only=True)
    builder = Builder(columns)
    parts = [
        builder.product([builder.leaf(v, Bernoulli(float(rng.random()))) for v in range(40)])
        for _ in range(2)
    ]
    builder.sum(parts, [0.5, 0.5])
    table = Table((rng.random((2000, 40)) < 0.5).astype(float)).distinct()
    _, _, batch = planned(builder.graph, table)
    assert batch.executor is not None
    layout = batch.executor.layout
    look_ups = len(layout.row_nodes.cells.nodes) * layout.rows
    inner = layout.cells.sizes * np.diff(layout.cells.children.starts)
    assert look_ups + inner.sum() < 0.25 * 2000 * 80
    agree(builder.graph, table)


@pytest.mark.parametrize("entries", [0, 2_000])
def test_a_plan_without_groups_agrees_with_the_reference(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = random_columns(np.random.default_rng(1), 12, binary_only=True)
    builder = Builder(columns)
    parts = [builder.product(bernoullis(builder, [p] * 12)) for p in (0.2, 0.5, 0.7)]
    builder.graph.graph["root"] = builder.sum(parts, [0.3, 0.3, 0.4])
    table = repeated_rows(2, tuple(columns), 900, 0.1)
    grouped = planned(builder.graph, table)[2].executor
    monkeypatch.setattr(planner, "GROUPED_ENTRIES", entries)
    agree(builder.graph, table)
    alone = planned(builder.graph, table)[2].executor
    assert grouped is not None
    assert alone is not None
    assert len(alone.layout.cells.kinds) < len(grouped.layout.cells.kinds)
