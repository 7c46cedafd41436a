"""Filling, predicting and judging rows, against enumeration of random discrete circuits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.queries import likely_rows as module
from spnc.queries.anomaly import odd_cells, scores
from spnc.queries.dependence import dependence
from spnc.queries.imputation import imputation, near
from spnc.queries.likely_rows import likely_rows
from spnc.queries.prediction import prediction
from spnc.queries.sample import sample
from spnc.registry import BACKENDS
from tests.circuits import random_circuit
from tests.engines import opened
from tests.unit.queries.discrete import Enumerated, enumerated
from tests.unit.queries.test_column_given_rows import hidden, same

seeds = st.integers(0, 10_000)
some = settings(max_examples=25, deadline=None)


def engine_of(known: Enumerated, backend: str = "numpy") -> object:
    return BACKENDS[backend]().open(known.program)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@some
@given(seeds, seeds)
def test_single_cells_are_filled_with_their_most_probable_state(
    backend: str, seed: int, other: int
) -> None:
    known, threshold = enumerated(seed), 0.6
    values = hidden(known, other)
    engine = engine_of(known, backend)
    every = imputation(engine, known.parameters, Table(values), method="most-probable")
    sure = imputation(
        engine, known.parameters, Table(values), method="most-probable", threshold=threshold
    )
    for r, i in np.ndindex(values.shape):
        weights = same(known, values[r])
        total = weights.sum()
        if not np.isnan(values[r, i]):
            assert every.cells[r, i] == values[r, i]
            assert not every.filled[r, i]
        elif total == 0.0:
            assert every.impossible[r]
            assert np.isnan(every.cells[r, i])
        else:
            states = known.rows[:, i].astype(int)
            chances = np.bincount(states, weights=weights / total)
            top = chances.max()
            assert chances[int(every.cells[r, i])] == pytest.approx(top, abs=1e-9)
            assert every.probabilities[r, i] == pytest.approx(top, abs=1e-9)
            if abs(top - threshold) > 1e-9:
                assert sure.filled[r, i] == (top > threshold)
                assert np.isnan(sure.cells[r, i]) == (top < threshold)


@some
@given(seeds, seeds, st.booleans())
def test_whole_rows_are_filled_with_their_most_probable_states(
    seed: int, other: int, searching: bool
) -> None:
    """By enumeration always; a search at least finds rows that no single cell improves."""
    known = enumerated(seed)
    values = hidden(known, other)
    with pytest.MonkeyPatch.context() as patch:
        if searching:
            patch.setattr(module, "ENUMERATED", 0)
        found = likely_rows(engine_of(known), known.parameters, Table(values))
    for r, row in enumerate(values):
        weights = same(known, row)
        if weights.sum() == 0.0:
            assert np.array_equal(found.cells[r], row, equal_nan=True)
            continue
        [at] = np.flatnonzero((known.rows == found.cells[r]).all(axis=1))
        if not searching:
            assert found.exact[r]
            assert weights[at] == pytest.approx(weights.max(), abs=1e-12)
        else:
            apart = (known.rows != found.cells[r]).sum(axis=1) <= 1
            assert weights[at] >= weights[apart].max() * (1.0 - 1e-9)


@some
@given(seeds, seeds)
def test_columns_that_are_not_asked_for_are_summed_out(seed: int, other: int) -> None:
    known = enumerated(seed)
    values = hidden(known, other)
    found = imputation(
        engine_of(known), known.parameters, Table(values), [0, 2], method="most-probable-row"
    )
    assert np.array_equal(found.cells[:, [1, 3]], values[:, [1, 3]], equal_nan=True)
    for r, row in enumerate(values):
        weights = same(known, row)
        if weights.sum() == 0.0:
            continue
        joint = {}
        for own, weight in zip(known.rows[:, [0, 2]].tolist(), weights, strict=True):
            joint[tuple(own)] = joint.get(tuple(own), 0.0) + weight
        own = tuple(found.cells[r, [0, 2]].tolist())
        assert joint[own] == pytest.approx(max(joint.values()), abs=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@some
@given(seeds, seeds, st.integers(0, 3))
def test_predictions_do_not_look_at_the_target(
    backend: str, seed: int, other: int, target: int
) -> None:
    known = enumerated(seed)
    values = hidden(known, other, rows=20)
    found = prediction(engine_of(known, backend), known.parameters, Table(values), target)
    logs, right = [], []
    for r, row in enumerate(values):
        rest = row.copy()
        rest[target] = np.nan
        weights = same(known, rest)
        if weights.sum() == 0.0:
            assert found.impossible[r]
            continue
        states = known.rows[:, target].astype(int)
        chances = np.bincount(states, weights=weights / weights.sum())
        assert found.probabilities is not None
        np.testing.assert_allclose(found.probabilities[r], chances, atol=1e-9)
        if not np.isnan(row[target]):
            with np.errstate(divide="ignore"):
                logs.append(np.log(chances[int(row[target])]))
            right.append(found.best is not None and found.best[r] == row[target])
    if logs:
        assert found.scores()["rows"] == len(logs)
        assert found.scores()["accuracy"] == pytest.approx(np.mean(right))
        if np.isfinite(logs).all():
            assert found.scores()["log_loss"] == pytest.approx(-np.mean(logs), abs=1e-6)
    else:
        assert found.scores() == {}


def numeric_rows(seed: int) -> tuple[object, object, Floats]:
    graph = random_circuit(seed, variables=4, depth=4, numeric=1.0)
    engine, parameters = opened("numpy", graph)
    rng = np.random.default_rng(seed)
    return engine, parameters, sample(engine.program, parameters, 4_000, rng)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_intervals_and_probabilities_of_numbers_hold_as_often_as_they_say(seed: int) -> None:
    """On rows of the model itself."""
    engine, parameters, values = numeric_rows(seed)
    column = engine.program.columns[0]
    found = prediction(engine, parameters, Table(values), 0, interval=0.8)
    assert found.low is not None
    assert found.high is not None
    inside = (found.low <= values[:, 0]) & (values[:, 0] <= found.high)
    slack = 0.03 if column.kind != "count" else 0.2  # whole numbers overshoot
    assert 0.77 <= inside.mean() <= 0.8 + slack
    rows = values.copy()
    rows[:, 0] = np.nan
    filled = imputation(engine, parameters, Table(rows))
    right = np.abs(filled.cells[:, 0] - values[:, 0]) <= near(column)
    assert right.mean() == pytest.approx(filled.probabilities[:, 0].mean(), abs=0.03)


def test_a_prediction_of_a_number_has_the_error_that_its_spread_says() -> None:
    engine, parameters, values = numeric_rows(2)
    found = prediction(engine, parameters, Table(values), 1)
    assert found.sd is not None
    if np.isfinite(found.sd).all():
        expected = np.sqrt((found.sd**2).mean())
        assert found.scores()["rmse"] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("seed", [1, 4, 6])
def test_p_values_of_the_models_own_rows_are_uniform_or_larger(seed: int) -> None:
    known = enumerated(seed)
    rng = np.random.default_rng(8)
    values = sample(known.program, known.parameters, 3_000, rng)
    values[rng.random(values.shape) < 0.3] = np.nan
    found = scores(engine_of(known), known.parameters, Table(values), samples=3_000)
    for level in (0.05, 0.2, 0.5):
        assert (found.p_values <= level).mean() <= level + 0.03
    assert found.p_values.min() > 0.0
    one = values[0]
    weights = same(known, one)
    seen = ~np.isnan(one)
    parts = {}
    for row, chance in zip(known.rows[:, seen].tolist(), known.chances, strict=True):
        parts[tuple(row)] = parts.get(tuple(row), 0.0) + chance
    exact = sum(p for p in parts.values() if p <= weights.sum() * (1.0 + 1e-9))
    assert found.p_values[0] == pytest.approx(exact, abs=0.04)


@some
@given(seeds, seeds)
def test_odd_cells_are_those_that_another_state_would_make_more_likely(
    seed: int, other: int
) -> None:
    known = enumerated(seed)
    values = hidden(known, other)
    found = odd_cells(engine_of(known), known.parameters, Table(values), 4)
    for r, row in enumerate(values):
        ratios = {}
        for i in np.flatnonzero(~np.isnan(row)).tolist():
            rest = row.copy()
            rest[i] = np.nan
            weights = same(known, rest)
            chances = np.bincount(known.rows[:, i].astype(int), weights=weights)
            if chances.sum() > 0.0:
                with np.errstate(divide="ignore"):
                    ratios[i] = np.log(chances[int(row[i])] / chances.max())
        columns = [i for i in found.columns[r].tolist() if i >= 0]
        assert sorted(columns) == np.flatnonzero(~np.isnan(row)).tolist()
        own = found.log_ratios[r][: len(ratios)]
        assert own.tolist() == sorted(own.tolist())
        for i, ratio in zip(found.columns[r].tolist(), own.tolist(), strict=False):
            np.testing.assert_allclose(ratio, ratios[i], atol=1e-8)


@some
@given(seeds)
def test_dependence_is_the_information_of_enumeration(seed: int) -> None:
    known = enumerated(seed)

    def nats(chances: Floats) -> float:
        kept = chances[chances > 0.0]
        return float(-(kept * np.log(kept)).sum())

    columns = [2, 0, 3]
    found = dependence(known.program, known.parameters, BACKENDS["numpy"]().open, columns)
    assert [c.name for c in found.columns] == ["x2", "x0", "x3"]
    assert found.exact.all()
    for a, i in enumerate(columns):
        for b, j in enumerate(columns):
            sizes = [known.program.columns[k].states for k in (i, j)]
            joint = np.zeros(sizes)
            np.add.at(joint, tuple(known.rows[:, [i, j]].T.astype(int)), known.chances)
            if i == j:
                continue
            alone = nats(joint.sum(axis=1)), nats(joint.sum(axis=0))
            shared = sum(alone) - nats(joint)
            np.testing.assert_allclose(found.nats[a, b], shared, atol=1e-9)
            if min(alone) > 1e-6:
                np.testing.assert_allclose(found.shares[a, b], shared / min(alone), atol=1e-6)
    shares = [share for *_, share, _ in found.pairs()]
    assert shares == sorted(shares, reverse=True)


def test_dependence_of_numbers_is_that_of_drawn_rows_in_bins() -> None:
    engine, parameters, values = numeric_rows(5)
    program = engine.program
    found = dependence(program, parameters, BACKENDS["numpy"]().open, [0, 1], bins=4)
    assert not found.exact[0, 1]
    binned = []
    for i in (0, 1):
        cuts = np.quantile(values[:, i], [0.25, 0.5, 0.75])
        binned.append(np.searchsorted(cuts, values[:, i]))
    joint = np.zeros((4, 4))
    np.add.at(joint, tuple(binned), 1.0 / len(values))
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    expected = (joint * np.log(np.where(joint > 0, joint / product, 1.0))).sum()
    assert found.nats[0, 1] == pytest.approx(expected, abs=0.03)
