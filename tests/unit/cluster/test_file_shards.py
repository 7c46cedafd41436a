"""Large tables in files that workers read: the model is that of one process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import spnc
from spnc.cluster import worker
from spnc.cluster.connection import connected
from spnc.cluster.dask_rows import DaskBatch, DaskCluster
from spnc.cluster.dask_shards import PartOnWorkers
from spnc.cluster.joining import Connection
from spnc.data import load as loading
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.data.parted import PartedTable
from spnc.data.table import Table
from spnc.diagnostics import Sink

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

ROWS, SIZE = 6_000, 1_000  # of the table, of a partition
SPLIT = (0.8, 0.1, 0.1)
BOUNDS = (0, 900, 2_100, 2_110, 4_500, ROWS)  # of the files


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connected("local:2") as found:
        yield found


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("spnc.data.file_shards._SHARD_CELLS", 4_000)


def _table() -> pa.Table:
    """Return rows of several kinds, with missing cells, and a column of weights."""
    rng = np.random.default_rng(0)
    place = np.arange(ROWS)
    group = rng.integers(0, 3, ROWS)
    color = np.array(["red", "green", "blue", "late"])[np.where(place > ROWS - 900, 3, group)]
    return pa.table(
        {
            "id": place + 1,
            "color": pa.array(color, mask=rng.random(ROWS) < 0.05),
            "calls": rng.poisson(40 + 9 * group) + np.where(place == ROWS - 1, 500, 0),
            "length": pa.array(np.round(rng.normal(group * 2, 1), 3), mask=place < 900),
            "code": np.where(place == 5_500, "x", np.where(place == 650, "007", "12")),
            "odd": np.where(place % 1_999 == 7, "none yet", (place % 997).astype(str)),
            "day": np.array(["2020-01-01", "2021-02-03", "2022-05-06"])[group],
            "weight": np.round(rng.random(ROWS) + 0.1, 2),
        }
    )


def _write(path: Path, table: pa.Table) -> None:
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=300)
    else:
        pa.csv.write_csv(table, path)


def _written(folder: Path, kind: str, table: pa.Table | None = None) -> Path:
    """Write a table to a folder with five files; return the folder."""
    whole = _table() if table is None else table
    rows = folder / "rows"
    rows.mkdir()
    for i, begin in enumerate(BOUNDS[:-1]):
        own = whole.slice(begin, BOUNDS[i + 1] - begin)
        own = own.select(own.column_names[::-1] if i == 2 else own.column_names)
        _write(rows / f"part-{i}{kind}", own)
    return rows


def _load(
    source: Path | dict[str, Path], client: Any = None, **more: Any
) -> tuple[Dataset | None, Sink]:
    sink = Sink()
    elsewhere = DaskCluster(Connection.of(client)) if client is not None else None
    named = source if isinstance(source, dict) else {"source": source}
    files: Any = {field: str(path) for field, path in named.items()}
    options = DataOptions(**files, partition_rows=SIZE, elsewhere=elsewhere, **more)
    return load(options, sink), sink


def _loaded(source: Path | dict[str, Path], client: Any = None, **more: Any) -> Dataset:
    found, sink = _load(source, client, **more)
    assert found is not None, sink.diagnostics
    return found


def _expect_the_same(found: Dataset, wanted: Dataset) -> None:
    assert found.columns == wanted.columns
    assert found.digest == wanted.digest
    assert found.name == wanted.name
    assert dict(found.left_out) == dict(wanted.left_out)
    assert found.rules.as_json() == wanted.rules.as_json()
    for split, rows in wanted.splits.items():
        sample, other = found.in_memory(split), wanted.in_memory(split)
        np.testing.assert_array_equal(sample.values, other.values)
        assert found.splits[split].total == rows.total


def _parts(dataset: Dataset, split: str = "train") -> list[PartOnWorkers]:
    rows = dataset.splits[split]
    assert isinstance(rows, PartedTable)
    assert all(isinstance(part, PartOnWorkers) for part in rows.parts)
    return [*rows.parts]  # type: ignore[list-item]


@pytest.mark.parametrize("kind", [".parquet", ".csv"])
def test_workers_make_the_partitions_of_one_process(kind: str, client: Any, tmp_path: Path) -> None:
    rows = _written(tmp_path, kind)
    _write(tmp_path / f"whole{kind}", _table())
    for more in ({"split": SPLIT}, {"weight": "weight"}):
        wanted, warned = _load(rows, **more)
        found, sink = _load(rows, client, **more)
        assert found is not None
        assert wanted is not None
        assert len(_parts(found)) > 3
        _expect_the_same(found, wanted)
        assert [str(d) for d in sink.diagnostics] == [str(d) for d in warned.diagnostics]
        assert "W309" in {d.code for d in sink.diagnostics}
        single = _loaded(tmp_path / f"whole{kind}", **more)
        assert found.digest == single.digest
        assert found.splits["train"].total == single.splits["train"].total


def test_row_groups_of_one_file_are_shards(client: Any, tmp_path: Path) -> None:
    _write(tmp_path / "rows.parquet", _table())
    found = _loaded(tmp_path / "rows.parquet", client, split=SPLIT)
    assert len(_parts(found)) == 5
    _expect_the_same(found, _loaded(tmp_path / "rows.parquet", split=SPLIT))


def test_splits_may_be_in_files_of_their_own(client: Any, tmp_path: Path) -> None:
    rows = _written(tmp_path, ".csv")
    _write(tmp_path / "valid.csv", _table().slice(100, 1_800))
    _write(tmp_path / "test.csv", _table().slice(50, 200))
    source = {"train": rows, "valid": tmp_path / "valid.csv", "test": tmp_path / "test.csv"}
    found = _loaded(source, client)
    assert len(_parts(found)) == 6
    assert len(_parts(found, "valid")) == 2
    _expect_the_same(found, _loaded(source))


def test_texts_without_a_header(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = tmp_path / "rows"
    rows.mkdir()
    for i in range(4):
        cells = rng.integers(0, 3 + i, (700, 9))
        np.savetxt(rows / f"{i}.data", cells, fmt="%d", delimiter=",")
    found = _loaded(rows, client)
    assert [column.name for column in found.columns][:2] == ["x0", "x1"]
    _expect_the_same(found, _loaded(rows))


def test_few_distinct_rows_become_one_partition(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({f"c{i}": rng.integers(0, 2, ROWS) for i in range(6)})
    rows = _written(tmp_path, ".parquet", table)
    found, wanted = _loaded(rows, client), _loaded(rows)
    _expect_the_same(found, wanted)
    distinct = found.distinct["train"]
    assert isinstance(distinct, Table)
    assert (distinct.rows, distinct.total) == (64, ROWS)


# ---- training ----------------------------------------------------------------------------------


def _spec(rows: Path) -> dict[str, Any]:
    data = {
        "source": str(rows),
        "split": list(SPLIT),
        "partition_rows": SIZE,
        "columns": {"weight": "ignore"},
    }
    return {
        "model": "rows",
        "data": data,
        "forest": [{"learner": "extra-spn", "count": 2, "min_instances": 200}],
        "optimizer": {"max_iterations": 3},
    }


def _bytes(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("model.spnc", "recipe.lock.yaml")]


def test_a_worker_that_is_killed_while_training_changes_no_bit(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _written(tmp_path, ".csv")
    spnc.train(_spec(rows), out=tmp_path / "here")
    summed, passes, before = DaskBatch.expected_counts, [], client.list_datasets()

    def killing(batch: DaskBatch, parameters: Any) -> Any:
        passes.append(1)
        if len(passes) == 2:
            os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
        return summed(batch, parameters)

    def encoded_here(*_: Any, **__: Any) -> None:
        raise AssertionError("this process has encoded the rows")

    monkeypatch.setattr(DaskBatch, "expected_counts", killing)
    monkeypatch.setattr(loading, "load_stored", encoded_here)
    spnc.train(_spec(rows), out=tmp_path / "there", client=client)
    assert len(passes) > 2
    assert _bytes(tmp_path / "here") == _bytes(tmp_path / "there")
    assert client.list_datasets() == before


def test_a_worker_that_is_killed_while_rows_are_encoded_changes_no_bit(
    client: Any, tmp_path: Path
) -> None:
    rows = _written(tmp_path, ".csv")
    killed: set[str] = set()

    def killing(what: str, done: int, total: int) -> None:
        if what.startswith("partitions") and what not in killed:  # scanned, and encoded
            killed.add(what)
            os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)

    elsewhere = DaskCluster(Connection.of(client))
    options = DataOptions(source=str(rows), partition_rows=SIZE, elsewhere=elsewhere)
    found = load(options, Sink(), progress=killing)
    assert found is not None
    assert len(killed) == 2
    assert len(_parts(found)) > 3
    _expect_the_same(found, _loaded(rows))


def test_a_file_that_changes_is_reported_when_it_is_read_again(client: Any, tmp_path: Path) -> None:
    rows = _written(tmp_path, ".parquet")
    found = _loaded(rows, client)
    part = _parts(found)[0]
    _write(rows / "part-0.parquet", _table().slice(1, 900))
    part.forget()
    with pytest.raises(spnc.InputError) as error:
        part.table()
    (problem,) = error.value.diagnostics
    assert problem.code == "E516"
    assert problem.message == (
        f"the rows of `{rows.as_posix()}` have changed: "
        "`part-0.parquet` is not the file that it was, or not there"
    )
    assert problem.where == rows.as_posix()


def test_files_that_workers_do_not_see_are_read_here(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _written(tmp_path, ".parquet")
    monkeypatch.setattr(worker, "can_see", _sees_nothing)
    found = _loaded(rows, client)
    train = found.splits["train"]
    assert isinstance(train, PartedTable)
    assert not any(isinstance(part, PartOnWorkers) for part in train.parts)
    _expect_the_same(found, _loaded(rows))


def _sees_nothing(files: Any) -> bool:
    return False


# ---- bad input ---------------------------------------------------------------------------------


def _set(table: pa.Table, name: str, cells: dict[int, Any]) -> pa.Table:
    found = table[name].to_pylist()
    for row, cell in cells.items():
        found[row] = cell
    return table.set_column(table.column_names.index(name), name, pa.array(found))


@pytest.mark.parametrize("kind", [".parquet", ".csv"])
def test_problems_are_those_of_one_process(kind: str, client: Any, tmp_path: Path) -> None:
    table = _set(_table(), "length", {1_000: 1e200, 5_000: 1e200})
    bad = _set(_table(), "weight", {903: -1.0, 905: -1.0, 4_600: 0.0})
    other = _table().rename_columns(
        ["identity" if name == "id" else name for name in _table().column_names]
    )
    for number, (one, more, places) in enumerate(
        (
            (table, {}, [("E316", "part-1", 100)]),
            (bad, {"weight": "weight"}, [("E321", "part-1", 3)]),
            (_table(), {}, [("E307", "part-3", None)]),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = _written(folder, kind, one)
        if number == 2:
            _write(rows / f"part-3{kind}", other.slice(2_110, 2_390))
        found, sink = _load(rows, client, **more)
        assert found is None
        shown = [str(d) for d in sink.diagnostics]
        found, sink = _load(rows, **more)
        assert shown == [str(d) for d in sink.diagnostics]
        errors = [d for d in sink.diagnostics if d.severity == "error"]
        for (code, name, row), problem in zip(places, errors, strict=True):
            assert problem.code == code
            line = "" if row is None or kind == ".parquet" else f":{row + 2}"
            assert problem.where == f"{rows.as_posix()}/{name}{kind}{line}"
            if row is not None and kind == ".parquet":
                assert f"in row {row + 1}" in problem.message
