"""Dropout: a thinned circuit is valid, its step is that of EM, the rest stays unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends import Engine
from spnc.data.table import Table
from spnc.graph.nodes import Graph
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters
from spnc.program.validity import program_problems
from spnc.training.dropout import Thinned
from spnc.training.m_step import m_step
from spnc.training.optimizers.em import Em
from tests.circuits import random_circuit, repeated_rows
from tests.engines import opened
from tests.property.test_em import same_bits
from tests.property.test_optimizers import SEEDS, fit


def thinned_circuit(seed: int, share: float) -> tuple[Graph, Engine, Parameters, Table, Thinned]:
    graph = random_circuit(seed, variables=6, depth=5, share=0.4, extremes=True)
    engine, start = opened("numpy", graph)
    table = repeated_rows(seed, graph.graph["columns"], 40, 0.1)
    rng = np.random.default_rng(seed)
    return graph, engine, start, table, Thinned.of(engine.program, start, share, rng)


def test_no_dropout_is_em_to_the_last_bit() -> None:
    graph = random_circuit(21, variables=6, depth=5)
    table = repeated_rows(21, graph.graph["columns"], 60, 0.1)
    for backend in ("numpy", "numba"):
        engine, start = opened(backend, graph)
        plain = fit(engine, start, table, Em(max_iterations=9), Smoothing.of(0.1))
        none = fit(
            engine, start, table, Em(max_iterations=9, dropout=0.0), Smoothing.of(0.1), seed=8
        )
        same_bits(plain, none)


@settings(max_examples=30)
@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.3]))
def test_a_circuit_thinned_by_nothing_takes_the_step_of_em(seed: int, alpha: float) -> None:
    _, engine, start, table, thinned = thinned_circuit(seed, 0.0)
    assert (thinned.kept == (start.weights > 0.0)).all()
    counts = engine.expected_counts(thinned.parameters, engine.load(table))
    prior = Smoothing.of(alpha)
    found = thinned.m_step(engine.program, start, counts, prior)
    if alpha == 0.0:  # with a prior, EM would make zero weights positive, which here are structure
        wanted = m_step(engine.program, start, counts, prior)
        sure = np.repeat(thinned.reached[_sums(engine)], np.diff(engine.program.weight_starts))
        assert found.weights[sure] == pytest.approx(wanted.weights[sure], abs=1e-12)
    assert (found.weights[start.weights == 0.0] == 0.0).all()


def _sums(engine: Engine) -> np.ndarray:
    parts = [np.arange(s.first, s.last) for s in engine.program.segments if s.is_sum]
    return np.concatenate([*parts, np.empty(0)]).astype(np.int64)


@settings(max_examples=40)
@given(seed=SEEDS, share=st.sampled_from([0.1, 0.5, 0.95]), alpha=st.sampled_from([0.0, 0.3]))
def test_what_is_left_out_stays_and_the_rest_climbs(seed: int, share: float, alpha: float) -> None:
    _, engine, start, table, thinned = thinned_circuit(seed, share)
    program = engine.program
    for parameters in (start, thinned.parameters):
        assert list(program_problems(program, parameters)) == []
    loaded = engine.load(table)
    counts = engine.expected_counts(thinned.parameters, loaded)
    found = thinned.m_step(program, start, counts, Smoothing.of(alpha))
    assert list(program_problems(program, found)) == []
    assert found.weights[~thinned.kept] == pytest.approx(start.weights[~thinned.kept], abs=1e-12)
    for leaf, new, old in zip(program.leaves, found.tables, start.tables, strict=True):
        cut_off = ~thinned.reached[leaf.first : leaf.last]
        assert (new[cut_off] == old[cut_off]).all()
    if alpha == 0.0:
        kept = np.where(thinned.kept, found.weights, 0.0)
        if program.slots:
            totals = np.add.reduceat(kept, program.weight_starts[:-1])
            kept = kept / np.repeat(totals, np.diff(program.weight_starts))
        after = engine.score(Parameters(kept, found.tables), loaded)
        assert after.total >= counts.score.total - 1e-9 * abs(counts.score.total)
