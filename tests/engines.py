"""Every way of computing that the tests run over: the backends of the registry, by name.

A new backend is tested by being there. The compiled backend comes twice: small tables are computed
row by row unless it is told to plan, and both ways must be right. The cupy backend comes four
times: on the stand-in of `tests.stand_in`, and on a device, where there is one; with launches as
they are, and with each step of a circuit a launch of its own.
"""

from __future__ import annotations

import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from spnc.backends import Engine
from spnc.backends.cupy import trouble
from spnc.backends.cupy.engine import CupyEngine
from spnc.backends.cupy.launches import Limits
from spnc.data.table import Table
from spnc.graph.nodes import Graph
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.registry import BACKENDS
from tests.stand_in.cupy_on_host import CupyOnHost, why_not

DEVICE, DEVICE_STEPWISE = "cupy", "cupy, step by step"
STAND_IN, STEPWISE = "cupy, stand-in", "cupy, stand-in, step by step"
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in BACKENDS},
    "numba, planned": ("numba", {"plan_rows": 0}),
    **dict.fromkeys((DEVICE_STEPWISE, STAND_IN, STEPWISE), ("cupy", {})),
}


def marked(way: str) -> Any:
    """A way of computing as a parameter; skipped, with the reason, where it cannot run."""
    marks: list[Any] = []
    if way in (STAND_IN, STEPWISE):
        reason = why_not()
    else:
        found = BACKENDS[WAYS[way][0]]().why_not()
        reason = None if found is None else found.message
    if way in (DEVICE, DEVICE_STEPWISE):
        marks.append(pytest.mark.gpu)
    if reason is not None:
        marks.append(pytest.mark.skip(reason=reason))
    return pytest.param(way, marks=marks)


every_backend = pytest.mark.parametrize("backend", [marked(way) for way in WAYS])


def open_engine(backend: str, program: Program, **options: Any) -> Engine:
    """An engine of one of the `WAYS`."""
    name, own = WAYS[backend]
    made = BACKENDS[name](**{**own, **options})
    if backend not in (STAND_IN, STEPWISE):
        engine: Engine = made.open(program)
    else:
        with (
            patch.dict(sys.modules, cupy=CupyOnHost()),
            patch.object(trouble, "driver_found", return_value=True),
        ):
            engine = made.open(program)
    if backend in (STEPWISE, DEVICE_STEPWISE):
        assert isinstance(engine, CupyEngine)
        engine.limits = Limits(cells=1, rows=1, many_rows=10**9)
    return engine


def opened(backend: str, graph: Graph, **options: Any) -> tuple[Engine, Parameters]:
    """An engine for a graph, and the graph's parameters."""
    program, parameters = lower(graph)
    return open_engine(backend, program, **options), parameters


def log_likelihood(backend: str, graph: Graph, values: np.ndarray) -> np.ndarray:
    """log p of every row."""
    engine, parameters = opened(backend, graph)
    return engine.log_likelihood(parameters, engine.load(Table(values)))
