"""Continuous mixtures: the likelihood and gradient of the decoder, and the circuit it becomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc import checks
from spnc.common.savepoints import Piece
from spnc.common.threads import ThreadTeam
from spnc.data.columns import Column
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Graph, Leaf, Sum, payloads
from spnc.learners.continuous_mixture import association as measuring
from spnc.learners.continuous_mixture import mixture_fit
from spnc.learners.continuous_mixture.association import association
from spnc.learners.continuous_mixture.batches import Batches, CodedRows
from spnc.learners.continuous_mixture.decoder import Decoder
from spnc.learners.continuous_mixture.imputation import imputed
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.mixture_fit import (
    DecoderSettings,
    MixtureFit,
    TreeMixture,
)
from spnc.learners.continuous_mixture.objective import Objective
from spnc.learners.continuous_mixture.plain_trees import PlainTrees
from tests.circuits import all_states, probability, random_columns, repeated_rows
from tests.learning_tasks import binary, learn, learning_task

SEEDS = st.integers(0, 10**6)
SMALL = ContinuousMixture(points=5, latent=2, width=3, steps=8, settling=4, batch_rows=16)


def random_tree(columns: list[Column], rng: np.random.Generator) -> LogLinearTree:
    """A random tree over the columns."""
    edges = [(int(rng.integers(child)), child) for child in range(1, len(columns))]
    return LogLinearTree.of(columns, edges)


def random_mixture(tree: LogLinearTree, rng: np.random.Generator, points: int = 3) -> TreeMixture:
    """A decoder with random parameters at random points, of unequal weights."""
    middle = rng.standard_normal(tree.logits).astype(np.float32)
    decoder = Decoder.random(2, (4, 5), middle, rng)
    places = rng.standard_normal((2, points)).astype(np.float32)
    weights = rng.dirichlet(np.ones(points))
    return TreeMixture(decoder, places, np.log(weights).astype(np.float32))


def by_hand(tree: LogLinearTree, mixture: TreeMixture, row: np.ndarray) -> float:
    """The log-likelihood of a row, column by column and point by point."""
    tables, total = tree.tables(mixture.logits()), 0.0
    for point, weight in enumerate(mixture.weights()):
        chance = weight
        for column, parent in enumerate(tree.parents.tolist()):
            given = int(row[parent]) if parent >= 0 else 0
            chance *= tables[column][point, given, int(row[column])]
        total += chance
    return float(np.log(total))


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, width=st.integers(1, 6))
def test_statistics_and_parameters_multiply_to_the_likelihood(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, width)
    tree = random_tree(columns, rng)
    mixture = random_mixture(tree, rng)
    table = repeated_rows(seed, tuple(columns), 20, 0.0)
    expected = [by_hand(tree, mixture, row) for row in table.values]
    found = [
        Objective(tree, ThreadTeam(1)).average(
            mixture.logits(), mixture.log_weights, row[None].astype(np.int32), np.ones(1)
        )
        for row in table.values
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, width=st.integers(2, 5))
def test_the_gradient_is_the_slope(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, width)
    tree = random_tree(columns, rng)
    mixture = random_mixture(tree, rng)
    codes = repeated_rows(seed, tuple(columns), 12, 0.0).values.astype(np.int32)
    weights = rng.dirichlet(np.ones(12)).astype(np.float32)
    found = Objective(tree, ThreadTeam(2)).gradient(
        mixture.decoder, mixture.points, mixture.log_weights, codes, weights
    )

    def average(m: TreeMixture) -> float:
        return sum(float(w) * by_hand(tree, m, row) for w, row in zip(weights, codes, strict=True))

    # In doubles, so that the difference step can be too short to cross a kink of the network.
    exact = TreeMixture(
        mixture.decoder.with_arrays([a.astype(float) for a in mixture.decoder.arrays]),
        mixture.points.astype(float),
        mixture.log_weights,
    )
    arrays = [*exact.decoder.arrays, exact.points]
    for array, gradient in zip(arrays, [*found.arrays, found.points], strict=True):
        direction = rng.standard_normal(array.shape)
        array += 1e-6 * direction
        above = average(exact)
        array -= 2e-6 * direction
        below = average(exact)
        array += 1e-6 * direction
        slope = (above - below) / 2e-6
        assert slope == pytest.approx(float((gradient * direction).sum()), abs=1e-4, rel=1e-3)
    assert float(found.shares.sum()) == pytest.approx(1.0, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, width=st.integers(1, 4), missing=st.sampled_from([0.0, 0.3, 1.0]))
def test_what_it_builds_is_valid_and_sums_to_one(seed: int, width: int, missing: float) -> None:
    columns = random_columns(np.random.default_rng(seed), width)
    table = repeated_rows(seed, tuple(columns), 40, missing)
    graph = learn(SMALL, columns, table, seed)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    total = sum(probability(graph, row) for row in all_states(tuple(columns)))
    assert total == pytest.approx(1.0)


def test_the_circuit_is_the_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """The circuit gives every row the likelihood of the fitted mixture."""
    kept: list[TreeMixture] = []
    run = MixtureFit.run

    def keep(self: MixtureFit, plain: list[np.ndarray], resume: Piece | None) -> TreeMixture:
        kept.append(run(self, plain, resume))
        return kept[-1]

    monkeypatch.setattr(MixtureFit, "run", keep)
    columns = [Column("a"), Column("b", "categorical", 3), Column("c"), Column("d")]
    table = repeated_rows(3, tuple(columns), 200, 0.0)
    learner = ContinuousMixture(
        points=6, latent=2, width=4, steps=30, settling=20, batch_rows=32, tree="plain"
    )
    graph = learn(learner, columns, table, 3)
    (mixture,) = kept
    tops = [n for n, node in payloads(graph).items() if isinstance(node, Sum)]
    root = graph.graph["root"]
    assert root in tops
    shares = sorted(edge["weight"] for _, edge in graph.adj[root].items())
    assert shares == pytest.approx(sorted(mixture.weights()))
    assert max(shares) > 1.01 * min(shares)  # the points have settled
    tree = tree_of(learner, columns, table)
    for row in all_states(tuple(columns)):
        expected = by_hand(tree, mixture, row)
        assert np.log(probability(graph, row)) == pytest.approx(expected, abs=1e-6)


def test_every_column_stands_for_all_rows() -> None:
    """The rows of a column's leaves, or of its products if it has children, add up to all rows."""
    columns = binary(6)
    table = repeated_rows(8, tuple(columns), 150, 0.0)
    graph = learn(SMALL, columns, table, 8)
    nodes = payloads(graph)
    root = graph.graph["root"]
    rows = table.weights.sum()
    assert sum(nodes[child].rows for child in graph.succ[root]) == pytest.approx(rows)
    for variable in range(6):
        own = [
            n for n, node in nodes.items() if isinstance(node, Leaf) and node.variable == variable
        ]
        assert sum(nodes[n].rows for n in own) == pytest.approx(rows)


