"""Leaves in strips: compiled loops compute what the distributions' own methods define."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.backends.numba.normal_kernels import normal_ratios
from spnc.backends.numba.strip_leaves import AnyLeaves, NormalLeaves, StripLeaves, strip_leaves
from spnc.backends.planning.encoding import encode
from spnc.backends.planning.program_index import ProgramIndex
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.log_normal import LogNormal
from spnc.leaves.normal import NormalLeaf, Parabolas
from spnc.program.lower import lower

ROWS, STRIP = 40, 48
NORMAL = (Gaussian, LogNormal)


def both_ways(leaf: type[NormalLeaf], pairs: list[Any], values: Any) -> list[StripLeaves]:
    """The same leaves over one wide column, by compiled loops and by NumPy."""
    column = Column("x", "real", 0, scale=Scale(1e-9, -5.0, 5.0, 0.5, 2.0, 0.1, 1.5))
    builder = Builder((column,))
    leaves = [builder.leaf(0, leaf(*pair)) for pair in pairs]  # type: ignore[call-arg]
    builder.graph.graph["root"] = builder.sum(leaves, [1.0 / len(leaves)] * len(leaves))
    program, parameters = lower(builder.graph)
    encoded = encode(ProgramIndex(program), Table(values[:, None]), most_codes=1)
    (group,) = encoded.index.leaf_groups
    found: list[StripLeaves] = [NormalLeaves(group, encoded, leaf), AnyLeaves(group, encoded)]
    for own in found:
        own.start(parameters)
    return found


@given(
    leaf=st.sampled_from(NORMAL),
    seed=st.integers(0, 999),
    spread=st.sampled_from([1e-6, 0.1, 1.0, 1e3]),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_compiled_loops_agree_with_numpy(
    leaf: type[NormalLeaf], seed: int, spread: float, missing: float
) -> None:
    """Values far from a leaf, impossible ones and missing ones included."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.5, 2.0, ROWS)
    values[rng.random(ROWS) < missing] = np.nan
    pairs = list(zip(rng.normal(size=4), spread * rng.uniform(0.5, 2.0, 4), strict=True))
    compiled, plain = both_ways(leaf, pairs, values)
    rows, ratios = slice(0, ROWS), np.full((2, len(pairs), STRIP), np.nan)
    low = [own.fill(rows, out) for own, out in zip((compiled, plain), ratios, strict=True)]
    assert low[0] == low[1]
    assert (ratios[:, :, ROWS:] == 0.0).all()
    assert ((ratios[0] == 0.0) == (ratios[1] == 0.0)).all()
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-11)
    flows = rng.random((len(pairs), STRIP)) * (ratios[0] > 0.0)
    found, expected = (own.statistics(rows, flows) for own in (compiled, plain))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_ratios_are_exact_zero_or_infinite_as_the_library_has_them() -> None:
    heights = np.array([*np.linspace(-689.0, 709.0, 1500), -700.0, -np.inf, 720.0])
    parabolas = Parabolas(np.zeros(len(heights)), np.ones(len(heights)), heights)
    found = np.empty((len(heights), 1))
    codes = np.zeros(1, dtype=np.uint16)
    assert normal_ratios(np.zeros(1), np.zeros(1), codes, np.zeros(1), parabolas, found)
    inside, (low, impossible, high) = found[:-3, 0], found[-3:, 0]
    assert inside == pytest.approx(np.exp(heights[:-3]), rel=1e-15)
    assert (low, impossible, high) == (pytest.approx(1e-300, rel=1e-12), 0.0, np.inf)


def test_a_strip_of_other_leaves_is_computed_by_numpy() -> None:
    builder = Builder((Column("x", "real", 0, scale=Scale(1e-9, 0.1, 5.0, 0.5, 2.0)),))
    builder.graph.graph["root"] = builder.leaf(0, Gamma(2.0, 1.0))
    program, _ = lower(builder.graph)
    encoded = encode(ProgramIndex(program), Table(np.linspace(0.1, 5.0, 9)[:, None]), most_codes=1)
    (group,) = encoded.index.leaf_groups
    assert isinstance(strip_leaves(group, encoded), AnyLeaves)
