"""Dask frames: the model is that of the same rows in a file, wherever the frame is computed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spnc
from spnc.cluster import attempts
from spnc.cluster.connection import connected
from spnc.cluster.dask_rows import DaskBatch, DaskCluster
from spnc.cluster.dask_shards import PartOnWorkers
from spnc.cluster.joining import Connection
from spnc.data.dataset import Dataset
from spnc.data.given_shards import GivenShards, is_dask_frame
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.data.parted import PartedTable
from spnc.data.table import Table
from spnc.diagnostics import Sink

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra `cluster` is not installed")

ROWS, SIZE = 6_000, 1_000  # of the table, of a partition
SPLIT = (0.8, 0.1, 0.1)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connected("local:2") as found:
        yield found


def _pandas(rows: int = ROWS) -> pd.DataFrame:
    """Return rows of every kind, with missing cells, whose last ones have values of their own."""
    rng = np.random.default_rng(0)
    place = np.arange(rows)
    group = rng.integers(0, 3, rows)
    late = place > rows - 900
    level = np.array(["low", "mid", "high"])[group]
    frame = pd.DataFrame(
        {
            "id": place + 1,
            "color": np.array(["red", "green", "blue", "late"])[np.where(late, 3, group)],
            "level": pd.Categorical(level, ["low", "mid", "high"], ordered=True),
            "flag": rng.random(rows) < 0.2 + 0.2 * group,
            "calls": rng.poisson(40 + 9 * group) + np.where(place == rows - 1, 500, 0),
            "length": np.round(rng.normal(group * 2, 1), 3),
            "day": pd.to_datetime(np.array(["2020-01-01", "2021-02-03", "2022-05-06"])[group])
            + pd.to_timedelta(rng.integers(0, 300, rows), unit="D"),
        }
    )
    for name in ("color", "length", "calls"):
        frame.loc[rng.random(rows) < 0.05, name] = None
    return frame


def _load(
    frame: Any, client: Any = None, size: int = SIZE, **more: Any
) -> tuple[Dataset | None, Sink]:
    sink = Sink()
    elsewhere = DaskCluster(Connection.of(client)) if client is not None else None
    shards = GivenShards(frame) if is_dask_frame(frame) else None
    source = "python:data" if shards is not None else str(frame)
    options = DataOptions(
        source=source, partition_rows=size, shards=shards, elsewhere=elsewhere, **more
    )
    return load(options, sink), sink


def _loaded(frame: Any, client: Any = None, size: int = SIZE, **more: Any) -> Dataset:
    found, sink = _load(frame, client, size, **more)
    assert found is not None, sink.diagnostics
    return found


def test_the_rows_are_those_of_a_file_wherever_they_are(client: Any, tmp_path: Path) -> None:
    rows = _pandas()
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    file = _loaded(tmp_path / "rows.parquet", split=SPLIT)
    # Shards that are larger and smaller than a partition, and an empty one.
    frame = dd.from_pandas(rows, npartitions=11)
    few = dd.concat([dd.from_pandas(rows[:0], npartitions=1), dd.from_pandas(rows, npartitions=3)])
    for one in (frame, few):
        here, there = _loaded(one, split=SPLIT), _loaded(one, client, split=SPLIT)
        for found in (here, there):
            assert found.columns == file.columns
            assert found.digest == file.digest
            assert dict(found.left_out) == dict(file.left_out) == {"id": "id"}
            for split in file.splits:
                sample, wanted = found.in_memory(split), file.in_memory(split)
                np.testing.assert_array_equal(sample.values, wanted.values)
                assert sample.weights.strides == wanted.weights.strides
        train = there.splits["train"]
        assert isinstance(train, PartedTable)
        assert isinstance(train.parts[0], PartOnWorkers)
        assert len(train.parts) == 5
        assert isinstance(there.splits["valid"], Table)


SPEC = {
    "model": "rows",
    "data": {"source": "builtin:digits", "split": list(SPLIT), "partition_rows": SIZE},
    "forest": [{"learner": "extra-spn", "count": 2, "min_instances": 200}],
    "optimizer": {"max_iterations": 3},
}


def _bytes(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("model.spnc", "recipe.lock.yaml")]


def test_training_gives_the_same_bytes_with_workers_and_without(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = dd.from_pandas(_pandas(), npartitions=7)
    spnc.train(SPEC, data=frame, out=tmp_path / "here")

    def fetched(part: PartOnWorkers) -> Table:
        raise AssertionError("the rows of a partition were fetched")

    monkeypatch.setattr(PartOnWorkers, "table", fetched)
    spnc.train(SPEC, data=frame, out=tmp_path / "there", client=client)
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "there")
    again = spnc.train(SPEC, data=frame, out=tmp_path / "there", client=client, resume=True)
    assert again.was_finished


def test_a_small_frame_is_the_frame_of_pandas(client: Any, tmp_path: Path) -> None:
    rows = _pandas(800)
    frame = dd.from_pandas(rows, npartitions=5)
    spnc.train(SPEC, data=frame.compute(), out=tmp_path / "whole")
    spnc.train(SPEC, data=frame, out=tmp_path / "here")
    spnc.train(SPEC, data=frame, out=tmp_path / "there", client=client)
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "whole")
    assert _bytes(tmp_path / "there") == _bytes(tmp_path / "whole")


def test_tries_of_a_search_read_partitions_on_workers(client: Any) -> None:
    spec = SPEC | {"forest": [{"learner": "extra-spn", "min_instances": {"search": [200, 400]}}]}
    frame = dd.from_pandas(_pandas(), npartitions=4)
    here, there = spnc.train(spec, data=frame), spnc.train(spec, data=frame, client=client)
    assert [t.valid for t in here.tries] == [t.valid for t in there.tries]
    assert here.scores == there.scores


def test_auto_takes_frames(client: Any) -> None:
    frame = dd.from_pandas(_pandas(2_500), npartitions=4)
    found = spnc.train_auto(frame, 2.0, ["data.partition_rows=1000"], client=client)
    assert "W318" in {d.code for d in found.diagnostics}
    assert np.isfinite(found.scores["valid"].average)


def test_a_worker_that_is_killed_changes_nothing(client: Any) -> None:
    frame = dd.from_pandas(_pandas(), npartitions=7)
    whole = _loaded(frame)
    found = _loaded(frame, client)
    os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
    rows = found.splits["train"]
    assert isinstance(rows, PartedTable)
    assert found.digest == whole.digest
    for part, wanted in zip(rows.parts, whole.splits["train"].parts, strict=True):  # type: ignore[union-attr]
        np.testing.assert_array_equal(part.table().values, wanted.table().values)
        part.forget()  # type: ignore[attr-defined]
    assert rows.parts[0].table().rows == rows.parts[0].rows


def test_few_distinct_rows_become_one_partition(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({f"c{i}": rng.integers(0, 2, ROWS) for i in range(6)})
    rows.to_parquet(tmp_path / "rows.parquet")
    found = _loaded(dd.from_pandas(rows, npartitions=4), client)
    assert found.digest == _loaded(tmp_path / "rows.parquet").digest
    distinct = found.distinct["train"]
    assert isinstance(distinct, Table)
    assert (distinct.rows, distinct.total) == (64, ROWS)


def _of_parts(*parts: pd.DataFrame) -> Any:
    """Return a frame with these partitions, whatever they hold."""
    return dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0])


def test_categories_may_differ_from_shard_to_shard(client: Any) -> None:
    values = np.array(["a", "b", "c", "d"])[np.arange(ROWS) % 4]
    values[:1_500] = "a"
    values[1_500:3_000] = "b"
    parts = [
        pd.DataFrame({"kind": pd.Categorical(own), "other": np.arange(len(own)) % 7})
        for own in np.split(values, 4)
    ]
    frame = _of_parts(*parts)
    found = _loaded(frame, client)
    assert found.digest == _loaded(frame).digest
    (kind, _) = found.columns
    assert kind.labels == ("a", "b", "c", "d")
    assert found.rules.as_json() == _loaded(frame, size=10 * ROWS).rules.as_json()
    rows = found.splits["train"]
    counts = np.zeros(4)
    for part in [rows] if isinstance(rows, Table) else [p.table() for p in rows.parts]:
        counts += np.bincount(part.column(0).astype(int), part.weights, 4)
    assert counts.tolist() == [(values == label).sum() for label in "abcd"]


def test_numbers_in_some_shards_and_texts_in_others_are_texts(client: Any) -> None:
    parts = [
        pd.DataFrame({"code": np.arange(1_500) % 3, "other": np.arange(1_500) % 5}),
        pd.DataFrame({"code": np.arange(1_500) % 4, "other": np.arange(1_500) % 5}),
        pd.DataFrame({"code": ["x", "1"] * 750, "other": np.arange(1_500) % 5}),
    ]
    found = _loaded(_of_parts(*parts), client)
    assert found.columns[0].labels == ("0", "1", "2", "3", "x")
    assert found.digest == _loaded(_of_parts(*parts)).digest


def test_a_column_that_is_empty_at_first(client: Any) -> None:
    parts = [
        pd.DataFrame({"late": [None] * 1_500, "other": np.arange(1_500) % 5}),
        pd.DataFrame({"late": ["x", None, "y"] * 500, "other": np.arange(1_500) % 5}),
    ]
    found = _loaded(_of_parts(*parts), client)
    assert found.columns[0].labels == ("x", "y")


def test_an_index_with_a_name_is_no_column(client: Any) -> None:
    rows = _pandas()
    rows["id"] = np.random.default_rng(3).permutation(rows["id"])
    rows = rows.set_index("id")
    found = _loaded(dd.from_pandas(rows, npartitions=4, sort=False), client)
    assert "id" not in [c.name for c in found.columns]
    assert found.rules.index == ("id",)
    assert dict(found.left_out) == {"id": "id"}


# ---- bad input ---------------------------------------------------------------------------------


@pytest.fixture(params=["here", "there"])
def where(request: pytest.FixtureRequest, client: Any) -> Any:
    """Return the client, or None for this process."""
    return client if request.param == "there" else None


def test_a_bad_cell_is_reported_with_its_place(where: Any) -> None:
    rows = _pandas()
    rows["weight"] = 1.0
    rows.loc[[4_100, 4_101, 5_990], "weight"] = np.nan
    found, sink = _load(dd.from_pandas(rows, npartitions=6), where, weight="weight")
    assert found is None
    (problem,) = [d for d in sink.diagnostics if d.severity == "error"]
    assert problem.code == "E321"
    assert "`weight`" in problem.message
    assert "in row 101 of `frame.partitions[4]`" in problem.message
    assert problem.notes == (
        "and 1 more such cell in this column",
        "1 more partition of the frame cannot be used",
    )


def test_a_bad_cell_far_behind_is_reported_at_the_scan(where: Any) -> None:
    rows = _pandas()
    rows.loc[5_000, "length"] = 1e200
    found, sink = _load(dd.from_pandas(rows, npartitions=6), where)
    assert found is None
    (problem,) = [d for d in sink.diagnostics if d.severity == "error"]
    assert problem.code == "E316"
    assert "holds 1e+200 after row 1,000" in problem.message


def test_texts_among_numbers_are_counted(where: Any) -> None:
    rows = pd.DataFrame({"price": [f"{i % 997}.5" for i in range(ROWS)], "b": np.arange(ROWS) % 3})
    rows.loc[[10, 4_000, 5_000, 5_001], "price"] = "none yet"
    found, sink = _load(dd.from_pandas(rows, npartitions=6), where)
    assert found is not None
    (odd,) = [d for d in sink.diagnostics if d.code == "W309"]
    assert "apart from 4 cells: `none yet`" in odd.message


def test_other_columns_in_a_partition_are_reported(where: Any) -> None:
    parts = [pd.DataFrame({"a": np.arange(900) % 3, "b": np.arange(900) % 5}) for _ in range(3)]
    parts[2] = parts[2].rename(columns={"b": "c"})
    found, sink = _load(_of_parts(*parts), where)
    assert found is None
    assert [d.code for d in sink.diagnostics] == ["E307"]
    assert "`frame.partitions[2]`" in sink.diagnostics[0].message


def _fails(part: pd.DataFrame) -> pd.DataFrame:
    if len(part) and part["a"].iloc[0] > 1_000:
        raise FileNotFoundError("no such file: rows-7")
    return part


def test_a_frame_that_fails_is_reported(where: Any) -> None:
    rows = pd.DataFrame({"a": np.arange(3_000), "b": np.arange(3_000) % 5})
    frame = dd.from_pandas(rows, npartitions=3).map_partitions(_fails)
    found, sink = _load(frame, where)
    assert found is None
    assert [d.code for d in sink.diagnostics] == ["E515"]
    assert "no such file: rows-7" in sink.diagnostics[0].notes[0]


def test_a_frame_without_rows_is_reported(where: Any) -> None:
    found, sink = _load(dd.from_pandas(_pandas()[:0], npartitions=1), where)
    assert found is None
    assert [d.code for d in sink.diagnostics] == ["E306"]


def test_random_rows_that_change_are_reported(client: Any) -> None:
    def noise(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(x=np.random.default_rng().random(len(part)))

    rows = pd.DataFrame({"x": np.zeros(3_000), "b": np.arange(3_000) % 5})
    found = _loaded(dd.from_pandas(rows, npartitions=3).map_partitions(noise), client)
    train = found.splits["train"]
    assert isinstance(train, PartedTable)
    part = train.parts[0]
    assert isinstance(part, PartOnWorkers)
    part.forget()
    with pytest.raises(spnc.InputError) as error:
        part.table()
    assert [d.code for d in error.value.diagnostics] == ["E515"]


def test_row_weights_are_those_of_the_rows(where: Any) -> None:
    rows = _pandas()
    rows["weight"] = 1 + np.arange(ROWS) % 4
    found = _loaded(dd.from_pandas(rows, npartitions=6), where, weight="weight")
    assert found.splits["train"].total == rows["weight"].sum()
    assert "weight" not in [c.name for c in found.columns]


def test_a_worker_that_is_killed_while_training_changes_no_bit(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = dd.from_pandas(_pandas(), npartitions=7)
    spnc.train(SPEC, data=frame, out=tmp_path / "here")
    summed, passes, before = DaskBatch.expected_counts, [], client.list_datasets()

    def killing(batch: DaskBatch, parameters: Any) -> Any:
        passes.append(1)
        if len(passes) == 2:
            os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
        return summed(batch, parameters)

    monkeypatch.setattr(DaskBatch, "expected_counts", killing)
    spnc.train(SPEC, data=frame, out=tmp_path / "there", client=client)
    assert len(passes) > 2
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "there")
    assert client.list_datasets() == before


def test_a_scheduler_that_is_lost_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "ATTEMPTS", 2)
    monkeypatch.setattr(attempts, "PAUSE", 0.0)
    with connected("local:1") as own:
        found, cluster = dd.from_pandas(_pandas(), npartitions=3), own
    result, sink = _load(found, cluster)
    assert result is None
    assert [d.code for d in sink.diagnostics] == ["E514"]
