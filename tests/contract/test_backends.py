"""Every backend keeps the promises of `spnc.testing`. The tests run over the registry.

A new backend is tested by being there.
"""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.table import Table
from spnc.registry import BACKENDS
from spnc.testing import BACKEND_PROMISES, Promise, check_backend
from tests.circuits import random_circuit, random_rows
from tests.contract.promising import every, keeps
from tests.engines import every_backend, open_engine, opened

SEEDS = st.integers(0, 10**6)


@every_backend
@every(BACKEND_PROMISES)
def test_a_backend_keeps_its_promises(backend: str, promise: Promise) -> None:
    keeps(promise, partial(open_engine, backend))


def test_a_backend_passes_the_suite_as_others_would_run_it() -> None:
    check_backend(BACKENDS["numpy"](), seeds=2)


@given(seed=SEEDS)
def test_the_reference_gives_the_same_values_whatever_the_chunk(seed: int) -> None:
    graph = random_circuit(seed)
    rows = random_rows(seed, graph.graph["columns"], 50, 0.1)
    small, parameters = opened("numpy", graph, chunk_mb=1e-6)
    large, _ = opened("numpy", graph)
    assert small.chunk_rows == 1  # type: ignore[attr-defined]
    one = small.log_likelihood(parameters, Table(rows))
    assert (one == large.log_likelihood(parameters, Table(rows))).all()
    a = small.expected_counts(parameters, Table(rows))
    b = large.expected_counts(parameters, Table(rows))
    assert a.weights == pytest.approx(b.weights, rel=1e-12, abs=1e-12)


def test_the_reference_needs_no_more_memory_for_more_rows() -> None:
    import tracemalloc

    graph = random_circuit(4, variables=12, depth=7, binary_only=True)
    engine, parameters = opened("numpy", graph, chunk_mb=1.0)
    peaks = []
    for rows in (5_000, 50_000):
        table = Table(random_rows(1, graph.graph["columns"], rows, 0.0))
        tracemalloc.start()
        engine.expected_counts(parameters, table)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    per_row = 45_000 * 8 * 4  # log-likelihoods and their weighted sum: a few numbers a row
    assert peaks[1] < peaks[0] + per_row
