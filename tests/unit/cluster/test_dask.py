"""Dask: the bits of a training depend neither on its workers nor on which of them died."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.backends.parted import open_engine
from spnc.cluster import attempts, worker
from spnc.cluster.connection import check_workers, connected
from spnc.cluster.dask_rows import DaskCluster
from spnc.cluster.joining import Connection
from spnc.compilation import Compiled, compile_recipe
from spnc.data.binning import Binning
from spnc.data.columns import Column
from spnc.data.pairs import PairCounts
from spnc.data.parted import PartedTable, PartInMemory
from spnc.data.row_sums import CountPairs, RowSums
from spnc.data.table import Table
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
    passes = DaskCluster(Connection.of(client)).passes(rows)
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


def _numbered(rows: PartedTable) -> tuple[tuple[Column, ...], PartedTable]:
    """Return rows with fractional weights, whose sums depend on the order of their terms."""
    rng = np.random.default_rng(0)
    parts = [part.table() for part in rows.parts]
    weighted = [t.take(slice(None), rng.random(t.rows)) for t in parts]
    total = float(sum(t.total for t in weighted))
    columns = tuple(Column(f"c{i}") for i in range(rows.width))
    return columns, replace(rows, parts=[PartInMemory(t) for t in weighted], total=total)


def test_workers_count_pairs_to_the_bits_of_one_process(client: Any, compiled: Compiled) -> None:
    columns, rows = _numbered(compiled.dataset.splits["train"])
    for reads in ("pairs", "columns"):
        alone = RowSums(columns, rows).of({reads})
        together = RowSums(columns, _elsewhere(rows, client)).of({reads})
        assert alone is not None
        assert together is not None
        for own, other in zip(alone.states, together.states, strict=True):
            np.testing.assert_array_equal(own, other)
        if reads == "pairs":
            assert alone.pairs is not None
            assert together.pairs is not None
            np.testing.assert_array_equal(alone.pairs.counts, together.pairs.counts)


def test_a_worker_that_is_killed_during_a_sum_changes_nothing(
    client: Any, compiled: Compiled, tmp_path: Path
) -> None:
    columns, rows = _numbered(compiled.dataset.splits["train"])
    killed = tmp_path / "killed"
    count = CountPairs(Binning.of(columns, rows.sample))

    def count_once_killed(table: Table) -> PairCounts:
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return count(table)

    found = _elsewhere(rows, client).sum(count_once_killed, add)
    assert killed.exists()
    np.testing.assert_array_equal(found.counts, rows.sum(count, add).counts)


def test_work_that_fails_is_not_tried_again(client: Any, compiled: Compiled) -> None:
    def fail(table: Table) -> float:
        raise ValueError(f"{table.width} columns")

    rows = _elsewhere(compiled.dataset.splits["train"], client)
    with pytest.raises(ValueError, match="64 columns"):
        rows.sum(fail, add)


def _laid_out() -> set[int]:
    """Return the laid out partitions that this process has."""
    return {id(batch) for kept in worker._BATCHES.values() for _, batch in kept.values()}


def test_partitions_are_laid_out_once(client: Any, compiled: Compiled) -> None:
    """Dask deletes copies that workers got from one another; here it does so after each pass."""
    engine = open_engine(compiled.recipe.backend.resolved(), compiled.program)
    batch = engine.load(_elsewhere(compiled.dataset.splits["train"], client))
    engine.expected_counts(compiled.parameters, batch)
    before = client.run(_laid_out)
    for _ in range(3):
        client.amm.run_once()
        engine.expected_counts(compiled.parameters, batch)
    after = client.run(_laid_out)
    assert any(after.values())
    assert all(after[address] <= before[address] for address in after)


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


def test_a_scheduler_that_is_not_there_is_a_diagnostic() -> None:
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(spnc.InputError) as error,
        connected("tcp://127.0.0.1:9"),
    ):
        pass
    assert [d.code for d in error.value.diagnostics] == ["E512"]


def test_a_cluster_that_is_lost_is_a_diagnostic(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(attempts, "ATTEMPTS", 2)
    monkeypatch.setattr(attempts, "PAUSE", 0.0)
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


def test_a_forest_of_trees_is_that_of_one_process(client: Any, tmp_path: Path) -> None:
    spec = {
        "model": "trees",
        "data": {"source": "builtin:digits", "split": [0.8, 0.1, 0.1], "partition_rows": 300},
        "forest": [
            {"learner": "chow-liu", "count": 2, "noise": 0.3},
            {"learner": "hclt", "states": 2},
        ],
        "optimizer": {"max_iterations": 1},
    }
    for name, who in (("alone", None), ("together", client)):
        spnc.train(spec, out=tmp_path / name, client=who)
    alone, together = (tmp_path / name / "model.spnc" for name in ("alone", "together"))
    assert together.read_bytes() == alone.read_bytes()


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
