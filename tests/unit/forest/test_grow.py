"""The forest: components that differ, a uniform sum on top, circuits as components."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.compilation import lower_graph
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum, grow
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Leaf, Product, Sum, below, children, parents, payloads
from spnc.learners.circuit import Circuit
from spnc.learners.extra_spn import ExtraSpn
from spnc.leaves.smoothing import Smoothing
from spnc.spec.recipe import Component
from spnc.trained import Trained
from tests.circuits import node_link_leaf

COLUMNS = (Column("a"), Column("b"), Column("c"))
VALUES = np.random.default_rng(0).integers(2, size=(200, 3)).astype(float)
DATA = Dataset("made", COLUMNS, {"train": Table(VALUES)})


def grown(*components: Component, seed: int = 1) -> Forest:
    sink = Sink()
    forest = grow(components, DATA, smoothing=Smoothing.of(0.1), seed=seed, sink=sink)
    sink.stop()
    return forest


def test_every_component_has_a_random_stream_of_its_own() -> None:
    learner = ExtraSpn(min_instances=20, beta=0.7)
    forest = grown(Component(learner=learner, count=3))
    sizes = [len(list(below(forest.builder.graph, root))) for root in forest.roots]
    shapes = [
        [type(forest.builder.graph.nodes[n]["node"]) for n in below(forest.builder.graph, root)]
        for root in forest.roots
    ]
    assert len(sizes) == 3
    assert shapes[0] != shapes[1] or shapes[1] != shapes[2]


def test_a_component_does_not_depend_on_how_many_follow() -> None:
    learner = ExtraSpn(min_instances=20, beta=0.7)
    one = grown(Component(learner=learner, count=1)).builder.graph
    three = grown(Component(learner=learner, count=3)).builder.graph
    assert [three.nodes[n]["node"] for n in one] == [one.nodes[n]["node"] for n in one]


def test_the_sum_on_top_weighs_all_components_alike() -> None:
    graph = add_top_sum(grown(Component(learner=ExtraSpn(), count=4)))
    weights = [data["weight"] for data in graph.succ[graph.graph["root"]].values()]
    assert weights == [0.25] * 4


def circuit(tie: bool = False) -> dict[str, object]:
    """Columns in another order than the data's, with two leaves over b that are alike."""

    def leaf(name: str, variable: str, p: float) -> dict[str, object]:
        more = {"tie": "b"} if tie and variable == "b" else {}
        return node_link_leaf(name, variable, p, rows=7, **more)

    return {
        "graph": {"variables": ["c", "b", "a"]},
        "nodes": [
            {"id": "s", "kind": "sum"},
            {"id": "p", "kind": "product"},
            {"id": "q", "kind": "product"},
            leaf("a1", "a", 0.1),
            leaf("b1", "b", 0.2),
            leaf("c1", "c", 0.3),
            leaf("a2", "a", 0.9),
            leaf("b2", "b", 0.2),
            leaf("c2", "c", 0.6),
        ],
        "edges": [
            {"source": "s", "target": "p", "weight": 0.4},
            {"source": "s", "target": "q", "weight": 0.6},
            *({"source": "p", "target": n} for n in ("a1", "b1", "c1")),
            *({"source": "q", "target": n} for n in ("a2", "b2", "c2")),
        ],
    }


def test_a_circuit_s_variables_are_matched_with_the_data_s_columns_by_name(tmp_path: Path) -> None:
    file = tmp_path / "circuit.json"
    file.write_text(json.dumps(circuit()))
    forest = grown(Component(learner=Circuit(file=str(file))))
    model_graph = add_top_sum(forest)
    program, parameters = lower_graph(model_graph)
    model = spnc.Model("m", program, parameters)
    alone = spnc.compile(circuit())
    rows = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0]])
    assert model.log_likelihood(rows) == pytest.approx(alone.log_likelihood(rows[:, ::-1]))
    rows_behind = {p.rows for p in payloads(model_graph).values() if isinstance(p, Leaf)}
    assert rows_behind == {7.0}


def test_a_trained_model_can_be_a_component(tmp_path: Path) -> None:
    earlier = spnc.compile(circuit())
    earlier.save(tmp_path / "earlier.spnc")
    forest = grown(Component(learner=Circuit(file=str(tmp_path / "earlier.spnc"))))
    program, parameters = lower_graph(add_top_sum(forest))
    rows = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0]])
    found = spnc.Model("m", program, parameters).log_likelihood(rows)
    assert found == pytest.approx(earlier.log_likelihood(rows[:, ::-1]))


