"""Densities of single cells and marginals of columns, where some columns are numeric."""

from __future__ import annotations

import numpy as np
import pytest

from spnc.data.table import Table
from spnc.program.program import Parameters
from spnc.queries import cell_probabilities
from spnc.queries.cell_probabilities import cell_log_probabilities
from spnc.queries.column_marginals import column_probabilities, leaf_shares
from tests.circuits import random_circuit, random_rows
from tests.engines import opened


@pytest.mark.parametrize("extremes", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_densities_of_cells_are_conditional(
    seed: int, extremes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One pass for a row and one query for a cell agree: p(row) / p(row without the cell)."""
    graph = random_circuit(seed, variables=6, depth=5, numeric=0.6, extremes=extremes)
    engine, parameters = opened("numpy", graph)
    values = random_rows(seed, graph.graph["columns"], 12, 0.1)
    expected = np.full(values.shape, np.nan)
    for r, c in zip(*np.nonzero(~np.isnan(values)), strict=True):
        pair = np.stack([values[r], values[r]])
        pair[1, c] = np.nan
        whole, rest = engine.log_likelihood(parameters, Table(pair))
        expected[r, c] = whole - rest if rest > -np.inf else np.nan
    for wide in (1, 10**9):  # by flows where possible, and by queries
        monkeypatch.setattr(cell_probabilities, "WIDE", wide)
        found = cell_log_probabilities(engine, parameters, values)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_marginals_are_mixtures_of_leaves(seed: int) -> None:
    graph = random_circuit(seed, variables=5, depth=5, numeric=0.5)
    engine, parameters = opened("numpy", graph)
    program = engine.program
    found = column_probabilities(engine, parameters)
    for column, p in zip(program.columns, found, strict=True):
        assert len(p) == column.states
        if column.is_finite:
            assert p.sum() == pytest.approx(1.0)
    shares = leaf_shares(engine, parameters)
    for variable, column in enumerate(program.columns):
        if not column.is_finite:
            assert_mixture(engine, parameters, shares, variable)


def assert_mixture(
    engine: object, parameters: Parameters, shares: np.ndarray, variable: int
) -> None:
    program = engine.program  # type: ignore[attr-defined]
    points = np.arange(6.0)
    rows = np.full((6, len(program.columns)), np.nan)
    rows[:, variable] = points
    wanted = np.exp(engine.log_likelihood(parameters, Table(rows)))  # type: ignore[attr-defined]
    mixed = np.zeros(6)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        own = leaf.variables == variable
        if own.any():
            columns = leaf.columns.take(own)
            densities = np.exp(leaf.kind.log_density(table[own], points[None], columns))
            mixed += shares[leaf.first : leaf.last][own] @ densities
    assert mixed == pytest.approx(wanted, rel=1e-9)
