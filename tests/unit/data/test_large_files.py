"""Large files: encoded piece by piece, they are what they are when read as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import spnc
from spnc.data import row_store
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.data.part_files import StoredPart
from spnc.data.parted import PartedTable, tables_of
from spnc.data.table import Table
from spnc.diagnostics import Sink

ROWS = 9_000
SIZE = 1_000  # rows of a partition


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("spnc.data.pieces.PIECE_BYTES", 1 << 14)
    monkeypatch.setattr("spnc.data.pieces.PIECE_CELLS", 1 << 12)
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "cache"))


def _table() -> pa.Table:
    """Return a table whose last rows have values that the first ones do not have."""
    rng = np.random.default_rng(0)
    place = np.arange(ROWS)
    group = rng.integers(0, 3, ROWS)
    color = np.array(["red", "green", "blue", "late"])[np.where(place > 8_000, 3, group)]
    return pa.table(
        {
            "id": place + 1,
            "color": color,
            "flag": rng.random(ROWS) < 0.2 + 0.2 * group,
            "calls": rng.poisson(40 + 9 * group) + np.where(place == ROWS - 1, 500, 0),
            "length": np.round(rng.normal(group * 2, 1), 3),
            "code": np.where(place < 6_000, group + 1, group + 2),
            "half": np.where(place == 7_500, 0.5, rng.integers(0, 60, ROWS)),
            "day": np.array(["2020-01-01", "2021-02-03", "2022-05-06"])[group],
        }
    )


def _written(folder: Path, kind: str, table: pa.Table) -> Path:
    path = folder / f"rows{kind}"
    if kind == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=700)
    elif kind == ".arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=800)
    else:
        pa.csv.write_csv(table, path)
    return path


def _load(path: Path, size: int, **more: object) -> tuple[Dataset, Sink]:
    sink = Sink()
    options = DataOptions(source=str(path), partition_rows=size, **more)  # type: ignore[arg-type]
    found = load(options, sink)
    assert found is not None, sink.diagnostics
    return found, sink


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow"])
def test_columns_and_rows_are_those_of_the_file(kind: str, tmp_path: Path) -> None:
    path = _written(tmp_path, kind, _table())
    whole, _ = _load(path, 10 * ROWS)
    parts, _ = _load(path, SIZE)
    assert dict(parts.left_out) == dict(whole.left_out) == {"id": "id"}
    for own, expected in zip(parts.columns, whole.columns, strict=True):
        assert (own.name, own.kind, own.labels) == (expected.name, expected.kind, expected.labels)
    rows = parts.splits["train"]
    assert isinstance(rows, PartedTable)
    assert (rows.rows, len(rows.parts)) == (ROWS, 9)
    found = np.concatenate([table.values for table in tables_of(rows)])
    np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(whole.train.values, axis=0))


def test_arrays_are_read_in_pieces_too(tmp_path: Path) -> None:
    rows = np.random.default_rng(2).integers(0, 3, (ROWS, 12)).astype(np.uint8)
    np.save(tmp_path / "rows.npy", rows)
    dataset, _ = _load(tmp_path / "rows.npy", SIZE)
    found = dataset.splits["train"]
    assert isinstance(found, PartedTable)
    together = np.concatenate([table.values for table in tables_of(found)])
    np.testing.assert_array_equal(np.unique(together, axis=0), np.unique(rows, axis=0))


def test_text_and_parquet_give_the_same_partitions(tmp_path: Path) -> None:
    split = (0.8, 0.1, 0.1)
    digests = {
        _load(_written(tmp_path, kind, _table()), SIZE, split=split)[0].digest
        for kind in (".csv", ".parquet")
    }
    assert len(digests) == 1


def test_a_split_is_random_and_complete(tmp_path: Path) -> None:
    path = _written(tmp_path, ".csv", _table())
    first, _ = _load(path, SIZE, split=(0.8, 0.1, 0.1))
    other, _ = _load(path, SIZE, split=(0.8, 0.1, 0.1), split_seed=1)
    sizes = {name: rows.rows for name, rows in first.splits.items()}
    assert sum(sizes.values()) == ROWS
    assert 7_050 < sizes["train"] < 7_350
    assert first.cut
    assert first.digest != other.digest


def test_few_distinct_rows_are_one_partition_with_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({f"c{i}": rng.integers(0, 2, ROWS) for i in range(6)})
    dataset, _ = _load(_written(tmp_path, ".csv", table), SIZE)
    distinct = dataset.distinct["train"]
    assert isinstance(distinct, Table)
    assert distinct.rows == 64
    assert distinct.total == dataset.splits["train"].rows == ROWS


def test_numbers_that_become_texts_are_texts_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    lines = [f"{i % 7},{i % 3}" for i in range(5_000)] + [f"{i % 7},x" for i in range(1_000)]
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    parts, _ = _load(path, SIZE)
    assert parts.columns[1].labels == ("0", "1", "2", "x")


def test_problems_are_reported_as_for_files_that_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    lines = [f"{i % 7},{i % 3}" for i in range(5_000)]
    lines[4_321] = "1,2,3"
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    found = []
    for size in (SIZE, 10 * ROWS):
        sink = Sink()
        assert load(DataOptions(source=str(path), partition_rows=size), sink) is None
        found.append([(d.code, d.message, str(d.span)) for d in sink.diagnostics])
    assert found[0] == found[1]
    assert found[0]


def test_a_file_is_encoded_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path, ".csv", _table())
    encoded = []
    inner = row_store.load_large

    def counting(*arguments: object, **named: object) -> Dataset | None:
        encoded.append(1)
        return inner(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(row_store, "load_large", counting)
    first, _ = _load(path, SIZE)
    again, _ = _load(path, SIZE)
    assert len(encoded) == 1
    assert again.digest == first.digest
    assert again.columns == first.columns
    path.write_text(path.read_text().replace("blue", "pink"))
    _load(path, SIZE)
    assert len(encoded) == 2


def test_a_damaged_partition_is_reported_and_never_used(tmp_path: Path) -> None:
    dataset, _ = _load(_written(tmp_path, ".csv", _table()), SIZE)
    rows = dataset.splits["train"]
    assert isinstance(rows, PartedTable)
    part = rows.parts[3]
    assert isinstance(part, StoredPart)
    content = bytearray(part.path.read_bytes())
    content[len(content) // 2] ^= 1
    part.path.write_bytes(content)
    with pytest.raises(spnc.InputError) as error:
        part.table()
    assert [d.code for d in error.value.diagnostics] == ["E323"]
    rows.parts[2].table()
    part.path.write_bytes(rows.parts[2].path.read_bytes())  # type: ignore[attr-defined]
    with pytest.raises(spnc.InputError):
        part.table()


def test_a_damaged_description_is_encoded_again(tmp_path: Path) -> None:
    path = _written(tmp_path, ".csv", _table())
    first, _ = _load(path, SIZE)
    (description,) = (tmp_path / "cache").rglob("table.json")
    description.write_text(description.read_text().replace("length", "lengtn", 1))
    again, _ = _load(path, SIZE)
    assert again.digest == first.digest


def test_a_cache_that_cannot_be_written_to_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path, ".csv", _table())
    first, _ = _load(path, SIZE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "file"))
    again, _ = _load(path, SIZE)
    assert again.digest == first.digest
    assert isinstance(again.splits["train"], PartedTable)
    assert again.splits["train"].parts[0].table().rows == SIZE
