"""Rows that are seen once: what the direct pass does with them, against the NumPy backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.backends.numba.engine import CpuEngine
from spnc.backends.numba.log_domain import LogDomain
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.uniform import Uniform
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows


def once(program: Program, parameters: Parameters, rows: Floats, **options: Any) -> Floats:
    engine: CpuEngine = BACKENDS["numba"](**options).open(program)
    return engine.log_likelihood(parameters, engine.load(Table(rows), once=True))


def defined(program: Program, parameters: Parameters, rows: Floats) -> Floats:
    engine = BACKENDS["numpy"]().open(program)
    return engine.log_likelihood(parameters, engine.load(Table(rows)))  # type: ignore[no-any-return]


def crossed(low: float) -> Graph:
    """Two products, in each of which another column is far away: the root is nearly zero."""
    builder = Builder([Column("x", "real", 0), Column("y", "real", 0)])
    near, far = Gaussian(0.0, 1.0), Gaussian(low, 1.0)
    sides = [
        builder.product([builder.leaf(0, a), builder.leaf(1, b)])
        for a, b in ((near, far), (far, near))
    ]
    builder.graph.graph["root"] = builder.sum(sides, [0.5, 0.5])
    return builder.graph


@pytest.mark.parametrize("low", [5.0, 20.0, 36.0, 37.5, 50.0, 1e6])
@pytest.mark.parametrize("rows", [1, 30])
def test_what_is_beyond_the_range_of_doubles_is_not_impossible(low: float, rows: int) -> None:
    program, parameters = lower(crossed(low))
    cells = np.random.default_rng(0).normal(0.0, 0.1, (rows, 2))
    found = once(program, parameters, cells)
    np.testing.assert_allclose(found, defined(program, parameters, cells), rtol=1e-12)


def test_a_value_outside_every_support_is_impossible_and_no_other() -> None:
    builder = Builder([Column("x", "real", 0)])
    leaves = [builder.leaf(0, Uniform(0.0, 1.0)), builder.leaf(0, Uniform(2.0, 3.0))]
    builder.graph.graph["root"] = builder.sum(leaves, [0.5, 0.5])
    program, parameters = lower(builder.graph)
    rows = np.array([[0.5], [1.5], [2.5], [np.nan]] * 10)
    wanted = [np.log(0.5), -np.inf, np.log(0.5), 0.0] * 10
    np.testing.assert_allclose(once(program, parameters, rows), wanted)


@pytest.mark.parametrize("columns", [200, 2_000])
def test_only_rows_that_leave_the_range_go_to_the_log_domain(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    rng = np.random.default_rng(columns)
    builder = Builder([Column(f"x{i}") for i in range(columns)])
    sides = [
        builder.product([builder.leaf(v, Bernoulli(float(p))) for v, p in enumerate(chances)])
        for chances in rng.uniform(0.05, 0.95, (3, columns))
    ]
    builder.graph.graph["root"] = builder.sum(sides, [0.2, 0.3, 0.5])
    program, parameters = lower(builder.graph)
    left: list[int] = []

    def finish(self: LogDomain, parameters: Parameters, encoded: Any, found: Floats) -> None:
        left.append(int(np.isnan(found).sum()))
        original(self, parameters, encoded, found)

    original = LogDomain.finish
    monkeypatch.setattr(LogDomain, "finish", finish)
    rows = (rng.random((100, columns)) < 0.5).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    found = once(program, parameters, rows)
    np.testing.assert_allclose(found, defined(program, parameters, rows), rtol=1e-11)
    assert sum(left) <= (0 if columns == 200 else 100)


@given(seed=st.integers(0, 10_000))
def test_a_row_has_the_same_bits_in_any_company(seed: int) -> None:
    program, parameters = lower(random_circuit(seed, variables=5, share=0.5))
    rows = random_rows(seed, program.columns, 100, 0.2)
    whole = once(program, parameters, rows)
    assert (once(program, parameters, rows[50:]) == whole[50:]).all()
    assert (once(program, parameters, rows[::-1])[::-1] == whole).all()


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr("spnc.backends.numba.direct.WORTH_SHARING", 1)
    program, parameters = lower(random_circuit(3, variables=6, numeric=0.4))
    rows = random_rows(3, program.columns, 1_000, 0.2)
    one = once(program, parameters, rows, threads=1)
    assert (one == once(program, parameters, rows, threads=threads)).all()


def test_other_parameters_are_not_mistaken_for_those_before() -> None:
    builder = Builder([Column("x")])
    builder.graph.graph["root"] = builder.leaf(0, Bernoulli(0.25))
    program, parameters = lower(builder.graph)
    engine = BACKENDS["numba"]().open(program)
    batch = engine.load(Table(np.ones((1, 1))), once=True)
    assert np.exp(engine.log_likelihood(parameters, batch)) == pytest.approx([0.25])
    other = Parameters(parameters.weights, (np.array([[0.75]]),))
    assert np.exp(engine.log_likelihood(other, batch)) == pytest.approx([0.75])
