"""EM is exact on shared nodes and never lowers the objective."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spnc.api import read_thing
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.lower import lower
from spnc.training import FitResult, FitTask, State
from spnc.training.optimizers.em import Em
from spnc.training.stops.variance import Variance
from tests.circuits import node_link_leaf, random_circuit, random_rows
from tests.engines import every_backend, opened

SEEDS = st.integers(0, 10**6)


def fit(
    backend: str, graph: object, rows: np.ndarray, em: Em, alpha: float, **more: object
) -> FitResult:
    engine, parameters = opened(backend, graph)  # type: ignore[arg-type]
    sink = Sink()
    options = {"valid": None, **more}
    prior = Smoothing.of(alpha)
    found = em.fit(FitTask(engine, parameters, Table(rows), smoothing=prior, sink=sink, **options))  # type: ignore[arg-type]
    sink.stop()
    assert found is not None
    return found


@every_backend
@settings(max_examples=60)
@given(
    seed=SEEDS,
    alpha=st.sampled_from([0.0, 0.1, 1.0]),
    missing=st.sampled_from([0.0, 0.2]),
    numeric=st.sampled_from([0.0, 0.5]),
)
@example(seed=674, alpha=0.0, missing=0.0, numeric=0.5)  # leaves that stand on single values
@example(seed=55277, alpha=0.0, missing=0.0, numeric=0.5)
def test_likelihood_plus_prior_never_falls(
    backend: str, seed: int, alpha: float, missing: float, numeric: float
) -> None:
    graph = random_circuit(seed, variables=6, depth=5, share=0.5, numeric=numeric)
    rows = random_rows(seed, graph.graph["columns"], 40, missing)
    em = Em(max_iterations=15, stop=None, patience=None)
    objectives = [r.objective for r in fit(backend, graph, rows, em, alpha).history]
    assert len(objectives) == 16
    for before, after in itertools.pairwise(objectives):
        assert after >= before - 1e-9 * abs(before)


def shared_leaf_circuit() -> object:
    """Two products share one leaf over b; a differs between them."""

    return read_thing(
        {
            "graph": {"variables": ["a", "b"]},
            "nodes": [
                {"id": "s", "kind": "sum"},
                {"id": "p", "kind": "product"},
                {"id": "q", "kind": "product"},
                node_link_leaf("a1", "a", 0.2),
                node_link_leaf("a2", "a", 0.8),
                node_link_leaf("b", "b", 0.5),
            ],
            "edges": [
                {"source": "s", "target": "p", "weight": 0.5},
                {"source": "s", "target": "q", "weight": 0.5},
                {"source": "p", "target": "a1"},
                {"source": "p", "target": "b"},
                {"source": "q", "target": "a2"},
                {"source": "q", "target": "b"},
            ],
        },
        Sink(),
    )


@every_backend
def test_a_shared_leaf_is_counted_once_per_row(backend: str) -> None:
    """Computed by hand: b is below both products, so it sees every row once, not twice."""
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    em = Em(max_iterations=1, stop=None, patience=None)
    found = fit(backend, shared_leaf_circuit(), rows, em, 0.5)
    (table,) = found.parameters.tables
    # a is 1 in three rows, of which the first product explains 0.2 each; 0 in one, 0.8 of it.
    a1, a2 = (0.6 + 0.5) / (0.6 + 0.8 + 1), (2.4 + 0.5) / (2.4 + 0.2 + 1)
    b = (3 + 0.5) / (4 + 1)
    assert sorted(table[:, 0]) == pytest.approx(sorted([a1, a2, b]), abs=1e-12)


@every_backend
def test_em_finds_the_shares_of_a_mixture_it_can_see(backend: str) -> None:
    """With leaves that tell the parts apart, the weights are the shares in the data."""
    rows = np.repeat([[1.0, 1.0], [0.0, 1.0]], [30, 10], axis=0)
    em = Em(max_iterations=200, stop=None, patience=None)
    found = fit(backend, shared_leaf_circuit(), rows, em, 0.0)
    likelihood = found.history[-1].train
    assert likelihood == pytest.approx(0.75 * np.log(0.75) + 0.25 * np.log(0.25), abs=1e-6)


@every_backend
def test_training_stops_by_the_variance_rule_and_says_so(backend: str) -> None:
    graph = random_circuit(3, variables=5)
    rows = random_rows(3, graph.graph["columns"], 60, 0.0)
    found = fit(backend, graph, rows, Em(stop=Variance(window=5, below=1e-7), patience=None), 0.1)
    assert found.stopped == "variance"
    assert found.kept == "last"
    last = [r.train for r in found.history]
    assert np.var(last[-5:]) < 1e-7
    assert np.var(last[-6:-1]) >= 1e-7


@every_backend
def test_training_stops_by_patience_and_keeps_the_best_on_validation(backend: str) -> None:
    graph = random_circuit(5, variables=6, depth=6)
    rows = random_rows(5, graph.graph["columns"], 12, 0.0)
    valid = Table(random_rows(6, graph.graph["columns"], 200, 0.0))
    em = Em(stop=None, patience=3, max_iterations=500)
    found = fit(backend, graph, rows, em, 0.01, valid=valid)
    assert found.stopped == "patience"
    assert found.kept == "best on valid"
    scores = [r.valid for r in found.history]
    assert scores[found.kept_iteration] == max(scores)
    assert found.history[-1].iteration == found.kept_iteration + 3
    engine, _ = opened(backend, graph)
    again = engine.log_likelihood(found.parameters, engine.load(valid)).mean()
    assert again == pytest.approx(max(scores))


@every_backend
def test_no_iterations_leave_the_parameters_as_they_are(backend: str) -> None:
    graph = random_circuit(8)
    rows = random_rows(8, graph.graph["columns"], 10, 0.0)
    found = fit(backend, graph, rows, Em(max_iterations=0), 0.1)
    assert found.stopped == "max_iterations"
    assert (found.parameters.weights == lower(graph)[1].weights).all()


@every_backend
def test_going_on_from_a_state_gives_the_same_bits(backend: str) -> None:
    graph = random_circuit(11, variables=6, depth=5)
    rows = random_rows(11, graph.graph["columns"], 50, 0.1)
    valid = Table(random_rows(12, graph.graph["columns"], 30, 0.0))
    em = Em(max_iterations=60, stop=None, patience=10)
    states: list[State] = []
    whole = fit(backend, graph, rows, em, 0.01, valid=valid, monitor=states.append)
    assert whole.stopped == "patience"
    assert whole.kept_iteration < len(states) - 2
    # Once before the best iteration, and once after it, when the best must be remembered.
    early, late = states[whole.kept_iteration // 2], states[whole.kept_iteration + 2]
    for state in (early, late):
        resumed = fit(backend, graph, rows, em, 0.01, valid=valid, resume=state)
        assert resumed.kept_iteration == whole.kept_iteration
        same_bits(whole, resumed)


def same_bits(whole: FitResult, resumed: FitResult) -> None:
    assert (whole.parameters.weights == resumed.parameters.weights).all()
    for one, other in zip(whole.parameters.tables, resumed.parameters.tables, strict=True):
        assert (one == other).all()
    assert [r.train for r in whole.history] == [r.train for r in resumed.history]


@every_backend
def test_impossible_validation_rows_count_against_parameters(backend: str) -> None:
    from spnc.program.score import Score

    one = Score.of(np.array([-1.0, -np.inf]), np.ones(2))
    other = Score.of(np.array([-5.0, -5.0]), np.ones(2))
    assert one.average > other.average
    assert one.rank < other.rank
