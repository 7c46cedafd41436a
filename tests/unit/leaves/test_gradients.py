"""Leaves over numbers in coordinates without bounds: gradients, information, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.leaves.numeric import NumericLeaf, as_numeric
from spnc.leaves.restricted import RestrictedLeaf
from spnc.registry import LEAVES
from spnc.testing.leaf_cases import LeafCase

KEEP_THEIR_PARAMETERS = {"negative-binomial", "point", "uniform"}
SEEDS = st.integers(0, 10**6)
_STEP = 1e-5


def numeric_leaves() -> dict[str, type[NumericLeaf]]:
    return {
        name: as_numeric(leaf)
        for name, leaf in LEAVES.builtin.items()
        if not leaf.is_finite and not issubclass(leaf, RestrictedLeaf)
    }


def coordinates_of(case: LeafCase) -> Floats | None:
    return as_numeric(case.leaf).coordinates(case.table, case.columns)


def with_gradients() -> list[str]:
    return [name for name in numeric_leaves() if name not in KEEP_THEIR_PARAMETERS]


def test_all_leaves_but_these_have_gradients() -> None:
    without = {
        name
        for name, leaf in numeric_leaves().items()
        if coordinates_of(LeafCase.of(leaf, 0)) is None
    }
    assert without == KEEP_THEIR_PARAMETERS


def summed(case: LeafCase, table: Floats, values: Floats, flows: Floats) -> Floats:
    """Return the summed log density of each leaf; no value is impossible."""
    logs = case.leaf.log_density(table, values, case.columns)
    found: Floats = (flows * np.where(np.isfinite(logs), logs, 0.0)).sum(axis=1)
    return found


@pytest.mark.parametrize("name", with_gradients())
@given(seed=SEEDS)
@settings(max_examples=25)
def test_gradients_are_those_of_the_log_density(name: str, seed: int) -> None:
    leaf = numeric_leaves()[name]
    case = LeafCase.of(leaf, seed)
    at = coordinates_of(case)
    assert at is not None
    values = case.some_values(20)
    values[:, ::7] = np.nan  # missing values count nothing
    flows = case.rng.uniform(-1.0, 2.0, size=values.shape)  # also of a difference of two sums
    counts = leaf.statistics(values, flows, case.table, case.columns)
    found = leaf.gradient(case.table, counts, case.columns)
    free = leaf.from_coordinates(at, case.table, case.columns)
    for k in range(at.shape[1]):
        step = np.zeros_like(at)
        step[:, k] = _STEP
        up, down = (leaf.from_coordinates(at + s, case.table, case.columns) for s in (step, -step))
        # On the resolution's bound, a leaf cannot become narrower and there is no derivative.
        inside = np.isfinite(at[:, k]) & _moves(leaf, case, at, up, down, k)
        slope = (summed(case, up, values, flows) - summed(case, down, values, flows)) / (2 * _STEP)
        size = np.abs(leaf.gradient(free, np.abs(counts), case.columns)).max() + 1.0
        assert found[inside, k] == pytest.approx(slope[inside], rel=1e-4, abs=1e-4 * size)


def _moves(
    leaf: type[NumericLeaf], case: LeafCase, at: Floats, up: Floats, down: Floats, k: int
) -> np.ndarray:
    """Return which leaves have moved by the whole step in both directions."""
    there, back = (leaf.coordinates(t, case.columns) for t in (up, down))
    assert there is not None
    assert back is not None
    both = (there - back)[:, k] if leaf.plugin_name != "histogram" else np.full(len(at), 2 * _STEP)
    others = np.delete(there - back, k, axis=1) if leaf.plugin_name != "histogram" else at[:, :0]
    free = np.abs(both - 2 * _STEP) < 1e-3 * _STEP
    still: np.ndarray = free & (np.abs(others) < 1e-3 * _STEP).all(axis=1)
    return still


@pytest.mark.parametrize("name", with_gradients())
@given(seed=SEEDS)
@settings(max_examples=25)
def test_coordinates_lead_back_to_the_parameters(name: str, seed: int) -> None:
    leaf = numeric_leaves()[name]
    case = LeafCase.of(leaf, seed)
    at = coordinates_of(case)
    assert at is not None
    back = leaf.from_coordinates(at, case.table, case.columns)
    assert back == pytest.approx(case.table, rel=1e-9)
    assert leaf.is_valid(back, case.columns)
    far = at + np.where(np.isfinite(at), case.rng.uniform(-30.0, 30.0, at.shape), 0.0)
    moved = leaf.from_coordinates(far, case.table, case.columns)
    for row in moved:
        assert not leaf.from_row(row).problems(case.column)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", with_gradients())
def test_information_is_the_variance_of_the_gradient(name: str) -> None:
    """Of values drawn from the leaf: that is what Fisher information is."""
    leaf = numeric_leaves()[name]
    case = LeafCase.of(leaf, 11)
    values = case.samples(4000)
    squares = np.zeros(leaf.information(case.table, case.columns).shape)
    for value in values.T:
        one = leaf.statistics(value[:, None], np.ones((len(value), 1)), case.table, case.columns)
        squares += leaf.gradient(case.table, one, case.columns) ** 2 / values.shape[1]
    wanted = leaf.information(case.table, case.columns)
    if name == "histogram":
        wanted = wanted * (1.0 - wanted)  # logits have one coordinate too many
    assert squares == pytest.approx(wanted, rel=0.25, abs=0.02)
