"""Passes over partitions are those over the whole table, up to rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.backends import parted
from spnc.backends.parted import PartedBatch, open_engine
from spnc.compilation import Compiled, compile_recipe
from spnc.data.parted import PartedTable, partitioned
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.spec.read import read_recipe

SPEC = """model: parts
data: {source: builtin:digits, split: [0.8, 0.1, 0.1]}
forest:
- {learner: extra-spn, count: 2, min_instances: 200}
"""


@pytest.fixture(scope="module", params=["numpy", "numba"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    path = tmp_path_factory.mktemp("parts") / "spec.yaml"
    path.write_text(SPEC)
    sink = Sink()
    recipe = read_recipe(path, sink, [f"backend={request.param}"])
    assert recipe is not None
    return compile_recipe(recipe, sink)


@pytest.fixture
def rows(compiled: Compiled) -> PartedTable:
    found = partitioned(compiled.dataset.train, 300, 0, "train")
    assert isinstance(found, PartedTable)
    assert len(found.parts) == 5
    return found


def test_sums_over_partitions_are_those_of_the_table(compiled: Compiled, rows: PartedTable) -> None:
    engine = open_engine(compiled.recipe.backend.resolved(), compiled.program)
    whole = engine.expected_counts(compiled.parameters, engine.load(compiled.dataset.train))
    batch = engine.load(rows)
    counts = engine.expected_counts(compiled.parameters, batch)
    np.testing.assert_allclose(counts.weights, whole.weights, rtol=1e-9)
    for own, expected in zip(counts.tables, whole.tables, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9)
    assert counts.score.total == pytest.approx(whole.score.total, rel=1e-12)
    assert counts.score.possible == whole.score.possible
    assert engine.score(compiled.parameters, batch).total == pytest.approx(counts.score.total)


def test_where_partitions_wait_changes_no_bit(
    compiled: Compiled, rows: PartedTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path))
    engine = open_engine(compiled.recipe.backend.resolved(), compiled.program)
    first = engine.load(rows)
    assert isinstance(first, PartedBatch)
    expected = engine.expected_counts(compiled.parameters, first)
    monkeypatch.setattr(parted, "room", lambda: -1)  # nothing may stay in memory
    second = engine.load(rows)
    for _ in range(3):
        found = engine.expected_counts(compiled.parameters, second)
        assert found.score == expected.score
        np.testing.assert_array_equal(found.weights, expected.weights)
        for own, other in zip(found.tables, expected.tables, strict=True):
            np.testing.assert_array_equal(own, other)


def test_a_training_in_partitions_comes_close_to_one_without() -> None:
    settings = ["optimizer.max_iterations=5", "forest.0.bootstrap=false"]
    spec = {
        "model": "parts",
        "data": {"source": "builtin:asia", "split": [0.8, 0.1, 0.1]},
        "forest": [{"learner": "hclt", "states": 2}],
        "seed": 1,
    }
    whole = spnc.train(spec, settings)
    parts = spnc.train(spec, [*settings, "data.partition_rows=100000"])
    assert isinstance(parts.model.columns, tuple)
    assert parts.scores["test"] == whole.scores["test"]  # a table that fits is not cut


def test_tables_in_memory_are_loaded_by_the_engine_itself(compiled: Compiled) -> None:
    engine = open_engine(compiled.recipe.backend.resolved(), compiled.program)
    table: Table = compiled.dataset.in_memory("valid")
    direct = engine.engine.score(compiled.parameters, engine.engine.load(table))
    assert engine.score(compiled.parameters, engine.load(table)) == direct
