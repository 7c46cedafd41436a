"""Columns given the known cells of rows: against enumeration, and against the column's mixture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.log_normal import LogNormal
from spnc.program.program import Parameters, Program
from spnc.queries import leaf_weights
from spnc.queries.column_given_rows import ColumnGivenRows
from spnc.queries.column_mixture import ColumnMixture, Part
from spnc.queries.complete import complete
from spnc.queries.leaf_weights import columns_given_rows, without
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows
from tests.engines import opened
from tests.unit.queries.discrete import Enumerated, enumerated

seeds = st.integers(0, 10_000)


def hidden(known: Enumerated, seed: int, rows: int = 12) -> Floats:
    """Some rows of a model, possible and not, with some cells missing."""
    rng = np.random.default_rng(seed)
    values = known.rows[rng.integers(len(known.rows), size=rows)].copy()
    values[rng.random(values.shape) < 0.4] = np.nan
    values[0] = np.nan
    return values


def same(known: Enumerated, row: Floats) -> Floats:
    """The probabilities of all rows that have the known cells of a row, and zero."""
    agree = (np.isnan(row) | (known.rows == row)).all(axis=1)
    return np.where(agree, known.chances, 0.0)


def asked(
    engine: Engine, parameters: Parameters, values: Floats, columns: list[int]
) -> dict[int, ColumnGivenRows]:
    [(rows, found)] = columns_given_rows(engine, parameters, Table(values), columns)
    assert rows == slice(0, len(values))
    return found


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@settings(max_examples=40, deadline=None)
@given(seeds, seeds)
def test_missing_cells_have_the_probabilities_of_enumeration(
    backend: str, seed: int, other: int
) -> None:
    known = enumerated(seed)
    values = hidden(known, other)
    engine = BACKENDS[backend]().open(known.program)
    found = asked(engine, known.parameters, values, [0, 1, 2, 3])
    for i, column in enumerate(known.program.columns):
        chances, means = found[i].probabilities(), found[i].mean()
        variances, modes = found[i].variance(), found[i].mode()
        drawn = found[i].draw(np.random.default_rng(0))
        for r, row in enumerate(values):
            weights = same(known, row)
            if weights.sum() == 0.0:
                assert np.isnan(chances[r]).all()
                assert np.isnan([means[r], variances[r], modes[r], drawn[r]]).all()
                continue
            if not np.isnan(row[i]):
                continue
            states = known.rows[:, i]
            weights = weights / weights.sum()
            wanted = np.bincount(states.astype(int), weights=weights, minlength=column.states)
            np.testing.assert_allclose(chances[r], wanted, atol=1e-9)
            mean = weights @ states
            np.testing.assert_allclose(means[r], mean, atol=1e-9)
            np.testing.assert_allclose(variances[r], weights @ (states - mean) ** 2, atol=1e-9)
            assert wanted[int(modes[r])] == pytest.approx(wanted.max(), abs=1e-9)
            assert wanted[int(drawn[r])] > 0.0


def mixture_of(
    program: Program, parameters: Parameters, engine: Engine, row: Floats, i: int
) -> ColumnMixture:
    """The column's mixture for one row, by flows of the log domain."""
    nodes = np.arange(program.leaves[-1].last)
    weights, _ = leaf_weights._exact_weights(program, parameters, Table(row[None]), nodes)
    parts = []
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        own = np.flatnonzero(leaf.variables == i)
        if len(own):
            flows = weights[leaf.first + own, 0]
            parts += Part.restricted(leaf, table[own], leaf.columns.take(own), flows, None)
    return ColumnMixture(program.columns[i], parts)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(8))
