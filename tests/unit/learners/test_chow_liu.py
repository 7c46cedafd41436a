"""A compiled Chow-Liu tree is the product of its conditionals, and a fixed point of EM."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import spnc
from spnc import checks
from spnc.compilation import lower_graph
from spnc.data.columns import Column
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder, Graph, Leaf, payloads
from spnc.learners import LearningTask
from spnc.learners.chow_liu import ChowLiu
from spnc.learners.extra_spn import ExtraSpn
from spnc.learners.support.leaf_choice import SliceOptions
from spnc.learners.support.trees import maximum_spanning_tree
from spnc.leaves.indicator import Indicator
from spnc.leaves.smoothing import Smoothing
from spnc.passes import BEFORE_TRAINING, run
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from spnc.testing.forests import drawing
from spnc.training.m_step import m_step
from tests.circuits import all_states, probability, random_columns, random_rows
from tests.places import SHARED_DATA

SEEDS = st.integers(0, 10**6)
CHOW_LIU = SliceOptions(model="chow-liu")
DATA = Path(os.environ.get("SPNC_DATA", SHARED_DATA))


def learn(
    columns: list[Column],
    table: Table,
    learner: ChowLiu | ExtraSpn | None = None,
    alpha: float = 0.1,
    seed: int = 0,
) -> Graph:
    builder = Builder(columns)
    rng = np.random.default_rng(seed)
    task = LearningTask(tuple(columns), table, Smoothing.of(alpha), rng, builder, Sink())
    builder.graph.graph["root"] = (learner or ChowLiu()).learn(task)
    return builder.graph


def random_table(seed: int, columns: list[Column], missing: float = 0.0, rows: int = 40) -> Table:
    """Return rows in which neighbouring columns are dependent."""
    rng = np.random.default_rng(seed)
    values = random_rows(seed, tuple(columns), rows, missing)
    for i in range(1, len(columns)):
        copied = (rng.random(rows) < 0.5) & (values[:, i - 1] < columns[i].states)
        values[copied, i] = values[copied, i - 1]
    return Table(values, rng.integers(1, 4, size=rows).astype(float))


def tree_log_probability(
    columns: list[Column], table: Table, alpha: float, rows: np.ndarray
) -> np.ndarray:
    """Return log p(row) from the tree itself: the root, then each column given its parent."""
    tree = maximum_spanning_tree(mutual_information(pair_counts(columns, table), alpha))
    found = np.zeros(len(rows))
    for parent, child in [(None, 0), *tree]:
        states = columns[child].states
        for r, row in enumerate(rows):
            same = np.ones(table.rows) if parent is None else table.values[:, parent] == row[parent]
            own = table.weights * same
            counts = [own[table.values[:, child] == s].sum() for s in range(states)]
            found[r] += np.log((counts[int(row[child])] + alpha) / (sum(counts) + alpha * states))
    return found


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_a_compiled_tree_is_the_product_of_its_conditionals(seed: int) -> None:
    """Without a prior it does not matter which column is the root."""
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 5)
    table = random_table(seed, columns, rows=400)
    graph = learn(columns, table, alpha=1e-9, seed=seed)
    rows = table.values[:10]
    found = np.log([probability(graph, row) for row in rows])
    assert found == pytest.approx(tree_log_probability(columns, table, 1e-9, rows), abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=SEEDS,
    count=st.integers(1, 6),
    missing=st.sampled_from([0.0, 0.3]),
    alpha=st.sampled_from([0.0, 0.1]),
    noise=st.sampled_from([0.0, 0.7]),
)
def test_what_it_builds_is_a_valid_circuit_that_sums_to_one(
    seed: int, count: int, missing: float, alpha: float, noise: float
) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, count)
    table = random_table(seed, columns, missing)
    graph = learn(columns, table, ChowLiu(noise=noise), alpha, seed)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    program, parameters = lower_graph(graph)
    engine = BACKENDS["numpy"]().open(program)
    found = engine.log_likelihood(parameters, Table(all_states(tuple(columns))))
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-10)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.5]))
def test_a_tree_on_complete_rows_is_where_em_ends(seed: int, alpha: float) -> None:
    """Weights are the smoothed shares that EM would choose, and indicators are not touched."""
    columns = random_columns(np.random.default_rng(seed), 6)
    table = random_table(seed, columns)
    program, before = lower(run(learn(columns, table, alpha=alpha), BEFORE_TRAINING))
    counts = BACKENDS["numpy"]().open(program).expected_counts(before, table)
    after = m_step(program, before, counts, Smoothing.of(alpha))
    assert after.weights == pytest.approx(before.weights, abs=1e-12)
    for old, new in zip(before.tables, after.tables, strict=True):
        assert new == pytest.approx(old, abs=1e-12)


def test_indicators_stay_indicators_when_em_moves_everything_else() -> None:
    columns = [Column(f"x{i}") for i in range(6)]
    table = random_table(3, columns, missing=0.4)
    program, parameters = lower_graph(learn(columns, table))
    engine = BACKENDS["numpy"]().open(program)
    started = parameters
    for _ in range(5):
        counts = engine.expected_counts(parameters, table)
        parameters = m_step(program, parameters, counts, Smoothing.of(2.0))
    assert not np.allclose(parameters.weights, started.weights)
    kinds = [leaf.distribution for leaf in program.leaves]
    at = kinds.index("indicator")
    assert (parameters.tables[at] == started.tables[at]).all()


def test_an_edge_of_the_tree_costs_one_edge_per_pair_of_states() -> None:
    """A chain of 30 binary columns: the states of a column are shared by both states above it."""
    rng = np.random.default_rng(0)
    values = np.cumsum(rng.random((3000, 30)) < 0.1, axis=1) % 2.0
    columns = [Column(f"x{i}") for i in range(30)]
    graph = learn(columns, Table(values.astype(float)))
    node = payloads(graph)
    indicators = [p for p in node.values() if isinstance(p, Leaf) and p.distribution.arity == 1]
    assert sum(isinstance(p.distribution, Indicator) for p in indicators) == 2 * 28
    # A root, 27 edges to inner columns and two to the ends of the chain.
    assert graph.number_of_edges() == 2 + 27 * (4 + 2) + 2 * 2 + 28 * 2
    assert lower_graph(graph)[0].facts()["parameters"] == 1 + 29 * 2


def test_without_noise_trees_are_alike_and_with_noise_they_differ() -> None:
    columns = [Column(f"x{i}") for i in range(12)]
    table = random_table(5, columns)
    same = [set(learn(columns, table, seed=s).edges) for s in (1, 2)]
    assert same[0] == same[1]
    other = [payloads(learn(columns, table, ChowLiu(noise=0.5), seed=s)) for s in (1, 1, 2)]
    assert other[0] == other[1]
    assert other[0] != other[2]


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.2]))
def test_an_extra_spn_may_end_in_trees(seed: int, missing: float) -> None:
    columns = random_columns(np.random.default_rng(seed), 5)
    table = random_table(seed, columns, missing)
    graph = learn(columns, table, ExtraSpn(min_instances=10, leaves=CHOW_LIU), seed=seed)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    total = sum(probability(graph, row) for row in all_states(tuple(columns)))
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize(
    "learner", [ChowLiu(), ExtraSpn(min_instances=2500, leaves=CHOW_LIU)], ids=["whole", "slices"]
)
def test_threads_do_not_change_a_bit_even_where_weights_are_fractions(learner: Any) -> None:
    rng = np.random.default_rng(5)
    columns = [Column(f"x{i}") for i in range(60)]
    table = Table(rng.integers(2, size=(4000, 60)).astype(float), rng.random(4000))
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(limits=threads):
            found.append(drawing(learn(columns, table, learner)))
    assert found[0] == found[1] == found[2]


def test_slices_share_the_leaves_that_say_which_state_a_column_has() -> None:
    columns = [Column(f"x{i}") for i in range(8)]
    table = random_table(2, columns, rows=300)
    graph = learn(columns, table, ExtraSpn(min_instances=20, beta=0.9, leaves=CHOW_LIU))
    found = [p for p in payloads(graph).values() if isinstance(p, Leaf)]
    said = [
        (p.variable, p.distribution.row) for p in found if isinstance(p.distribution, Indicator)
    ]
    assert len(said) == len(set(said)) > 8


@pytest.mark.skipif(
    not (DATA / "debd").is_dir(), reason="the DEBD datasets are not on this machine; set SPNC_DATA"
)
def test_the_tree_of_nltcs_scores_what_the_literature_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """-6.76 is the figure of Chow-Liu trees in comparisons of tractable models."""
    monkeypatch.setenv("SPNC_DATA", str(DATA))
    spec = tmp_path / "tree.yaml"
    spec.write_text(
        "model: tree\ndata: {source: 'debd:nltcs'}\nforest: [{learner: chow-liu}]\n"
        "optimizer: {method: em, max_iterations: 2}\nbackend: numpy\n"
    )
    run = spnc.train(spec)
    assert run.metrics["splits"]["test"]["avg_ll"] == pytest.approx(-6.76, abs=0.01)
    first, *_, last = run.fitted.history
    assert last.train == pytest.approx(first.train, abs=1e-6)


def test_a_tree_needs_less_memory_than_the_cells_as_doubles() -> None:
    rows, width = 400_000, 30
    table = Table.of_columns([np.resize([0, 1, 1], rows).astype(np.uint8) for _ in range(width)])
    tracemalloc.start()
    learn([Column(f"x{i}") for i in range(width)], table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * rows * width / 2
