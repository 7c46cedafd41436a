"""Every way of computing that the tests run over: the backends of the registry, by name.

A new backend is tested by being there. The compiled backend comes twice: small tables are computed
row by row unless it is told to plan, and both ways must be right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spnc.backends import Engine
from spnc.data.dataset import Table
from spnc.graph.nodes import Graph
from spnc.lower import lower
from spnc.program import Parameters, Program
from spnc.registry import BACKENDS

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in BACKENDS if BACKENDS[name].available()},
    "numba, planned": ("numba", {"plan_rows": 0}),
}
every_backend = pytest.mark.parametrize("backend", list(WAYS))


def open_engine(backend: str, program: Program, **options: Any) -> Engine:
    """An engine of one of the `WAYS`."""
    name, own = WAYS[backend]
    return BACKENDS[name](**own, **options).open(program)  # type: ignore[no-any-return]


def opened(backend: str, graph: Graph, **options: Any) -> tuple[Engine, Parameters]:
    """An engine for a graph, and the graph's parameters."""
    program, parameters = lower(graph)
    return open_engine(backend, program, **options), parameters


def log_likelihood(backend: str, graph: Graph, values: np.ndarray) -> np.ndarray:
    """log p of every row."""
    engine, parameters = opened(backend, graph)
    return engine.log_likelihood(parameters, engine.load(Table(values)))
