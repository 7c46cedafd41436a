"""What entries of a forest count in the sum on top, fitted to validation rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.forest.shares import PRIOR_ROWS, fitted_shares, with_fitted_shares
from spnc.graph.forest import Forest
from spnc.model import to_bytes

SPEC: dict[str, Any] = {
    "model": "shares",
    "data": {"source": "builtin:digits", "split": [0.6, 0.2, 0.2]},
    "forest": [
        {"learner": "chow-liu", "count": 2, "bootstrap": True},
        {"learner": "extra-spn", "min_instances": 900},
    ],
    "shares": "fitted",
    "optimizer": {"max_iterations": 0},
    "backend": "numpy",
}


def objective(logs: Any, weights: Any, given: Any, shares: Any) -> float:
    mixed = np.log(shares @ np.exp(logs))
    return float(weights @ mixed + PRIOR_ROWS * given @ np.log(shares))


@given(seed=st.integers(0, 10**6))
def test_no_other_shares_explain_the_rows_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logs = rng.normal(-5.0, 3.0, size=(3, 40))
    weights, given = rng.integers(1, 5, size=40).astype(float), rng.dirichlet(np.ones(3) * 3.0)
    found = fitted_shares(logs, weights, given)
    assert found.sum() == pytest.approx(1.0)
    best = objective(logs, weights, given, found)
    for _ in range(30):
        other = 0.9 * found + 0.1 * rng.dirichlet(np.ones(3))
        assert objective(logs, weights, given, other) <= best + 1e-6


def test_impossible_rows_and_impossible_components() -> None:
    logs = np.array([[-1.0, -np.inf, -2.0], [-np.inf, -np.inf, -np.inf]])
    found = fitted_shares(logs, np.ones(3), np.array([0.5, 0.5]))
    assert found.tolist() == pytest.approx([4.0 / 6.0, 2.0 / 6.0])  # two rows, four pseudo-rows


def test_the_better_entry_counts_more_and_its_components_share_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Forest] = []

    def remembered(*given: Any) -> Forest:
        made.append(with_fitted_shares(*given))
        return made[-1]

    monkeypatch.setattr("spnc.forest.grow.with_fitted_shares", remembered)
    fitted, given = spnc.train(SPEC), spnc.train({**SPEC, "shares": "given"})
    scores = [run.metrics.splits["valid"].avg_ll for run in (fitted, given)]
    assert scores[0] > scores[1]
    [forest] = made
    assert sum(forest.shares) == pytest.approx(1.0)
    assert forest.shares[0] == pytest.approx(forest.shares[1])
    assert forest.shares[2] < 0.05


def test_jobs_and_repetitions_give_the_same_bits() -> None:
    one, again = (spnc.train(SPEC) for _ in range(2))
    side_by_side = spnc.train(SPEC, n_jobs=2)
    assert to_bytes(one.model) == to_bytes(again.model) == to_bytes(side_by_side.model)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"forest": [{"learner": "chow-liu"}]}, "E111"),
        ({"data": {"source": "builtin:digits"}}, "E135"),
    ],
)
def test_shares_that_cannot_be_fitted(change: dict[str, Any], code: str) -> None:
    with pytest.raises(spnc.InputError) as error:
        spnc.train({**SPEC, **change})
    assert [d.code for d in error.value.diagnostics] == [code]


def test_entries_have_smoothing_of_their_own() -> None:
    entry = {"learner": "hclt", "states": 4, "fit": 3}
    base = {**SPEC, "shares": "given", "smoothing": 0.1}
    whole = spnc.train({**base, "smoothing": 3.0, "forest": [entry, entry]})
    own = spnc.train({**base, "forest": [{**entry, "smoothing": 3.0}] * 2})
    other = spnc.train({**base, "forest": [entry, entry]})
    rows = np.random.default_rng(0).integers(0, 2, size=(20, 64)).astype(float)
    first, second, third = (run.model.log_likelihood(rows) for run in (whole, own, other))
    assert (first == second).all()
    assert not np.allclose(first, third)