def test_numbers_are_answered_as_by_the_mixture_of_each_row(backend: str, seed: int) -> None:
    graph = random_circuit(seed, variables=5, depth=5, numeric=0.7)
    engine, parameters = opened(backend, graph)
    program = engine.program
    values = random_rows(seed, program.columns, 8, 0.3)
    numeric = [i for i, column in enumerate(program.columns) if not column.is_finite]
    assert numeric
    for i in numeric:
        rest = without(Table(values), [i]).values
        one = asked(engine, parameters, rest, [i])[i]
        points = np.linspace(-3.0, 5.0, len(rest))
        if program.columns[i].kind == "count":
            points = np.arange(len(rest), dtype=np.float64)
        means, variances, below = one.mean(), one.variance(), one.cdf(points)
        dense, within = one.density(points), one.within(points, points + 1.5)
        quantiles = {share: one.quantile(share) for share in (0.001, 0.05, 0.5, 0.95)}
        modes = one.mode()
        for r, row in enumerate(rest):
            if one.impossible[r]:
                assert np.isnan([means[r], below[r], dense[r], modes[r]]).all()
                continue
            known = mixture_of(program, parameters, engine, row, i)
            at, after = points[r : r + 1], points[r : r + 1] + 1.5
            before = at - 1.0 if program.columns[i].kind == "count" else at
            if np.isfinite(known.variance()):
                np.testing.assert_allclose(variances[r], known.variance(), rtol=1e-7)
            if np.isfinite(known.mean()):
                np.testing.assert_allclose(means[r], known.mean(), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(below[r], known.cdf(at)[0], atol=1e-10)
            np.testing.assert_allclose(dense[r], known.density(at)[0], rtol=1e-9, atol=1e-300)
            expected = known.cdf(after)[0] - known.cdf(before)[0]
            np.testing.assert_allclose(within[r], expected, atol=1e-10)
            for share, found in quantiles.items():
                reached = known.cdf(found[r : r + 1])[0]
                assert reached >= share - 1e-9
                wanted = known.quantile(share)
                assert found[r] == pytest.approx(wanted, rel=1e-7, abs=1e-7) or (
                    reached == pytest.approx(share, abs=1e-9)
                )
            top = known.density(np.array([known.mode()]))[0]
            assert known.density(modes[r : r + 1])[0] >= top * (1.0 - 1e-3)


def test_rows_beyond_the_range_of_doubles_are_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What an engine loses is found by the sum of the weights."""
    known = enumerated(1)
    engine = BACKENDS["numpy"]().open(known.program)
    values = hidden(known, 3)
    expected = asked(engine, known.parameters, values, [0, 2])
    original = type(engine).node_flows

    def lossy(self: Engine, *arguments: object) -> Floats:
        flows = original(self, *arguments)
        flows[:, ::2] = 0.0
        flows[0, 1] = np.nan
        return flows

    monkeypatch.setattr(type(engine), "node_flows", lossy)
    found = asked(engine, known.parameters, values, [0, 2])
    for i in (0, 2):
        wanted = expected[i].probabilities()
        np.testing.assert_allclose(found[i].probabilities(), wanted, atol=1e-12)


def test_pieces_of_rows_give_what_all_rows_give(monkeypatch: pytest.MonkeyPatch) -> None:
    known = enumerated(4)
    engine = BACKENDS["numpy"]().open(known.program)
    values = hidden(known, 5, rows=23)
    whole = asked(engine, known.parameters, values, [1])[1].probabilities()
    monkeypatch.setattr(leaf_weights, "CELLS", 12)
    pieces = list(columns_given_rows(engine, known.parameters, Table(values), [1]))
    assert len(pieces) > 3
    parts = [found[1].probabilities() for _, found in pieces]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seeds, seeds)
def test_completed_rows_come_as_often_as_they_should(seed: int, other: int) -> None:
    known = enumerated(seed)
    row = hidden(known, other)[1]
    weights = same(known, row)
    count = 4_000
    table = Table(np.repeat(row[None], count, axis=0))
    drawn = complete(known.program, known.parameters, table, np.random.default_rng(2))
    if weights.sum() == 0.0:
        assert np.array_equal(drawn, table.values, equal_nan=True)
        return
    sizes = tuple(column.states for column in known.program.columns)
    at = np.ravel_multi_index(tuple(drawn.T.astype(int)), sizes)
    often = np.bincount(at, minlength=len(known.rows))
    expected = weights / weights.sum() * count
    assert (often[expected == 0.0] == 0).all()
    assert (np.abs(often - expected) < 6.0 * np.sqrt(expected + 1.0)).all()


def test_completed_numbers_have_the_distribution_of_the_column() -> None:
    graph = random_circuit(3, variables=4, depth=4, numeric=1.0)
    engine, parameters = opened("numpy", graph)
    program = engine.program
    row = random_rows(3, program.columns, 1, 0.0)
    row[0, :2] = np.nan
    table = Table(np.repeat(row, 3_000, axis=0))
    drawn = complete(program, parameters, table, np.random.default_rng(5))
    assert (drawn[:, 2:] == row[0, 2:]).all()
    found = asked(engine, parameters, row, [0, 1])
    for i in (0, 1):
        for share in (0.1, 0.5, 0.9):
            at = found[i].quantile(share)
            exact = found[i].cdf(at)[0]  # more than the share where values are whole
            assert (drawn[:, i] <= at).mean() == pytest.approx(exact, abs=0.04)


@pytest.mark.parametrize("seed", [1, 2, 6])
def test_moments_within_an_interval_are_those_of_the_restricted_mixture(seed: int) -> None:
    """By numerical integration of the density of each row."""
    graph = random_circuit(seed, variables=4, depth=4, numeric=1.0)
    engine, parameters = opened("numpy", graph)
    program = engine.program
    values = random_rows(seed, program.columns, 5, 0.3)
    low, high = 0.0, 3.0
    for i, column in enumerate(program.columns):
        one = asked(engine, parameters, without(Table(values), [i]).values, [i])[i]
        means, variances = one.moments_within(low, high)
        if column.kind == "count":
            points = np.arange(low, high + 1.0)
        else:
            points = np.arange(low + 5e-4, high, 1e-3)
        dense = np.stack([one.density(np.full(one.rows, x)) for x in points])
        total = dense.sum(axis=0)
        some = np.isfinite(means) & (total > 1e-6)
        weights = dense[:, some] / total[some]
        mean = points @ weights
        np.testing.assert_allclose(means[some], mean, atol=0.02)
        spread = (points**2) @ weights - mean**2
        np.testing.assert_allclose(variances[some], spread, atol=0.02)


def test_far_tails_do_not_move_what_is_usual() -> None:
    """A log-normal leaf with a huge mean, which a cell has with little probability."""
    scale = Scale(resolution=0.1, low=0.0, high=10.0, mean=5.0, sd=2.0)
    builder = Builder([Column("x", "real", 0, scale=scale)])
    leaves = [builder.leaf(0, Gaussian(5.0, 1.0)), builder.leaf(0, LogNormal(1.0, 8.0))]
    builder.graph.graph["root"] = builder.sum(leaves, [0.999, 0.001])
    engine, parameters = opened("numpy", builder.graph)
    one = asked(engine, parameters, np.full((1, 1), np.nan), [0])[0]
    assert one.mean()[0] > 1e6
    mean, variance = one.usual_moments()
    assert mean[0] == pytest.approx(5.0, abs=0.01)
    assert variance[0] == pytest.approx(1.0, abs=0.02)