def tree_of(learner: ContinuousMixture, columns: list[Column], table: Table) -> LogLinearTree:
    """Return the plain tree, learned again."""
    assert learner.tree == "plain"
    task = learning_task(columns, table)
    trees = PlainTrees(task, learner.leaves, task.pairs())
    return trees.tree(mutual_information(trees.pairs, task.smoothing.leaves), 1.0).tree


def test_the_number_of_threads_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = binary(7)
    table = repeated_rows(5, tuple(columns), 900, 0.0)
    learner = ContinuousMixture(points=600, latent=3, width=8, steps=6, settling=3, batch_rows=700)

    def weights(threads: int) -> list[float]:
        monkeypatch.setattr(mixture_fit, "thread_count", lambda asked: threads)
        graph = learn(learner, columns, table, 5)
        return [w for _, _, w in graph.edges(data="weight") if w is not None]

    assert weights(1) == weights(3)


def groups_and_a_pair(rows: int, seed: int) -> Table:
    """Five noisy copies of a hidden coin; and two columns that agree in three rows of four."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows) < 0.5
    copies = hidden[:, None] ^ (rng.random((rows, 5)) < 0.1)
    first = rng.random(rows) < 0.5
    second = first ^ (rng.random(rows) < 0.25)
    return Table(np.column_stack([copies, first, second]).astype(float))


def test_given_the_latent_point_only_what_it_leaves_open_is_associated() -> None:
    table = groups_and_a_pair(4000, 1)
    tree = LogLinearTree.of(binary(7), [])  # no tree: the points have to explain all they can
    settings = DecoderSettings(
        points=64,
        latent=1,
        hidden=(16, 32),
        steps=300,
        settling=0,
        batch_rows=256,
        rate=3e-3,
        decay=0.0,
    )
    rows = CodedRows.of(table)
    plain = [np.array([[1 - p, p]]) for p in table.values.mean(axis=0)]
    mixture = MixtureFit(settings, tree, rows, None, np.random.default_rng(0), lambda: None).run(
        plain
    )
    found = association(tree, mixture, rows, pair_counts(binary(7), table))
    correlation = np.corrcoef(table.values.T) ** 2
    copies = ~np.eye(5, dtype=bool)
    assert correlation[:5, :5][copies].min() > correlation[5, 6] > 0.2
    assert found[:5, :5][copies].max() < 0.5 * found[5, 6]
    np.testing.assert_allclose(found, found.T, atol=1e-12)


def test_with_nothing_latent_association_is_the_squared_correlation() -> None:
    table = groups_and_a_pair(500, 2)
    rows, tree = CodedRows.of(table), LogLinearTree.of(binary(7), [])
    share = table.values.mean(axis=0)
    decoder = Decoder(
        (np.zeros((7, 1), dtype=np.float32),),
        (np.log(share / (1 - share)).astype(np.float32),),
    )
    one = TreeMixture(decoder, np.zeros((1, 1), dtype=np.float32), np.zeros(1, dtype=np.float32))
    expected = np.corrcoef(table.values.T) ** 2
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(
        association(tree, one, rows, pair_counts(binary(7), table)), expected, atol=1e-5
    )


def test_the_association_of_many_columns_is_measured_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    columns = [Column(f"c{i}", "categorical", 2 + i % 3) for i in range(8)]
    codes = rng.integers(6, size=(200, 1)) % np.array([c.states for c in columns])
    table = Table(np.where(rng.random(codes.shape) < 0.3, 0, codes).astype(float))
    tree, rows = LogLinearTree.of(columns, [(i, i + 1) for i in range(7)]), CodedRows.of(table)
    decoder = Decoder.random(1, (), np.zeros(tree.logits, dtype=np.float32), rng)
    points = rng.standard_normal((1, 5)).astype(np.float32)
    mixture = TreeMixture(decoder, points, np.zeros(5, dtype=np.float32))
    pairs = pair_counts(columns, table)
    whole = association(tree, mixture, rows, pairs)
    monkeypatch.setattr(measuring, "COLUMNS_AT_ONCE", 3)
    np.testing.assert_allclose(association(tree, mixture, rows, pairs), whole, rtol=1e-9)
    assert whole.max() > 0.1


def test_states_that_no_row_has_are_no_evidence() -> None:
    """The same columns, coded 0 and 1 or 0 and 7: the same association."""
    table = groups_and_a_pair(500, 3)
    mixtures = []
    for states, codes in ((2, table.values), (8, 7 * table.values)):
        columns = [Column(f"c{i}", "categorical", states) for i in range(7)]
        tree, rows = LogLinearTree.of(columns, []), CodedRows.of(Table(codes))
        ways = [np.bincount(c.astype(int), minlength=states) + 1e-6 for c in codes.T]
        middle = tree.logits_of([way[None, :] / way.sum() for way in ways])
        decoder = Decoder((np.zeros((len(middle), 1), dtype=np.float32),), (middle,))
        one = TreeMixture(
            decoder, np.zeros((1, 1), dtype=np.float32), np.zeros(1, dtype=np.float32)
        )
        spared = (1.0 - 1.0 / states) ** 2
        mixtures.append(association(tree, one, rows, pair_counts(columns, Table(codes))) / spared)
    np.testing.assert_allclose(*mixtures, atol=1e-4)


def test_a_network_that_runs_away_is_reported_once() -> None:
    task, sink = learning_task(binary(7), groups_and_a_pair(200, 1)), Sink()
    wild = replace(SMALL, learning_rate=1e30, steps=40)
    assert wild.learn(replace(task, sink=sink)) is None
    assert [d.code for d in sink.diagnostics] == ["E228"]


@settings(max_examples=20, deadline=None)
@given(
    seed=SEEDS, times=st.lists(st.integers(1, 5), min_size=1, max_size=12), size=st.integers(1, 9)
)
def test_batches_have_every_row_as_often_as_it_occurs(
    seed: int, times: list[int], size: int
) -> None:
    codes = np.arange(len(times))[:, None]
    rows = CodedRows(codes, np.array(times, dtype=float))
    total = sum(times)
    size = min(size, total)
    whole = total // size
    found = np.zeros(len(times))
    batches = Batches(rows, size, np.random.default_rng(seed))
    for some, weights in (batches.next() for _ in range(whole)):
        assert float(weights.sum()) == pytest.approx(1.0, abs=1e-6)
        found[some[:, 0]] += weights * size
    assert (found <= np.array(times) + 1e-3).all()
    assert found.sum() == pytest.approx(whole * size, abs=1e-3)


def test_missing_cells_are_filled_in_as_the_tree_has_them_given_the_rest() -> None:
    """In a chain a → b → c with b missing, b depends on both its neighbours."""
    columns = [Column("a"), Column("b", "categorical", 3), Column("c")]
    tree = LogLinearTree.of(columns, [(0, 1), (1, 2)])
    tables = [
        np.array([[0.3, 0.7]]),
        np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]),
        np.array([[0.9, 0.1], [0.4, 0.6], [0.25, 0.75]]),
    ]
    many = 40_000
    holes = Table(np.tile([1.0, np.nan, 0.0], (many, 1)))
    complete = imputed(holes, tree, tables, np.random.default_rng(7))
    expected = tables[1][1] * tables[2][:, 0]
    shares = np.bincount(complete.values[:, 1].astype(int), minlength=3) / many
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.01)
    assert (complete.values[:, [0, 2]] == [1.0, 0.0]).all()
    assert np.isnan(holes.values[:, 1]).all()


def average(graph: Graph, table: Table) -> float:
    distinct = table.distinct()
    logs = [np.log(probability(graph, row)) for row in distinct.values]
    return float(np.average(logs, weights=distinct.weights))


def test_it_explains_new_rows_better_than_a_tree() -> None:
    """Six columns, two hidden coins: no tree has their pattern, a mixture of trees does."""
    rng = np.random.default_rng(4)
    coins = rng.random((4000, 2)) < 0.5
    both = np.column_stack([coins, coins.all(axis=1), coins.any(axis=1), coins[:, 0] ^ coins[:, 1]])
    values = (both[:, [0, 1, 2, 3, 4, 4]] ^ (rng.random((4000, 6)) < 0.1)).astype(float)
    train, new = Table(values[:2000]), Table(values[2000:])
    columns = binary(6)
    plain = learn(ContinuousMixture(points=1, steps=0, settling=0, tree="plain"), columns, train)
    mixture = learn(
        ContinuousMixture(points=64, latent=2, width=16, steps=300, settling=60), columns, train
    )
    assert average(mixture, new) > average(plain, new) + 0.05
