"""The compiled engine beside the reference: both on the same circuit and rows."""

from __future__ import annotations

import numpy as np
import pytest

from spnc.backends.numba.engine import Batch, CpuEngine
from spnc.data.table import Table
from spnc.graph.nodes import Graph
from spnc.program.lower import lower
from spnc.program.program import Parameters
from spnc.program.score import Counts
from spnc.registry import BACKENDS


def planned(graph: Graph, table: Table, threads: int = 2) -> tuple[CpuEngine, Parameters, Batch]:
    """An engine that plans its work however few the rows are, parameters, and the loaded rows."""
    program, parameters = lower(graph)
    engine: CpuEngine = BACKENDS["numba"](threads=threads, plan_rows=0).open(program)
    batch = engine.load(table)
    assert batch.executor is not None
    return engine, parameters, batch


def both(graph: Graph, table: Table) -> tuple[np.ndarray, np.ndarray, Counts, Counts]:
    """Log-likelihoods and counts of the compiled engine, and of the reference."""
    engine, parameters, batch = planned(graph, table)
    reference = BACKENDS["numpy"]().open(engine.program)
    return (
        engine.log_likelihood(parameters, batch),
        reference.log_likelihood(parameters, table),
        engine.expected_counts(parameters, batch),
        reference.expected_counts(parameters, table),
    )


def agree(graph: Graph, table: Table) -> None:
    """Expect the same log-likelihoods and counts from both."""
    found, expected, counts, expected_counts = both(graph, table)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    close_counts(counts, expected_counts)


def close_counts(one: Counts, other: Counts) -> None:
    """Expect equal counts, up to rounding."""
    assert one.weights == pytest.approx(other.weights, rel=1e-9, abs=1e-9)
    for a, b in zip(one.tables, other.tables, strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
    assert one.score.total == pytest.approx(other.score.total, rel=1e-9)
    assert one.score.impossible == pytest.approx(other.score.impossible)