def test_bagging_gives_each_component_a_sample_of_the_rows() -> None:
    learner = ExtraSpn(
        min_instances=1000
    )  # factorised at once, so that the leaves show the rows it was given
    plain = grown(Component(learner=learner, count=2))
    bagged = grown(Component(learner=learner, count=2, bootstrap=True))

    def shares(forest: Forest) -> list[list[float]]:
        graph = forest.builder.graph
        return [
            [graph.nodes[n]["node"].distribution.p for n in graph.succ[root]]
            for root in forest.roots
        ]

    assert shares(plain)[0] == shares(plain)[1]
    assert shares(bagged)[0] != shares(bagged)[1]
    assert shares(bagged) == shares(grown(Component(learner=learner, count=2, bootstrap=True)))
    # Samples differ from the estimate of all rows by about a standard error.
    errors = np.abs(np.array(shares(bagged)) - np.array(shares(plain)))
    assert 0.0 < errors.max() < 5 * 0.5 / np.sqrt(len(VALUES))


def test_ties_hold_within_a_component_and_not_between_two(tmp_path: Path) -> None:
    file = tmp_path / "circuit.json"
    file.write_text(json.dumps(circuit(tie=True)))
    forest = grown(Component(learner=Circuit(file=str(file)), count=2))
    program, _ = lower_graph(add_top_sum(forest))
    assert program.facts()["leaves"] == 2 * 5


def test_a_tied_sum_is_not_merged_into_the_sum_above() -> None:
    from spnc.graph.nodes import Builder
    from spnc.leaves.bernoulli import Bernoulli
    from spnc.passes.merge import merge_sums

    builder = Builder([Column("x")])
    leaves = [builder.leaf(0, Bernoulli(p)) for p in (0.1, 0.5, 0.9)]
    inner = builder.sum(leaves[:2], [0.5, 0.5])
    builder.graph.nodes[inner]["node"] = Sum(tie="kept")
    builder.sum([inner, leaves[2]], [0.5, 0.5])
    assert len(merge_sums(builder.graph)) == 5


def test_ties_survive_node_link_json() -> None:
    from spnc.api import read_thing
    from spnc.graph.interchange import to_node_link

    graph = read_thing(circuit(tie=True), Sink())
    again = read_thing(to_node_link(graph), Sink())  # type: ignore[arg-type]
    ties = [p.tie for p in payloads(again).values() if not isinstance(p, Product)]  # type: ignore[arg-type]
    assert sorted(t for t in ties if t) == ["b", "b"]


def test_distinct_rows_carry_the_weights_of_all_that_are_equal() -> None:
    rows = np.array([[0.0, np.nan], [1.0, 1.0], [0.0, np.nan], [1.0, 0.0]])
    table = Table(rows, np.array([1.0, 2.0, 4.0, 8.0])).distinct()
    pairs = zip(table.values, table.weights, strict=True)
    found = {tuple(np.nan_to_num(row, nan=-1)): weight for row, weight in pairs}
    assert found == {(0.0, -1.0): 5.0, (1.0, 1.0): 2.0, (1.0, 0.0): 8.0}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_a_copy_is_the_same_to_the_order_of_parents_and_changes_alone(
    edges: list[tuple[int, int]],
) -> None:
    def order(builder: Builder) -> list[object]:
        graph = builder.graph
        found = [
            {n: list(near.items()) for n, near in f(graph).items()} for f in (children, parents)
        ]
        return [list(payloads(graph).items()), graph.graph.copy(), repr(found)]

    builder = Builder(COLUMNS)
    for _ in range(10):
        builder.sum()
    for i, (parent, child) in enumerate(edges):
        builder.connect(parent, child, 0.5 + i)
    before = order(builder)
    copied = builder.copy()
    assert order(copied) == before
    assert copied.product() == 10  # numbering continues
    for parent, child in edges:
        copied.graph.edges[parent, child]["weight"] = 0.0
        assert copied.graph.pred[child][parent]["weight"] == 0.0
    copied.graph.nodes[0]["node"] = Product()
    copied.graph.remove_node(1)
    copied.graph.graph["root"] = 3
    assert order(builder) == before


