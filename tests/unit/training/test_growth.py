"""Long trainings, and many trainings in one process, do not take more and more memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.data.table import Table
from spnc.leaves.smoothing import Smoothing
from spnc.training.m_step import m_step
from tests.circuits import random_circuit, random_rows
from tests.engines import opened

ITERATIONS = 10_000
TRAININGS = 100
TRACED = 2_000  # repetitions at the end in which objects are traced, which makes them slow
# Bytes of objects: a number kept by each traced iteration would be 64,000.
MOST_OBJECTS = 50_000
# Of the whole process: what compiled code keeps is not seen otherwise. Allocators keep some pages.
MOST_PAGES = 4_000_000
STATM = Path("/proc/self/statm")
PAGE = 4_096


def resident() -> int:
    """Memory of the process in bytes; 0 where the system does not say."""
    return PAGE * int(STATM.read_text().split()[1]) if STATM.exists() else 0


def growth(work: Callable[[], object], times: int) -> tuple[int, int]:
    """Bytes that the second half of many repetitions has added: in objects, and of the process."""
    for _ in range(times // 2):
        work()
    gc.collect()
    before, traced = resident(), min(times // 2, TRACED)
    for _ in range(times - times // 2 - traced):
        work()
    tracemalloc.start()
    try:
        for _ in range(traced):
            work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], resident() - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("backend", ["numpy", "numba, planned"])
def test_ten_thousand_iterations_of_em_take_no_more_memory_than_a_few(backend: str) -> None:
    graph = random_circuit(3, variables=4, depth=3, binary_only=True)
    engine, parameters = opened(backend, graph)
    batch = engine.load(Table(random_rows(3, graph.graph["columns"], 12, 0.1)))
    smoothing = Smoothing.of(0.1)

    def iterate() -> None:
        nonlocal parameters
        counts = engine.expected_counts(parameters, batch)
        parameters = m_step(engine.program, parameters, counts, smoothing)

    objects, process = growth(iterate, ITERATIONS)
    assert np.isfinite(parameters.weights).all()
    assert objects < MOST_OBJECTS
    assert process < MOST_PAGES


def test_a_hundred_trainings_take_no_more_memory_than_a_few() -> None:
    rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1]] * 4)
    spec = {
        "model": "small",
        "forest": [{"learner": "extra-spn", "count": 2}],
        "optimizer": {"method": "em", "max_iterations": 3},
    }
    objects, process = growth(lambda: spnc.train(spec, data=rows), TRAININGS)
    assert objects < MOST_OBJECTS
    assert process < MOST_PAGES
