"""Dask: the bits of a training depend neither on its workers nor on which of them died."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.backends.parted import open_engine
from spnc.cluster import dask_rows, worker
from spnc.cluster.connection import check_workers, connected
from spnc.cluster.dask_rows import DaskCluster
from spnc.compilation import Compiled, compile_recipe
from spnc.data.parted import PartedTable, PartInMemory
from spnc.diagnostics import Sink
from spnc.program.score import Counts
from spnc.spec.read import read_recipe

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

SPEC = """model: parts
data: {source: builtin:digits, split: [0.8, 0.1, 0.1], partition_rows: 300}
forest:
- {learner: extra-spn, count: 2, min_instances: 200}
optimizer: {max_iterations: 4}
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connected("local:2") as found:
        yield found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    path = tmp_path_factory.mktemp("parts") / "spec.yaml"
    path.write_text(SPEC)
    sink = Sink()
    recipe = read_recipe(path, sink)
    assert recipe is not None
    return compile_recipe(recipe, sink)


def _counts(compiled: Compiled, rows: Any) -> Counts:
    engine = open_engine(compiled.recipe.backend.resolved(), compiled.program)
    return engine.expected_counts(compiled.parameters, engine.load(rows))


def _equal(one: Counts, other: Counts) -> bool:
    pairs = zip((one.weights, *one.tables), (other.weights, *other.tables), strict=True)
    return one.score == other.score and all(np.array_equal(a, b) for a, b in pairs)


def _elsewhere(rows: Any, client: Any) -> PartedTable:
    assert isinstance(rows, PartedTable)
    passes = DaskCluster(client).passes(rows)
    return PartedTable(rows.parts, rows.sample, rows.rows, rows.total, passes)


def test_workers_give_the_bits_of_one_process(client: Any, compiled: Compiled) -> None:
    rows = compiled.dataset.splits["train"]
    assert isinstance(rows, PartedTable)
    assert isinstance(rows.parts[0], PartInMemory)  # which is sent to the workers
    assert _equal(_counts(compiled, _elsewhere(rows, client)), _counts(compiled, rows))


def test_a_worker_that_is_killed_changes_no_bit(client: Any, compiled: Compiled) -> None:
    rows = compiled.dataset.splits["train"]
    engine = open_engine(compiled.recipe.backend.resolved(), compiled.program)
    batch = engine.load(_elsewhere(rows, client))
    before = engine.expected_counts(compiled.parameters, batch)
    os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
    after = engine.expected_counts(compiled.parameters, batch)
    assert _equal(before, after)
    assert _equal(before, _counts(compiled, rows))


def test_a_worker_of_another_version_is_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spnc, "__version__", "9.9")
    with pytest.raises(spnc.InputError) as error:
        check_workers(client)
    (found,) = error.value.diagnostics
    assert found.code == "E513"
    assert "9.9" in found.notes[0]


def test_a_pass_asks_every_worker_for_its_version() -> None:
    worker.check_version(spnc.__version__)
    with pytest.raises(worker.OtherVersionError, match=r"and not 9\.9"):
        worker.check_version("9.9")


def test_a_scheduler_that_is_not_there_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnc.cluster.connection.CONNECT_SECONDS", 1.0)
    with pytest.raises(spnc.InputError) as error, connected("tcp://127.0.0.1:9"):
        pass
    assert [d.code for d in error.value.diagnostics] == ["E512"]


def test_a_cluster_that_is_lost_is_a_diagnostic(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dask_rows, "ATTEMPTS", 2)
    monkeypatch.setattr(dask_rows, "_PAUSE", 0.0)
    with connected("local:1") as own:
        rows = _elsewhere(compiled.dataset.splits["train"], own)
    with pytest.raises(spnc.InputError) as error:
        _counts(compiled, rows)
    assert [d.code for d in error.value.diagnostics] == ["E514"]
    assert "--resume" in str(error.value)


def test_a_client_makes_the_model_of_one_process(client: Any, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    alone = spnc.train(spec, out=tmp_path / "alone")
    together = spnc.train(spec, ["cluster=local:1"], out=tmp_path / "together", client=client)
    assert together.scores == alone.scores
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert (tmp_path / "together" / name).read_bytes() == (
            tmp_path / "alone" / name
        ).read_bytes()


def test_tries_and_components_are_computed_by_workers(client: Any) -> None:
    spec = {
        "model": "tries",
        "data": {"source": "builtin:digits", "split": [0.8, 0.1, 0.1], "partition_rows": 600},
        "forest": [{"learner": "extra-spn", "min_instances": {"search": [200, 400]}}],
        "optimizer": {"max_iterations": 2},
    }
    alone, together = spnc.train(spec), spnc.train(spec, client=client)
    assert [t.valid for t in together.tries] == [t.valid for t in alone.tries]
    assert together.scores == alone.scores