def test_the_sum_on_top_weighs_components_as_the_spec_says() -> None:
    entries = [Component(learner=ExtraSpn(), count=3), Component(learner=ExtraSpn(), weight=9.0)]
    graph = add_top_sum(grown(*entries))
    weights = [data["weight"] for data in graph.succ[graph.graph["root"]].values()]
    assert weights == pytest.approx([1 / 12, 1 / 12, 1 / 12, 0.75])


def trained(forest: list[dict[str, object]], iterations: int) -> spnc.Model:
    optimizer = {"method": "em", "max_iterations": iterations, "stop": "none"}
    spec = {"model": "m", "data": {"source": "builtin:iris", "split": [1, 0, 0]}}
    return spnc.train({**spec, "forest": forest, "optimizer": optimizer, "seed": 2}).model


def test_a_component_fitted_alone_is_what_training_it_gives() -> None:
    """The second component has the random stream that it has beside the first, too."""
    one = {"learner": "hclt", "states": 3}
    rows = trained([one], 5).sample(100, seed=1).cells
    together = trained([{**one, "count": 2, "fit": 12}], 0).log_likelihood(rows)
    first = trained([one], 12).log_likelihood(rows)
    fitted = trained([{**one, "fit": 12}], 0).log_likelihood(rows)
    np.testing.assert_allclose(fitted, first, rtol=1e-9)
    # The other half of the mixture is a distribution of its own: half of it can be told.
    assert (together >= first + np.log(0.5) - 1e-9).all()
    joint = trained([{**one, "count": 2}], 12).log_likelihood(rows)
    assert not np.allclose(joint, together)


def test_a_component_fitted_alone_keeps_its_best_iteration() -> None:
    entry = {"learner": "hclt", "states": 12}
    spec = {"model": "m", "data": {"source": "builtin:iris", "split": [0.3, 0.7, 0]}, "seed": 2}
    scores = []
    for iterations in (0, 3, 200):
        forest = [{**entry, "fit": iterations}]
        run = spnc.train(
            {**spec, "forest": forest, "optimizer": {"method": "em", "max_iterations": 0}}
        )
        scores.append(run.metrics.splits["valid"].avg_ll)
    assert scores[0] < scores[1] <= scores[2]  # 200 iterations would fit 45 rows too well


OBJECTIVE = {"kind": "conditional", "target": ["species"], "max_iterations": 10}
REFINED = {
    "model": "m",
    "data": {"source": "builtin:iris", "split": [0.6, 0.2, 0.2]},
    "optimizer": {"method": "em", "max_iterations": 0},
    "objective": OBJECTIVE,
}


def refined(count: int) -> Trained:
    entry = {"learner": "hclt", "states": 3, "count": count, "fit": 10, "refine": True}
    return spnc.train({**REFINED, "forest": [entry]})


def test_components_are_fitted_to_the_objective_on_their_own() -> None:
    """The forest is the mean of its components, and predicts better than without `refine`."""
    one, three = refined(1), refined(3)
    entry = {"learner": "hclt", "states": 3, "count": 3, "fit": 10}
    objective = {**OBJECTIVE, "max_iterations": 0}
    plain = spnc.train({**REFINED, "forest": [entry], "objective": objective})
    scores = [run.metrics.splits["valid"].conditional_ll for run in (three, plain)]
    assert scores[0] is not None
    assert scores[1] is not None
    assert scores[0] > scores[1]
    rows = plain.model.sample(100, seed=1).cells
    share = one.model.log_likelihood(rows) + np.log(1 / 3)
    assert (three.model.log_likelihood(rows) >= share - 1e-9).all()
    again = refined(3).model
    assert again.parameters.weights.tobytes() == three.model.parameters.weights.tobytes()


def test_a_search_over_the_objective_learns_its_components_anew() -> None:
    """A forest with `refine` depends on the objective, so tries that differ in it share none."""
    objective = {**OBJECTIVE, "prior": {"search": [0.001, 100]}}
    entry = {"learner": "hclt", "states": 3, "fit": 5, "refine": True}
    found = spnc.train({**REFINED, "forest": [entry], "objective": objective})
    first, second = (one.valid.average for one in found.tries)
    assert first != second
