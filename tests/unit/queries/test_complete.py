"""Missing cells drawn given the known ones: against enumeration, and against the model itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends.numba import drawing
from spnc.backends.numba.direct import DirectPass
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.gaussian import Gaussian
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.queries.complete import complete
from spnc.registry import BACKENDS
from tests.circuits import all_states, probability, random_circuit, random_rows

DRAWS = 20_000


def drawn(program: Program, parameters: Parameters, row: list[float], seed: int = 0) -> Floats:
    """The same row, completed many times."""
    table = Table(np.tile(np.array(row), (DRAWS, 1)))
    return complete(program, parameters, table, np.random.default_rng(seed))


@pytest.mark.parametrize("in_logs", [False, True], ids=["linear", "in logs"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_completions_come_as_often_as_they_are_probable(
    in_logs: bool, seed: int, data: st.DataObject
) -> None:
    graph = random_circuit(seed, variables=4, depth=4, extremes=seed % 2 == 0, share=0.5)
    program, parameters = lower(graph)
    rows = all_states(program.columns)
    chances = np.array([probability(graph, row) for row in rows])
    row = rows[data.draw(st.integers(0, len(rows) - 1))].copy()
    row[data.draw(st.lists(st.sampled_from(range(4)), unique=True, min_size=1))] = np.nan
    fits = ((rows == row) | np.isnan(row)).all(axis=1)
    with pytest.MonkeyPatch.context() as patch:
        if in_logs:
            patch.setattr(
                DirectPass, "is_exact", lambda self, logs, bound: np.zeros(len(logs), bool)
            )
        found = drawn(program, parameters, row.tolist())
    if chances[fits].sum() == 0.0:  # the known cells are impossible
        np.testing.assert_array_equal(found, np.tile(row, (DRAWS, 1)))
        return
    chances = np.where(fits, chances, 0.0) / chances[fits].sum()
    at = np.ravel_multi_index(tuple(found.T.astype(int)), [c.states for c in program.columns])
    often = np.bincount(at, minlength=len(rows))
    assert (often[chances == 0.0] == 0).all()
    deviation = np.sqrt(DRAWS * chances * (1.0 - chances)) + 1.0
    assert (np.abs(often - DRAWS * chances) < 6.0 * deviation).all()


def test_a_number_is_drawn_given_a_state_and_a_state_given_a_number() -> None:
    builder = Builder([Column("x", "real", 0), Column("y")])
    sides = [
        builder.product([builder.leaf(0, Gaussian(mean, 1.0)), builder.leaf(1, Bernoulli(p))])
        for mean, p in ((-2.0, 0.1), (2.0, 0.9))
    ]
    builder.graph.graph["root"] = builder.sum(sides, [0.5, 0.5])
    program, parameters = lower(builder.graph)
    x = drawn(program, parameters, [np.nan, 1.0])[:, 0]
    assert abs(x.mean() - (0.9 * 2.0 - 0.1 * 2.0)) < 6.0 * np.sqrt(1.0 + 4.0 * 0.36) / np.sqrt(
        DRAWS
    )
    y = drawn(program, parameters, [0.7, np.nan])[:, 1]
    right = 1.0 / (1.0 + np.exp(-4.0 * 0.7))  # the posterior of the second side
    chance = 0.9 * right + 0.1 * (1.0 - right)
    assert abs(y.mean() - chance) < 6.0 * np.sqrt(chance * (1.0 - chance) / DRAWS)
    far = drawn(program, parameters, [500.0, np.nan])[:, 1]  # both densities are beyond doubles
    assert abs(far.mean() - 0.9) < 6.0 * np.sqrt(0.09 / DRAWS)


@given(seed=st.integers(0, 10_000), rows=st.sampled_from([0, 1, 2, 15, 16, 17, 65]))
def test_known_cells_stay_and_all_others_become_possible(seed: int, rows: int) -> None:
    graph = random_circuit(seed, variables=6, numeric=0.5, share=0.5)
    program, parameters = lower(graph)
    values = random_rows(seed, program.columns, rows, 0.5).reshape(rows, 6)
    engine = BACKENDS["numba"]().open(program)
    before = values.copy()
    found = complete(engine, parameters, Table(values), np.random.default_rng(seed))
    np.testing.assert_array_equal(values, before)
    known = ~np.isnan(values)
    assert (found[known] == values[known]).all()
    possible = engine.log_likelihood(parameters, engine.load(Table(values), once=True)) > -np.inf
    assert not np.isnan(found[possible]).any()
    assert (np.isnan(found[~possible]) == np.isnan(values[~possible])).all()


def test_two_thousand_columns_are_completed_exactly() -> None:
    """The known cells are far beyond the range of doubles; one side has no chance."""
    width, half = 2_000, 1_000
    builder = Builder([Column(f"x{i}") for i in range(width)])
    sides = [
        builder.product([builder.leaf(v, Bernoulli(p)) for v in range(width)]) for p in (0.01, 0.5)
    ]
    builder.graph.graph["root"] = builder.sum(sides, [0.5, 0.5])
    program, parameters = lower(builder.graph)
    rows = np.full((40, width), np.nan)
    rows[:20, :half], rows[20:, :half] = 0.0, 1.0
    found = complete(program, parameters, Table(rows), np.random.default_rng(1))[:, half:]
    assert abs(found[:20].mean() - 0.01) < 0.006
    assert abs(found[20:].mean() - 0.5) < 0.03


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(drawing, "PIECE_ROWS", 500)
    program, parameters = lower(random_circuit(5, variables=6, numeric=0.3))
    table = Table(random_rows(5, program.columns, 1_300, 0.5))
    expected = complete(program, parameters, table, np.random.default_rng(2))
    engine = BACKENDS["numba"](threads=threads).open(program)
    monkeypatch.setattr("spnc.backends.numba.direct.WORTH_SHARING", 1)
    found = complete(engine, parameters, table, np.random.default_rng(2))
    np.testing.assert_array_equal(found, expected)
