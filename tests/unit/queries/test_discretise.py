"""Numbers in bins: the probabilities of bins are those of the model, and rows fall into them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson
from spnc.model import Model
from spnc.program.lower import lower
from spnc.program.validity import program_problems
from spnc.queries.column_marginals import column_probabilities
from spnc.queries.discretise import (
    bin_codes,
    cuts_by_rows,
    cuts_by_scale,
    discretised,
    discretised_columns,
    discretised_table,
    weighted_quantiles,
)
from spnc.registry import BACKENDS

COLUMNS = (
    Column("x", "real", 0, None, Scale(0.5, -3.0, 6.0, 1.0, 2.0)),
    Column("n", "count", 0, None, Scale(1.0, 0.0, 12.0, 4.0, 2.5)),
    Column("b"),
)


def mixture(weight: float = 0.3, backend: str = "numpy") -> Model:
    """A sum of two products of a Gaussian, a Poisson and a Bernoulli leaf."""
    builder = Builder(COLUMNS)
    parts = [
        builder.product(
            [
                builder.leaf(0, Gaussian(mean, 1.0)),
                builder.leaf(1, Poisson(rate)),
                builder.leaf(2, Bernoulli(p)),
            ]
        )
        for mean, rate, p in ((-1.0, 2.0, 0.9), (3.0, 6.0, 0.2))
    ]
    builder.graph.graph["root"] = builder.sum(parts, [weight, 1.0 - weight])
    return Model("mixture", *lower(builder.graph), {}, BACKENDS[backend]())


def density(model: Model, place: int, values: Floats) -> Floats:
    rows = np.full((len(values), len(model.columns)), np.nan)
    rows[:, place] = values
    return np.exp(model._log_likelihood(Table(rows)))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_bins_have_the_probability_that_the_density_integrates_to(backend: str) -> None:
    model = mixture(backend=backend)
    cuts = {0: np.array([-2.0, 0.0, 0.0, 1.5, 4.0]), 1: np.array([0.5, 1.5, 4.5, 7.5, 9.5])}
    reals, counts, binary = column_probabilities(*model.discretised(cuts))
    points = np.linspace(-2.0, 0.0, 20_001)
    assert reals[1] == pytest.approx(np.trapezoid(density(model, 0, points), points), abs=1e-8)
    assert reals[2] == 0.0  # between equal cuts there is nothing
    assert counts[0] == pytest.approx(density(model, 1, np.zeros(1))[0], abs=1e-12)
    assert counts[2] == pytest.approx(density(model, 1, np.arange(2.0, 5.0)).sum(), abs=1e-12)
    assert binary[1] == pytest.approx(0.3 * 0.9 + 0.7 * 0.2)
    for shares in (reals, counts, binary):
        assert shares.sum() == pytest.approx(1.0)


def test_the_discretised_program_is_valid_and_leaves_finite_columns_alone() -> None:
    model = mixture()
    cuts = cuts_by_scale(model.columns)
    program, parameters = discretised(model.program, model.parameters, cuts)
    assert list(program_problems(program, parameters)) == []
    assert [c.states for c in program.columns] == [8, 8, 2]
    assert program.columns == discretised_columns(model.columns, cuts)
    same = discretised(model.program, model.parameters, {})
    assert same[0] is model.program


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
def test_drawn_rows_fall_into_bins_as_often_as_they_are_probable(seed: int, weight: float) -> None:
    model = mixture(weight)
    drawn = Table(model.sample(4_000, seed).cells)
    cuts = cuts_by_rows(model.columns, drawn)
    binned = discretised_table(drawn, model.columns, cuts)
    shares = column_probabilities(*model.discretised(cuts))
    for i in (0, 1):
        often = np.bincount(binned.column(i).astype(int), minlength=8) / drawn.rows
        assert np.abs(often - shares[i]).max() < 0.05


def test_columns_that_are_independent_have_no_mutual_information() -> None:
    assert mixture(weight=1.0).mutual_information() == pytest.approx(np.zeros((3, 3)), abs=1e-9)
    found = mixture().mutual_information()
    np.testing.assert_allclose(found, found.T, atol=1e-15)
    assert found[0, 2] > 0.1


def test_mutual_information_of_bins_approaches_that_of_the_densities() -> None:
    model = mixture()
    grid = np.linspace(-6.0, 8.0, 4_001)
    step = grid[1] - grid[0]
    rows = np.full((2 * len(grid), 3), np.nan)
    rows[:, 0], rows[:, 2] = np.tile(grid, 2), np.repeat([0.0, 1.0], len(grid))
    joint = np.exp(model._log_likelihood(Table(rows))).reshape(2, -1) * step
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    exact = float((joint * np.log(joint / apart)).sum())
    fine = {0: np.linspace(-5.0, 7.0, 63), 1: np.linspace(0.5, 62.5, 63)}
    assert model.mutual_information(cuts=fine)[0, 2] == pytest.approx(exact, abs=1e-3)
    assert model.mutual_information()[0, 2] <= exact + 1e-9


def test_quantiles_follow_the_weights_and_skip_missing_values() -> None:
    values = np.array([3.0, np.nan, 1.0, 2.0])
    shares = np.array([0.2, 0.5, 1.0])
    assert weighted_quantiles(values, np.ones(4), shares).tolist() == [1.0, 2.0, 3.0]
    assert weighted_quantiles(values, np.array([9.0, 9.0, 1.0, 1.0]), shares).tolist() == [3.0] * 3
    assert weighted_quantiles(np.full(2, np.nan), np.ones(2), shares).tolist() == [0.0] * 3


def test_a_cut_lies_between_two_values_and_missing_cells_stay_missing() -> None:
    table = Table(np.array([[0.0, 1.0, 1.0], [0.5, 2.0, 0.0], [np.nan, 2.0, np.nan]]))
    cuts = cuts_by_rows(COLUMNS, table, 2)
    assert cuts[0].tolist() == [0.25]
    assert cuts[1].tolist() == [2.5]
    binned = discretised_table(table, COLUMNS, cuts)
    np.testing.assert_array_equal(binned.column(0), [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(binned.column(2), table.column(2))
    assert bin_codes(np.array([2.5, 2.6]), cuts[1]).tolist() == [0.0, 1.0]
