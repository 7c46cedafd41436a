"""Continuous mixtures over columns of numbers: gradients, likelihoods, missing cells, parents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spnc import checks
from spnc.common.arrays import Floats
from spnc.common.savepoints import Piece
from spnc.common.threads import ThreadTeam
from spnc.data.columns import Column
from spnc.data.pairs import mutual_information
from spnc.data.scales import scale_of
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.learners import LearningTask
from spnc.learners.continuous_mixture import mixture_fit
from spnc.learners.continuous_mixture.association import association
from spnc.learners.continuous_mixture.batches import CodedRows
from spnc.learners.continuous_mixture.decoder import Decoder
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.mixture_fit import MixtureFit, TreeMixture
from spnc.learners.continuous_mixture.objective import Objective, log_likelihoods
from spnc.learners.continuous_mixture.plain_trees import PlainTree, PlainTrees
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.leaves.gamma import Gamma
from spnc.leaves.numeric import NumericLeaf
from spnc.leaves.warp_fit import fitted_warp
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from tests.learning_tasks import learning_task

SMALL = ContinuousMixture(
    points=5, latent=2, width=4, steps=12, settling=6, batch_rows=32, tree="plain"
)
# Pseudo-rows of smoothing: the wide leaf that stands beside a bounded one is not in the objective.
LITTLE = 1e-6
LEAVES = {
    "real": (
        "gaussian",
        "warped-gaussian",
        "log-normal",
        "gamma",
        "exponential",
        "student-t",
        "histogram",
    ),
    "count": ("poisson", "negative-binomial", "histogram"),
}
KINDS = [(kind, name) for kind, names in LEAVES.items() for name in names]


def the_rows(kind: str, rows: int, seed: int, zeros: bool = True) -> tuple[list[Column], Table]:
    """Two columns of states; a number that depends on the first, with many zeros; and one alone."""
    rng = np.random.default_rng(seed)
    state = rng.integers(3, size=rows)
    other = (state > 0) ^ (rng.random(rows) < 0.2)
    level = np.array([2.0, 6.0, 15.0])[state]
    draws = [rng.gamma(level), rng.gamma(4.0, size=rows)]
    if kind == "count":
        numbers = [rng.poisson(own).astype(float) + 1.0 for own in draws]
    else:
        numbers = [np.round(own, 2) + 0.5 for own in draws]
    if zeros:
        numbers[0][rng.random(rows) < 0.2] = 0.0
    columns = [Column("s", "categorical", 3), Column("t")]
    for name, values in zip("xy", numbers, strict=True):
        scale = scale_of(values, np.ones(rows))
        warp = fitted_warp(values, np.ones(rows), scale.resolution) if kind == "real" else None
        columns.append(Column(name, kind, 0, scale=scale, warp=warp))  # type: ignore[arg-type]
    return columns, Table(np.column_stack([state, other, *numbers]).astype(float))


def plain_tree(task: LearningTask, leaves: LeafOptions) -> PlainTree:
    """The tree of most mutual information."""
    pairs = task.pairs()
    affinity = mutual_information(pairs, task.smoothing.leaves)
    return PlainTrees(task, leaves, pairs).tree(affinity, 1.0)


def made(kind: str, name: str, seed: int = 0) -> tuple[LogLinearTree, Table]:
    """A tree over such columns, with these leaves, and rows with some numbers missing."""
    columns, table = the_rows(kind, 300, seed)
    task = learning_task(columns, table, alpha=LITTLE)
    tree = plain_tree(task, LeafOptions(**{kind: name})).tree
    assert [own.parent for own in tree.numbers.columns] == [0, -1]
    values = table.values[:40].copy()
    values[::5, 2], values[1::7, 3] = np.nan, np.nan
    return tree, Table(values)


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_the_gradient_is_the_slope_for_every_leaf(kind: str, name: str) -> None:
    tree, table = made(kind, name)
    numbers, rng, points = tree.numbers, np.random.default_rng(1), 3
    outputs = numbers.plain[:, None] + 0.3 * rng.standard_normal((numbers.outputs, points))
    rows = numbers.rows(table.values)
    shares = rng.random((table.rows, points)).astype(np.float32)

    def value() -> float:
        found = np.zeros((table.rows, points))
        numbers.add_log_likelihoods(found, numbers.decoded(outputs), rows)
        return float((shares * found).sum())

    found = numbers.gradient(numbers.decoded(outputs), rows, shares)
    assert np.abs(found).sum() > 0.0
    for place in np.ndindex(outputs.shape):
        outputs[place] += 1e-5
        above = value()
        outputs[place] -= 2e-5
        below = value()
        outputs[place] += 1e-5
        slope = (above - below) / 2e-5
        assert slope == pytest.approx(float(found[place]), rel=2e-4, abs=2e-3), place


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_no_leaf_is_narrower_than_its_resolution_nor_led_beyond_it(kind: str, name: str) -> None:
    """Far beyond the bound the gradient leads back, or nowhere."""
    tree, table = made(kind, name)
    numbers = tree.numbers
    outputs = np.full((numbers.outputs, 1), -40.0, dtype=np.float32)
    models = numbers.models(outputs)
    for own in numbers.columns:
        for part in (part for model in models[own.variable] for part in model.parts):
            assert part.problems(own.column) == []
    rows = numbers.rows(table.values)
    shares = np.ones((table.rows, 1), dtype=np.float32)
    assert np.isfinite(numbers.gradient(numbers.decoded(outputs), rows, shares)).all()


def mixture_of(tree: LogLinearTree, rng: np.random.Generator, points: int = 3) -> TreeMixture:
    """A decoder near the plain tree, at random points of unequal weights."""
    middle = np.concatenate([np.zeros(tree.logits, np.float32), tree.numbers.plain])
    decoder = Decoder.random(2, (4, 5), middle, rng)
    weights = np.log(rng.dirichlet(np.ones(points))).astype(np.float32)
    return TreeMixture(decoder, rng.standard_normal((2, points)).astype(np.float32), weights)


def by_hand(tree: LogLinearTree, mixture: TreeMixture, row: Floats) -> float:
    """The log-likelihood of a row, column by column; numbers by the densities of their leaves."""
    outputs, logs = mixture.logits(), np.log(mixture.weights())
    tables = tree.tables(outputs[: tree.logits])
    for column, parent in enumerate(tree.parents.tolist()):
        given = int(row[parent]) if parent >= 0 else 0
        logs = logs + np.log(tables[column][:, given, int(row[column])])
    for number in tree.numbers.columns:
        value = row[number.variable]
        own = tree.numbers.models(outputs[tree.logits :])[number.variable]
        group = int(row[number.parent]) if number.parent >= 0 else 0
        if not np.isnan(value):
            logs = logs + [
                density(own[p * number.groups + group], value, number) for p in range(len(logs))
            ]
    return float(np.logaddexp.reduce(logs))


def density(model: Any, value: float, number: Any) -> float:
    """The log density of a value under a model: a point mass alone, if there is one."""
    logs = [
        np.log(weight)
        + type(leaf).log_density(np.array([leaf.row]), np.array([[value]]), number.known)[0, 0]
        for leaf, weight in zip(model.parts, model.weights, strict=True)
        if (leaf.plugin_name == "point") == (value in number.points)
    ]
    return float(np.max(logs))


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_statistics_and_parameters_multiply_to_the_likelihood(kind: str, name: str) -> None:
    tree, table = made(kind, name)
    mixture = mixture_of(tree, np.random.default_rng(2))
    rows_under = log_likelihoods(tree, mixture.logits(), mixture.log_weights)
    found = np.logaddexp.reduce(rows_under(table.values).astype(float), axis=1)
    found += tree.numbers.constant(tree.numbers.rows(table.values))
    expected = [by_hand(tree, mixture, row) for row in table.values]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-4)


def test_the_gradient_of_the_mixture_is_the_slope() -> None:
    tree, table = made("real", "gaussian")
    table, rng = table.take(slice(0, 15)), np.random.default_rng(3)
    mixture = mixture_of(tree, rng)
    weights = rng.dirichlet(np.ones(table.rows)).astype(np.float32)
    found = Objective(tree, ThreadTeam(2)).gradient(
        mixture.decoder, mixture.points, mixture.log_weights, table.values, weights
    )
    exact = TreeMixture(
        mixture.decoder.with_arrays([a.astype(float) for a in mixture.decoder.arrays]),
        mixture.points.astype(float),
        mixture.log_weights,
    )

    def average() -> float:
        each = [by_hand(tree, exact, row) for row in table.values]
        return float((weights * each).sum())

    arrays = [*exact.decoder.arrays, exact.points]
    for array, gradient in zip(arrays, [*found.arrays, found.points], strict=True):
        direction = rng.standard_normal(array.shape)
        array += 1e-6 * direction
        above = average()
        array -= 2e-6 * direction
        below = average()
        array += 1e-6 * direction
        assert (above - below) / 2e-6 == pytest.approx(
            float((gradient * direction).sum()), abs=1e-3, rel=2e-3
        )


def fitted(
    monkeypatch: pytest.MonkeyPatch, learner: ContinuousMixture, task: LearningTask
) -> tuple[LogLinearTree, TreeMixture, Any]:
    """The tree and mixture that a learner fits, and the program of its circuit."""
    kept: list[tuple[LogLinearTree, TreeMixture]] = []
    run = MixtureFit.run

    def keep(self: MixtureFit, plain: list[Floats], resume: Piece | None) -> TreeMixture:
        found = run(self, plain, resume)
        kept.append((self._objective.tree, found))
        return found

    monkeypatch.setattr(MixtureFit, "run", keep)
    graph = task.builder.graph
    graph.graph["root"] = learner.learn(task)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    return *kept[-1], lower(graph)


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_the_circuit_is_the_mixture(monkeypatch: pytest.MonkeyPatch, kind: str, name: str) -> None:
    """Where a value has a point mass the circuit adds the leaf's density, and is no less."""
    columns, table = the_rows(kind, 200, 4)
    values = table.values.copy()
    values[::6, 2], values[1::9, 3], values[2::11, 0] = np.nan, np.nan, np.nan
    learner = replace(SMALL, leaves=LeafOptions(**{kind: name}))
    task = learning_task(columns, Table(values), alpha=LITTLE)
    tree, mixture, (program, parameters) = fitted(monkeypatch, learner, task)
    engine = BACKENDS["numpy"]().open(program)
    complete = Table(np.where(np.isnan(values) & (np.arange(4) < 2), 1.0, values)[:60])
    found = np.array(
        [engine.log_likelihood(parameters, complete.take(slice(i, i + 1))) for i in range(60)]
    ).ravel()
    expected = np.array([by_hand(tree, mixture, row) for row in complete.values])
    masses = (complete.values[:, 2] == 0.0) & (len(tree.numbers.columns[0].points) > 0)
    assert masses.any() == (len(tree.numbers.columns[0].points) > 0)
    np.testing.assert_allclose(found[~masses], expected[~masses], atol=1e-4)
    assert (found[masses] >= expected[masses] - 1e-4).all()
    nothing = Table(np.full((1, 4), np.nan))
    assert engine.log_likelihood(parameters, nothing) == pytest.approx(0.0, abs=1e-9)


