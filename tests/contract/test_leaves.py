"""Every leaf distribution keeps the promises of `spnc.testing`. The tests run over the registry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.learners.support.leaf_choice import finite_leaf
from spnc.leaves import smoothing
from spnc.registry import LEAVES
from spnc.testing import LEAF_PROMISES, Promise, check_leaf
from tests.contract.promising import every, keeps

SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("name", list(LEAVES))
@every(LEAF_PROMISES)
def test_a_leaf_keeps_its_promises(name: str, promise: Promise) -> None:
    keeps(promise, LEAVES[name])


@pytest.mark.parametrize("name", list(LEAVES))
def test_a_leaf_passes_the_suite_as_others_would_run_it(name: str) -> None:
    check_leaf(LEAVES[name], seeds=2)


def test_each_kind_of_column_has_its_leaf() -> None:
    assert finite_leaf(Column("x")).plugin_name == "bernoulli"
    assert finite_leaf(Column("x", "categorical", 3)).plugin_name == "categorical"


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
