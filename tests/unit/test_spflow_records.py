"""spnc's log-likelihoods equal those of SPFlow 0.0.48.

The records hold circuits, inputs and SPFlow's log-likelihoods. `python -m benchmarks.record_spflow`
writes them; the tests do not need SPFlow.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import spnc

FOLDER = Path(__file__).resolve().parents[1] / "records" / "spflow"
RECORDS = sorted(FOLDER.glob("*.json"))
TOLERANCE = 1e-9


def read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def inputs_of(record: dict[str, Any]) -> np.ndarray:
    rows = [[math.nan if value is None else value for value in row] for row in record["inputs"]]
    return np.array(rows, dtype=np.float64)


def log_likelihoods_of(record: dict[str, Any]) -> np.ndarray:
    return np.array([float(value) for value in record["log_likelihoods"]])


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_log_likelihoods_equal_spflow(path: Path) -> None:
    record = read(path)
    expected = log_likelihoods_of(record)

    found = np.asarray(spnc.compile(record["circuit"]).log_likelihood(inputs_of(record)))

    assert found.shape == expected.shape
    # An absolute tolerance is stricter than a relative one wherever a value is below -1 (most are).
    # An impossible row equals only -inf.
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=TOLERANCE)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_complete(path: Path) -> None:
    record = read(path)
    graph = nx.node_link_graph(record["circuit"], edges="edges")

    assert record["spflow"] == "0.0.48"
    assert path.stat().st_size < 200_000
    assert nx.is_directed_acyclic_graph(graph)
    assert sum(degree == 0 for _, degree in graph.in_degree()) == 1
    assert inputs_of(record).shape == (
        len(record["log_likelihoods"]),
        len(record["circuit"]["graph"]["variables"]),
    )


def test_the_records_cover_what_they_are_for() -> None:
    # Without this test, an empty folder or one without the hard records would pass.
    assert len(RECORDS) >= 20
    covered: Counter[str] = Counter()
    for record in map(read, RECORDS):
        graph = nx.node_link_graph(record["circuit"], edges="edges")
        kinds = {kind for node, kind in graph.nodes(data="kind") if graph.in_degree(node) > 1}
        inputs, values = inputs_of(record), log_likelihoods_of(record)
        covered += Counter(f"shared {kind}" for kind in kinds)
        covered["missing"] += bool(np.isnan(inputs).any())
        covered["nothing but missing"] += bool(np.isnan(inputs).all(axis=1).any())
        covered["impossible"] += bool(np.isneginf(values).any())
        covered["underflowing"] += bool((values[np.isfinite(values)] < -745.0).any())
        covered["categorical"] += "categorical" in dict(graph.nodes(data="distribution")).values()
        covered["deep"] += nx.dag_longest_path_length(graph, weight=None) >= 60
        covered["wide"] += inputs.shape[1] >= 200

    assert all(covered.values()), covered
    assert {"shared sum", "shared product", "shared leaf"} <= set(covered)