def test_a_missing_number_says_nothing() -> None:
    """Rows with a number missing have the likelihood of the others, and no gradient for it."""
    tree, table = made("real", "gaussian")
    numbers = tree.numbers
    values = table.values.copy()
    values[:, 2] = np.nan
    outputs = np.repeat(numbers.plain[:, None], 2, axis=1)
    shares = np.ones((len(values), 2), dtype=np.float32)
    found = numbers.gradient(numbers.decoded(outputs), numbers.rows(values), shares)
    first = numbers.columns[0].outputs
    assert (found[:first] == 0.0).all()
    assert (found[first:] != 0.0).any()
    logs = np.zeros((len(values), 2))
    numbers.add_log_likelihoods(logs, numbers.decoded(outputs), numbers.rows(values))
    alone = replace(numbers, columns=numbers.columns[1:])
    expected = np.zeros((len(values), 2))
    alone.add_log_likelihoods(expected, alone.decoded(outputs[first:]), alone.rows(values))
    np.testing.assert_allclose(logs, expected)


def test_missing_states_are_drawn_given_the_numbers() -> None:
    """A state that a number tells is drawn as the number tells it."""
    columns, table = the_rows("real", 600, 5, zeros=False)
    plain = plain_tree(learning_task(columns, table), LeafOptions())
    values = table.values.copy()
    known = values[:, 0].copy()
    values[:, 0] = np.nan
    values[0, 3] = np.nan
    drawn = plain.imputation.complete(Table(values), np.random.default_rng(1)).values
    assert np.isnan(drawn[0, 3])
    low, high = values[:, 2] < 2.5, values[:, 2] > 15.0
    assert (drawn[low, 0] == known[low]).mean() > 0.6
    assert (drawn[high, 0] == 2.0).mean() > 0.9


