"""Questions about events, against enumeration of all rows of random discrete circuits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc import checks
from spnc.common.arrays import Floats
from spnc.diagnostics import Sink
from spnc.program.lower import lower
from spnc.queries.condition import conditioned
from spnc.queries.conditional_sample import sample_given
from spnc.queries.events import EVERYTHING, ImpossibleError
from spnc.queries.information import entropy, mutual_information
from spnc.queries.marginal import marginalised
from spnc.queries.most_likely import most_likely
from spnc.queries.posterior import Posterior
from tests.circuits import probability
from tests.unit.queries.discrete import Enumerated, boxes_and_rows, enumerated

seeds = st.integers(0, 10_000)


@given(seeds, seeds)
def test_probabilities_of_events_are_sums_over_rows(seed: int, asked: int) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    given_boxes, given_rows = boxes_and_rows(known, asked + 1)
    posterior = Posterior(known.program, known.parameters, given_boxes)
    total = known.chances[given_rows].sum()
    np.testing.assert_allclose(np.exp(posterior.log_probability), total, atol=1e-12)
    found = posterior.log_probability_of(boxes)
    if total == 0.0:
        assert np.isnan(found)
    else:
        expected = known.chances[given_rows & inside].sum() / total
        np.testing.assert_allclose(np.exp(found), expected, atol=1e-12)


@given(seeds, seeds)
def test_columns_given_an_event_are_distributed_as_the_rows_say(seed: int, asked: int) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    total = known.chances[inside].sum()
    assume(total > 0.0)
    posterior = Posterior(known.program, known.parameters, boxes)
    for i, column in enumerate(known.program.columns):
        mixture = posterior.column(i)
        states, weights = known.rows[inside, i], known.chances[inside] / total
        expected = np.bincount(states.astype(int), weights=weights, minlength=column.states)
        np.testing.assert_allclose(mixture.probabilities(), expected, atol=1e-12)
        mean = weights @ states
        np.testing.assert_allclose(mixture.mean(), mean, atol=1e-12)
        np.testing.assert_allclose(mixture.variance(), weights @ (states - mean) ** 2, atol=1e-12)
        below = np.cumsum(expected)
        assert (
            mixture.quantile(0.5) == np.argmax(below >= 0.5 - 1e-12) or np.isclose(below, 0.5).any()
        )
        assert mixture.mode() in np.flatnonzero(np.isclose(expected, expected.max()))
        drawn = mixture.sample(200, np.random.default_rng(0))
        assert (expected[drawn.astype(int)] > 0.0).all()


@given(seeds, seeds)
def test_a_conditioned_circuit_is_valid_and_has_the_rows_of_the_event(
    seed: int, asked: int
) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    total = known.chances[inside].sum()
    if total == 0.0:
        with pytest.raises(ImpossibleError):
            conditioned(known.program, known.parameters, boxes)
        return
    graph = conditioned(known.program, known.parameters, boxes)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    expected = np.where(inside, known.chances / total, 0.0)
    found = [probability(graph, row) for row in known.rows]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    program, parameters = lower(graph)
    again, rows = boxes_and_rows(known, asked + 1)
    both = Posterior(program, parameters).log_probability_of(again)
    np.testing.assert_allclose(np.exp(both), expected[rows].sum(), atol=1e-12)


@given(seeds, st.permutations(range(4)), st.integers(1, 4))
def test_a_marginal_circuit_is_valid_and_sums_the_others_out(
    seed: int, order: list[int], count: int
) -> None:
    known = enumerated(seed)
    kept = order[:count]
    graph = marginalised(known.program, known.parameters, kept)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    assert [c.name for c in graph.graph["columns"]] == [f"x{i}" for i in kept]
    for row in np.unique(known.rows[:, kept], axis=0):
        same = (known.rows[:, kept] == row).all(axis=1)
        found = probability(graph, row)
        np.testing.assert_allclose(found, known.chances[same].sum(), atol=1e-12)


def joint(known: Enumerated, inside: Floats, columns: list[int]) -> Floats:
    """The joint probabilities of some columns, given rows."""
    sizes = [known.program.columns[i].states for i in columns]
    found = np.zeros(sizes)
    np.add.at(found, tuple(known.rows[:, columns].T.astype(int)), known.chances * inside)
    return found / found.sum()


def nats(chances: Floats) -> float:
    some = chances[chances > 0.0]
    return float(-(some * np.log(some)).sum())


@given(seeds, seeds, st.permutations(range(4)))
def test_the_most_likely_states_are_those_of_enumeration(
    seed: int, asked: int, order: list[int]
) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    assume(known.chances[inside].sum() > 0.0)
    columns = order[: 1 + seed % 4]
    found = most_likely(known.program, known.parameters, boxes, columns)
    chances = joint(known, inside, columns)
    assert found.exact
    np.testing.assert_allclose(found.log_value, np.log(chances.max()), atol=1e-9)
    own = chances[tuple(found.row[columns].astype(int))]
    np.testing.assert_allclose(own, chances.max(), atol=1e-12)
    assert np.isnan(found.row[[i for i in range(4) if i not in columns]]).all()


@settings(max_examples=30)
@given(seeds)
def test_the_search_for_the_most_likely_states_never_claims_too_much(seed: int) -> None:
    """Without enumeration: the bound holds, and an exact answer is one."""
    known = enumerated(seed, variables=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spnc.queries.most_likely.ENUMERATED", 0)
        patch.setattr("spnc.queries.most_likely.BUDGET", seed % 20)
        found = most_likely(known.program, known.parameters, [EVERYTHING], list(range(5)))
    best = np.log(known.chances.max())
    assert found.log_value <= best + 1e-9
    assert found.upper_bound >= best - 1e-9
    if found.exact:
        np.testing.assert_allclose(found.log_value, best, atol=1e-8)


@given(seeds, seeds, st.permutations(range(4)))
def test_entropies_are_those_of_the_joint_probabilities(
    seed: int, asked: int, order: list[int]
) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    assume(known.chances[inside].sum() > 0.0)
    a, b, c, _ = order
    parts = known.program, known.parameters, boxes
    ac, bc, abc, c_only = (joint(known, inside, s) for s in ([a, c], [b, c], [a, b, c], [c]))
    found = entropy(*parts, [a, b], [c])
    assert found.exact
    np.testing.assert_allclose(found.nats, nats(abc) - nats(c_only), atol=1e-9)
    shared = mutual_information(*parts, [a], [b], [c])
    expected = nats(ac) + nats(bc) - nats(abc) - nats(c_only)
    np.testing.assert_allclose(shared.nats, expected, atol=1e-9)


@settings(max_examples=20)
@given(seeds, seeds)
def test_rows_drawn_given_an_event_are_in_it_and_come_as_often_as_they_should(
    seed: int, asked: int
) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    total = known.chances[inside].sum()
    assume(total > 0.0)
    count = 5_000
    rng = np.random.default_rng(1)
    drawn = sample_given(known.program, known.parameters, boxes, count, rng)
    sizes = tuple(column.states for column in known.program.columns)
    at = np.ravel_multi_index(tuple(drawn.T.astype(int)), sizes)
    often = np.bincount(at, minlength=len(known.rows))
    expected = np.where(inside, known.chances, 0.0) / total * count
    assert (often[expected == 0.0] == 0).all()
    spread = np.sqrt(expected + 1.0)
    assert (np.abs(often - expected) < 6.0 * spread).all()
