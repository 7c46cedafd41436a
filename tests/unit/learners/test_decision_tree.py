"""Decision trees as circuits: what they predict, what they cost, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import spnc
from spnc.compilation import circuit_model
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.learners.decision_tree import DecisionTree
from spnc.learners.decision_tree.known_columns import KnownColumns
from spnc.learners.decision_tree.regions import interval, restricted_model, some_states
from spnc.learners.decision_tree.tree_circuit import TreeCircuit
from spnc.learners.decision_tree.tree_growth import Input, cuts_between, grow_tree, standardised
from spnc.learners.support.leaf_choice import LeafModel, LeafOptions
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.point import Point
from tests.learning_tasks import learn, learning_task
from tests.mixed import mixed_dataset


def made(rows: int = 400) -> Dataset:
    """Mixed columns with missing cells."""
    return mixed_dataset(rows, 0.1)


def test_with_complete_inputs_a_leaf_of_the_tree_is_the_prediction() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 4, size=(500, 4)).astype(float)
    values[:, 3] = (values[:, 0] + (rng.random(500) < 0.2)) % 3
    columns = [Column(f"x{i}", "categorical", 4) for i in range(3)]
    columns.append(Column("y", "categorical", 3))
    task = learning_task(columns, Table(values))
    known = KnownColumns.of(task, 64)
    inputs = [Input.of(columns[i], i, values[:, i], np.empty(0), rng) for i in range(3)]
    tree = grow_tree(inputs, [standardised(columns[3], values[:, 3])], task.table, 10, 1.0, rng)
    root = TreeCircuit(task, known, tree, {3: 2.0}, LeafOptions()).build()
    task.builder.graph.graph["root"] = root
    model = circuit_model(task.builder.graph)
    found = np.column_stack([
        np.exp(model.log_likelihood(np.column_stack([values[:, :3], np.full(500, y)]))
               - model.log_likelihood(np.column_stack([values[:, :3], np.full(500, np.nan)])))
        for y in range(3)
    ])  # fmt: skip
    whole = (np.bincount(values[:, 3].astype(int), minlength=3) + 0.1) / (500 + 0.3)
    assert len(np.unique(tree.leaf_of)) > 5
    for leaf in np.unique(tree.leaf_of):
        own = tree.leaf_of == leaf
        counts = np.bincount(values[own, 3].astype(int), minlength=3)
        wanted = (counts + 2.0 * whole) / (counts.sum() + 2.0)
        np.testing.assert_allclose(found[own], np.broadcast_to(wanted, (own.sum(), 3)), rtol=1e-9)


def test_inputs_that_no_test_mentions_are_dealt_with_once() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, size=(300, 30)).astype(float)
    values[:, 29] = values[:, 0]  # one test is enough
    columns = [Column(f"x{i}") for i in range(30)]
    graph = learn(
        DecisionTree(target=("x29",), min_instances=60, features=1.0), columns, Table(values)
    )
    # 28 columns beside the sum, and two leaves of two columns each.
    assert graph.number_of_edges() == 28 + 1 + 2 + 4


def test_a_forest_predicts_as_a_random_forest_does_also_from_half_of_the_cells() -> None:
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[:100], order[100:]
    names = [f"x{i}" for i in range(X.shape[1])]
    frame = {name: X[train, i] for i, name in enumerate(names)} | {"y": y[train].astype(str)}
    spec = {
        "model": "wine",
        "data": {"split": [1, 0, 0]},
        "forest": [{"learner": "decision-tree", "target": ["y"], "count": 40, "min_instances": 2}],
        "optimizer": {"method": "em", "max_iterations": 0},
    }
    model = spnc.train(spec, data=frame).model
    peer = RandomForestClassifier(200, random_state=0).fit(X[train], y[train])

    def loss(chances: np.ndarray) -> float:
        return float(-np.log(chances[np.arange(len(test)), y[test]]).mean())

    def ours(cells: np.ndarray) -> np.ndarray:
        found = model.predict({name: cells[:, i] for i, name in enumerate(names)}, "y")
        return np.column_stack([found[f"y={label}"] for label in "012"])

    assert loss(ours(X[test])) < 1.2 * loss(np.clip(peer.predict_proba(X[test]), 1e-3, 1))
    some = np.where(np.random.default_rng(2).random(X[test].shape) < 0.5, np.nan, X[test])
    filled = np.where(np.isnan(some), X[train].mean(axis=0), some)
    assert loss(ours(some)) < loss(np.clip(peer.predict_proba(filled), 1e-3, 1))


def test_trees_without_a_target_model_all_columns() -> None:
    dataset = made()
    alone = circuit_model(
        learn(DecisionTree(min_instances=10_000), dataset.columns, dataset.by_columns)
    )
    trees = circuit_model(learn(DecisionTree(input_prior=3.0), dataset.columns, dataset.by_columns))
    rows = made(800).train.values[400:]
    assert trees.log_likelihood(rows).mean() > alone.log_likelihood(rows).mean() + 0.2


@pytest.mark.parametrize("most", [3, 100])
def test_cuts_lie_between_values(most: int) -> None:
    values = np.array([1.0, 1.0, 2.0, 5.0, 5.0, 5.0, 9.0, np.nan])
    cuts = cuts_between(values, most)
    assert len(cuts) <= most
    assert set(cuts) <= {1.5, 3.5, 7.0}
    assert len(cuts) == 3 or most < 3


def test_a_mixture_given_an_interval_has_the_parts_that_lie_in_it() -> None:
    column = mixed_dataset(50).columns[[c.kind for c in mixed_dataset(50).columns].index("real")]
    model = LeafModel((Point(0.0, 1.0), Gaussian(10.0, 1.0), Gaussian(20.0, 1.0)), (0.5, 0.3, 0.2))
    found = restricted_model(model, interval(5.0, 15.0), column)
    assert len(found.parts) == 2  # the second Gaussian has some mass there, the point has none
    assert found.weights[0] == pytest.approx(1.0, abs=1e-5)
    [leaf] = restricted_model(
        LeafModel((Categorical((0.2, 0.3, 0.5)),)),
        some_states([0, 2]),
        Column("c", "categorical", 3),
    ).parts
    assert leaf.row == pytest.approx((0.2 / 0.7, 0.0, 0.5 / 0.7))


def test_an_unknown_target_is_reported() -> None:
    sink = Sink()
    DecisionTree(target=("visit",)).verify(made(50), sink)
    [problem] = sink.diagnostics
    assert problem.code == "E320"
    assert "`visit`" in problem.message


def test_a_target_that_is_left_out_is_reported_as_such() -> None:
    spec = {
        "model": "m",
        "data": {"source": "builtin:iris", "columns": {"species": "ignore"}},
        "forest": [{"learner": "decision-tree", "target": ["species"]}],
        "optimizer": {"method": "em"},
    }
    [problem] = spnc.check(spec)
    assert problem.code == "E406"


@pytest.mark.parametrize(
    "options",
    [{"target": []}, {"target": ["a", "a"]}, {"target": ["a"], "outputs": 0.3}, {"outputs": None}],
)
def test_options_that_contradict_each_other_are_reported(options: dict[str, object]) -> None:
    spec = {
        "model": "m",
        "data": {"source": "builtin:iris"},
        "forest": [{"learner": "decision-tree", **options}],
        "optimizer": {"method": "em"},
    }
    [problem] = spnc.check(spec)
    assert problem.code == "E111"