def test_a_number_hangs_below_a_column_only_if_that_pays() -> None:
    columns, table = the_rows("real", 400, 6)
    task = learning_task(columns, table)
    assert [c.parent for c in plain_tree(task, LeafOptions()).tree.numbers.columns] == [0, -1]
    few = learning_task(columns, table.take(slice(0, 8)))
    assert [c.parent for c in plain_tree(few, LeafOptions()).tree.numbers.columns] == [-1, -1]


def test_with_nothing_latent_association_is_that_of_ranges() -> None:
    """The point says nothing: what is left is what two columns have in common."""
    columns, table = the_rows("real", 800, 7, zeros=False)
    task = learning_task(columns, table)
    trees = PlainTrees(task, LeafOptions(real="histogram"), task.pairs())
    plain = trees.tree(np.zeros((4, 4)), 1.0)
    tables = [np.bincount(table.column(i).astype(int)) / 800 for i in (0, 1)]
    tree = LogLinearTree.of(columns[:2], [], plain.tree.numbers)
    middle = tree.logits_of([own[None] for own in tables])
    decoder = Decoder((np.zeros((len(middle), 1), np.float32),), (middle,))
    one = TreeMixture(decoder, np.zeros((1, 1), np.float32), np.zeros(1, np.float32))
    assert trees.ranges is not None
    rows = CodedRows.of(table, numbers=True)
    found = association(tree, one, rows, trees.ranges)
    assert found[0, 2] > 0.3 > 0.05 > found[0, 3]
    np.testing.assert_allclose(found, found.T, atol=1e-9)


