"""Every leaf distribution keeps the same promises. The tests run over the registry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.dataset import Column
from spnc.learners.support.leaf_fit import leaf_class
from spnc.leaves import Distribution, smoothing
from spnc.registry import LEAVES

every_leaf = pytest.mark.parametrize("name", list(LEAVES))
FIXED = [name for name in LEAVES if LEAVES[name].free_parameters(2) == 0]
SEEDS = st.integers(0, 10**6)


def random_table(leaf: type[Distribution], rng: np.random.Generator, states: int) -> np.ndarray:
    if leaf.free_parameters(states) == 0:
        return rng.integers(states, size=(4, 1)).astype(float)
    if leaf.arity == 1:
        return rng.random((4, 1))
    return rng.dirichlet(np.ones(states), size=4)


def states_of(leaf: type[Distribution], rng: np.random.Generator) -> int:
    return int(rng.integers(2, 6)) if "categorical" in leaf.kinds else 2


@every_leaf
@given(seed=SEEDS)
def test_probabilities_of_all_values_sum_to_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = LEAVES[name]
    states = states_of(leaf, rng)
    values = np.tile(np.arange(states, dtype=float), (4, 1))
    found = np.exp(leaf.log_density(random_table(leaf, rng, states), values))
    assert found.sum(axis=1) == pytest.approx(np.ones(4))


@every_leaf
@given(seed=SEEDS)
def test_a_missing_value_has_probability_one_and_counts_nothing(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = LEAVES[name]
    states = states_of(leaf, rng)
    values = np.full((4, 3), np.nan)
    assert (leaf.log_density(random_table(leaf, rng, states), values) == 0).all()
    assert (leaf.statistics(values, np.ones((4, 3)), states) == 0).all()


@pytest.mark.parametrize("name", [name for name in LEAVES if name not in FIXED])
@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.1, 2.0]))
def test_no_other_parameters_explain_the_counts_better(name: str, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    leaf = LEAVES[name]
    states = states_of(leaf, rng)
    values = rng.integers(states, size=(4, 9)).astype(float)
    flows = rng.random((4, 9))
    start = random_table(leaf, rng, states)
    best = leaf.estimate(leaf.statistics(values, flows, states), alpha, start)

    def objective(table: np.ndarray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = flows * leaf.log_density(table, values)
        return float(np.where(flows > 0, terms, 0).sum()) + leaf.log_prior(table, alpha)

    for _ in range(5):
        assert objective(best) >= objective(random_table(leaf, rng, states)) - 1e-12


@pytest.mark.parametrize("name", FIXED)
@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.1, 2.0]))
def test_a_fixed_leaf_stays_whatever_is_counted(name: str, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    leaf = LEAVES[name]
    states = states_of(leaf, rng)
    table = random_table(leaf, rng, states)
    assert (leaf.estimate(rng.random((4, states)), alpha, table) == table).all()
    assert leaf.log_prior(table, alpha) == 0.0


@every_leaf
@given(seed=SEEDS)
def test_densities_are_the_logarithms_of_the_probabilities(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = LEAVES[name]
    states = states_of(leaf, rng)
    table = random_table(leaf, rng, states)
    assert leaf.is_valid(table, states)
    values = np.tile(np.arange(states, dtype=float), (4, 1))
    found = np.exp(leaf.log_density(table, values))
    assert found == pytest.approx(leaf.probabilities(table, states))


@every_leaf
def test_without_counts_and_prior_the_parameters_stay(name: str) -> None:
    rng = np.random.default_rng(1)
    leaf = LEAVES[name]
    table = random_table(leaf, rng, 2)
    kept = leaf.estimate(np.zeros((4, 2)), 0.0, table)
    assert kept == pytest.approx(table)


@every_leaf
@given(seed=SEEDS)
def test_probabilities_make_the_same_table_again(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = LEAVES[name]
    states = states_of(leaf, rng)
    table = random_table(leaf, rng, states)
    again = leaf.from_probabilities(leaf.probabilities(table, states), table)
    assert again.shape == table.shape
    assert again == pytest.approx(table)
    other = leaf.from_probabilities(rng.dirichlet(np.ones(states), size=4), table)
    assert leaf.is_valid(other, states)


@every_leaf
def test_a_row_of_parameters_makes_the_same_leaf_again(name: str) -> None:
    leaf = LEAVES[name]
    one = leaf.from_row(np.array(leaf.uniform(2)))
    assert leaf.from_row(np.array(one.row)) == one
    assert one.problems(Column("x")) == []


def test_each_kind_of_column_has_its_leaf() -> None:
    assert leaf_class("binary").plugin_name == "bernoulli"
    assert leaf_class("categorical").plugin_name == "categorical"


@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.5]))
def test_flat_segments_are_smoothed_like_single_rows(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=6)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    counts = rng.random(sizes.sum()) * rng.integers(0, 2, size=sizes.sum())
    fallback = np.concatenate([np.full(s, 1 / s) for s in sizes])
    found = smoothing.smoothed_segments(counts, starts, alpha, fallback)
    for a, b in itertools.pairwise(starts):
        one = smoothing.smoothed(counts[a:b], alpha, fallback[a:b])
        assert found[a:b] == pytest.approx(one)
        assert found[a:b].sum() == pytest.approx(1.0)
