"""Gradients of the log-likelihood, against finite differences on random circuits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.leaves import Distribution
from spnc.leaves.exponential import Exponential
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.histogram import Histogram
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.log_normal import LogNormal
from spnc.leaves.numeric import NumericLeaf, as_numeric
from spnc.leaves.student_t import StudentT
from spnc.leaves.uniform import Uniform
from spnc.program.lower import lower
from spnc.program.program import Parameters
from spnc.queries.gradients import input_gradients, parameter_gradients
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows

STEP = 1e-6


@settings(max_examples=30)
@given(st.integers(0, 5_000), st.sampled_from(["numpy", "numba"]))
def test_gradients_by_parameters_are_limits_of_differences(seed: int, backend: str) -> None:
    graph = random_circuit(seed, variables=4, depth=4, numeric=0.4)
    program, parameters = lower(graph)
    engine = BACKENDS[backend]().open(program)
    rows = Table(random_rows(seed, program.columns, 12, 0.2))

    def total(changed: Parameters) -> float:
        return float(engine.log_likelihood(changed, engine.load(rows)).sum())

    assume(np.isfinite(total(parameters)))
    found = parameter_gradients(engine, parameters, rows)
    rng = np.random.default_rng(seed)

    def check(gradient: Floats, changed: list[Parameters], at: object) -> None:
        expected = (total(changed[0]) - total(changed[1])) / (2.0 * STEP)
        np.testing.assert_allclose(gradient[at], expected, rtol=2e-4, atol=2e-4)  # type: ignore[index]

    for slot in rng.permutation(program.slots)[:3]:
        if parameters.weights[slot] > 0.01:
            moved = [parameters.weights.copy(), parameters.weights.copy()]
            moved[0][slot] += STEP
            moved[1][slot] -= STEP
            check(found.weights, [replace(parameters, weights=w) for w in moved], slot)
    for place, leaf in enumerate(program.leaves):
        own = found.tables[place]
        n = int(rng.integers(len(leaf)))
        if leaf.distribution == "categorical" and own is not None:
            state = int(rng.integers(leaf.states))
            changed = [_moved(parameters, place, n, state, sign * STEP) for sign in (1, -1)]
            check(own, changed, (n, state))
        if leaf.distribution in ("gaussian", "poisson") and own is not None:
            kind = as_numeric(leaf.kind)
            start = kind.coordinates(parameters.tables[place], leaf.columns)
            assert start is not None
            changed = []
            for sign in (1, -1):
                there = start.copy()
                there[n, 0] += sign * STEP
                table = kind.from_coordinates(there, parameters.tables[place], leaf.columns)
                tables = list(parameters.tables)
                tables[place] = table
                changed.append(replace(parameters, tables=tuple(tables)))
            check(own, changed, (n, 0))


def _moved(parameters: Parameters, place: int, n: int, at: int, by: float) -> Parameters:
    tables = list(parameters.tables)
    tables[place] = tables[place].copy()
    tables[place][n, at] += by
    return replace(parameters, tables=tuple(tables))


@given(st.integers(0, 5_000))
def test_gradients_by_numbers_are_limits_of_differences(seed: int) -> None:
    graph = random_circuit(seed, variables=4, depth=4, numeric=0.6)
    program, parameters = lower(graph)
    engine = BACKENDS["numpy"]().open(program)
    values = random_rows(seed, program.columns, 6, 0.2)
    found = input_gradients(program, parameters, values)
    for i, column in enumerate(program.columns):
        if column.kind != "real":
            assert np.isnan(found[:, i]).all()
            continue
        logs = []
        for sign in (1, -1):
            moved = values.copy()
            moved[:, i] += sign * STEP
            logs.append(engine.log_likelihood(parameters, Table(moved)))
        with np.errstate(invalid="ignore"):
            expected = (logs[0] - logs[1]) / (2.0 * STEP)
        known = ~np.isnan(values[:, i]) & np.isfinite(expected)
        np.testing.assert_allclose(found[known, i], expected[known], rtol=1e-4, atol=1e-4)
        assert np.isnan(found[np.isnan(values[:, i]), i]).all()


@pytest.mark.parametrize(
    "leaf",
    [
        Gaussian(1.0, 2.0),
        LogNormal(0.3, 0.8),
        Gamma(2.5, 1.5),
        Gamma(0.6, 2.0),
        Exponential(0.7),
        StudentT(1.0, 2.0, 3.0),
        Uniform(0.0, 9.0),
        Histogram((0.0, 0.25, 2.0, 0.75, 9.0)),
    ],
    ids=lambda leaf: f"{type(leaf).__name__}{leaf.row}",
)
def test_slopes_of_leaves_are_limits_of_differences(leaf: Distribution) -> None:
    kind, table = as_numeric(type(leaf)), np.array([leaf.row])
    values = np.array([[0.3, 1.1, 3.7, 8.2, np.nan, -1.0]])
    columns = LeafColumns.of([Column("x", "real", 0)], np.zeros(1, dtype=np.int64))
    found = kind.slope(table, values, columns)
    step = 1e-6
    upper, lower_ = (kind.log_density(table, values + move, columns) for move in (step, -step))
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num((upper - lower_) / (2.0 * step))
    np.testing.assert_allclose(found, expected, atol=1e-7)
    by_default = NumericLeaf.slope.__func__(kind, table, values, columns)  # type: ignore[attr-defined]
    np.testing.assert_allclose(by_default, expected, atol=1e-6)