def test_numbers_alone_and_one_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, table = the_rows("real", 200, 8)
    for some in ([2, 3], [2]):
        own = Table(table.values[:, some])
        task = learning_task([columns[i] for i in some], own)
        learner = replace(SMALL, tree="given-latent")
        _, _, (program, parameters) = fitted(monkeypatch, learner, task)
        score = BACKENDS["numpy"]().open(program).score(parameters, own)
        assert score.impossible == 0
        assert np.isfinite(score.average)


def test_leaves_without_gradients_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(SMALL.conflicts()) == []
    assert list(replace(SMALL, leaves=LeafOptions(real="uniform")).conflicts()) == []
    monkeypatch.setattr(Gamma, "coordinates", NumericLeaf.coordinates)
    (problem,) = replace(SMALL, leaves=LeafOptions(real="gamma")).conflicts()
    assert "`gamma` has no gradients" in problem.message


def test_the_number_of_threads_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, table = the_rows("real", 200, 9)
    learner = replace(SMALL, points=11, batch_rows=100)
    monkeypatch.setattr("spnc.learners.continuous_mixture.objective.ROWS_AT_ONCE", 9)
    monkeypatch.setattr("spnc.learners.continuous_mixture.objective.POINTS_AT_ONCE", 2)

    def weights(threads: int) -> list[float]:
        monkeypatch.setattr(mixture_fit, "thread_count", lambda asked: threads)
        task = learning_task(columns, table)
        learner.learn(task)
        graph = task.builder.graph
        return [w for _, _, w in graph.edges(data="weight") if w is not None]

    assert weights(1) == weights(3)


def test_narrow_dependences_are_learned() -> None:
    """Two numbers on a line: the mixture is far better than independent columns."""
    rng = np.random.default_rng(10)
    first = rng.standard_normal(1500)
    values = np.column_stack([first, first + 0.05 * rng.standard_normal(1500)]).round(3)
    columns = [
        Column(name, "real", 0, scale=scale_of(own, np.ones(1500)))
        for name, own in zip("xy", values.T, strict=True)
    ]
    learner = ContinuousMixture(points=48, latent=1, width=16, steps=150, settling=40)
    task = learning_task(columns, Table(values[:1000]))
    task.builder.graph.graph["root"] = learner.learn(task)
    program, parameters = lower(task.builder.graph)
    new = Table(values[1000:])
    score = BACKENDS["numpy"]().open(program).score(parameters, new)
    assert score.average > -1.42 * 2 + 0.7  # independent: -1.42 each
