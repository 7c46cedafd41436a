"""Every leaf distribution keeps the promises of `spnc.testing`. The tests run over the registry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.learners.support.leaf_fit import leaf_class
from spnc.leaves import smoothing
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES
from spnc.testing import LEAF_PROMISES, Promise, check_leaf
from tests.contract.promising import every, keeps
from tests.places import ROOT

SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("name", list(LEAVES))
@every(LEAF_PROMISES)
def test_a_leaf_keeps_its_promises(name: str, promise: Promise) -> None:
    keeps(promise, LEAVES[name])


@pytest.mark.parametrize("name", list(LEAVES))
def test_a_leaf_passes_the_suite_as_others_would_run_it(name: str) -> None:
    check_leaf(LEAVES[name], seeds=2)


class Spike(Gaussian):
    """A Gaussian whose variance may collapse."""

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        wide = Gaussian.best(averages, table, columns)
        free = np.sqrt(np.maximum(averages[:, 1] - averages[:, 0] ** 2, 1e-12)) * columns.sd
        return np.stack([wide[:, 0], free], axis=1)

    def problems(self, column: Column) -> list[str]:
        del column
        return []


class Shifted(Gaussian):
    """A Gaussian that is estimated a little beside its mean."""

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        found = Gaussian.best(averages, table, columns)
        found[:, 0] += 0.05 * columns.sd
        return found


class WrongTail(Gaussian):
    """A Gaussian whose cdf is that of a narrower one."""

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        return Gaussian.cdf(table * [1.0, 0.5], values, columns)


class Unweighted(Gaussian):
    """A Gaussian that does not see that values are missing."""

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        found = Gaussian.features(values, columns)
        return [np.ones_like(found[0]), *found[1:]]


class WideSamples(Gaussian):
    """A Gaussian that draws from twice its width."""

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        return Gaussian.sample(table * [1.0, 2.0], columns, rng)


@pytest.mark.parametrize(
    ("leaf", "promise"),
    [
        (Spike, "no leaf is narrower than its column"),
        (Shifted, "no other parameters explain the counts better"),
        (WrongTail, "the density adds up to the probability|interval is the difference"),
        (Unweighted, "a missing value has probability one and counts nothing"),
        (WideSamples, "samples follow the cdf"),
    ],
)
def test_the_suite_finds_what_is_wrong(leaf: type[Gaussian], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_leaf(leaf)


def test_each_kind_of_column_has_its_leaf() -> None:
    assert leaf_class("binary").plugin_name == "bernoulli"
    assert leaf_class("categorical").plugin_name == "categorical"
    assert leaf_class("real").plugin_name == "gaussian"


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


def test_the_page_about_leaves_lists_every_leaf() -> None:
    page = (ROOT / "docs/leaves.md").read_text(encoding="utf-8")
    assert [name for name in LEAVES.builtin if f"| `{name}(" not in page] == []
