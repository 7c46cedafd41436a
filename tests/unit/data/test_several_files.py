"""Tables in several files: they are the same table in one file, and differences are reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import spnc
from spnc.cli import main
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.load import load, load_table
from spnc.data.options import DataOptions
from spnc.data.parted import PartedTable
from spnc.data.several_files import TableFiles, names_several
from spnc.data.stream import stream_table
from spnc.diagnostics import Sink
from spnc.model import to_bytes

ROWS = 3_000
SPLIT = (0.8, 0.1, 0.1)
KINDS = (".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", ".jsonl", ".npy")
BOUNDS = (0, 700, 710, 2_200, ROWS)  # of four files


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "cache"))


def _table() -> pa.Table:
    """Return rows of several kinds, whose last ones have values of their own."""
    rng = np.random.default_rng(0)
    place = np.arange(ROWS)
    group = rng.integers(0, 3, ROWS)
    color = np.array(["red", "green", "blue", "late"])[np.where(place > 2_500, 3, group)]
    return pa.table(
        {
            "id": place + 1,
            "color": pa.array(color, mask=rng.random(ROWS) < 0.05),
            "calls": rng.poisson(40 + 9 * group) + np.where(place == ROWS - 1, 500, 0),
            "length": pa.array(np.round(rng.normal(group * 2, 1), 3), mask=place < 700),
            # Numbers in the first files, a word in the last one; 007 is no number.
            "code": np.where(place == 2_900, "x", np.where(place == 650, "007", "12")),
            "day": np.array(["2020-01-01", "2021-02-03", "2022-05-06"])[group],
        }
    )


def _write(path: Path, kind: str, table: pa.Table) -> None:
    if kind == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=300)
    elif kind == ".arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=400)
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif kind == ".npy":
        names = ("id", "calls", "length")
        np.save(path, np.stack([table[name].to_numpy() for name in names], axis=1))
    else:
        options = pa.csv.WriteOptions(delimiter="\t" if kind == ".tsv" else ",")
        pa.csv.write_csv(table, path, options)
        if kind == ".csv.gz":
            path.write_bytes(gzip.compress(path.read_bytes()))


def _written(folder: Path, kind: str, table: pa.Table) -> tuple[Path, Path]:
    """Write a table to one file, and to a folder with four; return both paths."""
    _write(folder / f"whole{kind}", kind, table)
    rows = folder / "rows"
    rows.mkdir()
    for i, begin in enumerate(BOUNDS[:-1]):
        own = table.slice(begin, BOUNDS[i + 1] - begin)
        if kind != ".npy":  # columns are found by their names
            own = own.select(own.column_names[::-1] if i == 2 else own.column_names)
        _write(rows / f"part-{i}{kind}", kind, own)
    (rows / "_SUCCESS").write_text("")
    (rows / ".part-0.crc").write_bytes(b"\0\1")
    (rows / "README.md").write_text("Rows of a table.\n")
    return folder / f"whole{kind}", rows


def _load(path: Path, size: int = 1 << 20, **more: object) -> tuple[Dataset | None, Sink]:
    sink = Sink()
    options = DataOptions(source=str(path), partition_rows=size, **more)  # type: ignore[arg-type]
    return load(options, sink), sink


def _loaded(path: Path, size: int = 1 << 20, **more: object) -> Dataset:
    found, sink = _load(path, size, **more)
    assert found is not None, sink.diagnostics
    return found


def _expect_the_same(found: Dataset, wanted: Dataset) -> None:
    assert found.columns == wanted.columns
    assert found.digest == wanted.digest
    assert dict(found.left_out) == dict(wanted.left_out)
    assert found.rules.as_json() == wanted.rules.as_json()
    for split in wanted.splits:
        own, other = found.in_memory(split), wanted.in_memory(split)
        np.testing.assert_array_equal(own.values, other.values)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_the_same_table_as_one_file(kind: str, tmp_path: Path) -> None:
    whole, rows = _written(tmp_path, kind, _table())
    wanted = _loaded(whole, split=SPLIT)
    _expect_the_same(_loaded(rows, split=SPLIT), wanted)
    _expect_the_same(_loaded(rows / f"part-?{kind}", split=SPLIT), wanted)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != ".jsonl"])
def test_large_tables_are_the_same_too(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spnc.data.pieces.PIECE_BYTES", 1 << 14)
    monkeypatch.setattr("spnc.data.pieces.PIECE_CELLS", 1 << 12)
    whole, rows = _written(tmp_path, kind, _table())
    for more in ({}, {"split": SPLIT}):
        found, wanted = _loaded(rows, 500, **more), _loaded(whole, 500, **more)
        assert isinstance(found.splits["train"], PartedTable)
        _expect_the_same(found, wanted)


def test_files_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b-1.csv", "a-2.csv", "a-10.csv", "b-1.txt", "c.csv"):
        (tmp_path / name).write_text("1,2\n")
    found = TableFiles.of(tmp_path / "?-*.csv")
    assert found is not None
    assert [file.name for file in found.files] == ["a-10.csv", "a-2.csv", "b-1.csv"]


def test_a_file_with_a_wildcard_in_its_name_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "rows*.csv").write_text("a,b\n1,2\n2,1\n")
    (tmp_path / "rows-2.csv").write_text("a,b\n1,2\n2,1\n")
    assert not names_several(tmp_path / "rows*.csv")
    assert _loaded(tmp_path / "rows*.csv").train.rows == 2


def test_splits_may_be_in_several_files(tmp_path: Path) -> None:
    whole, rows = _written(tmp_path, ".csv", _table())
    found = []
    for size in (1 << 20, 500):
        for train in (whole, rows):
            sink = Sink()
            options = DataOptions(
                train=str(train), valid=str(rows / "part-[2].csv"), partition_rows=size
            )
            assert load(options, sink) is None  # brackets are no wildcards
            assert [d.code for d in sink.diagnostics] == ["E302"]
            options = DataOptions(
                train=str(train), valid=str(rows / "part-2*"), partition_rows=size
            )
            dataset = load(options, Sink())
            assert dataset is not None
            found.append(dataset)
    _expect_the_same(found[1], found[0])
    _expect_the_same(found[3], found[2])


def test_the_model_has_the_same_bytes(tmp_path: Path) -> None:
    whole, rows = _written(tmp_path, ".parquet", _table())
    models = []
    for path in (whole, rows):
        # The name of the file is a part of the recipe.
        raw = spnc.train(_spec(path)).model
        raw.provenance = {}
        models.append(to_bytes(raw))
    assert models[0] == models[1]


def _spec(path: Path) -> dict[str, object]:
    return {
        "model": "rows",
        "data": {"source": str(path), "split": list(SPLIT)},
        "forest": [{"learner": "extra-spn", "min_instances": 500}],
        "optimizer": {"max_iterations": 2},
    }


# ---- headers -----------------------------------------------------------------------------------


def _texts(folder: Path, *texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for i, text in enumerate(texts):
        (folder / f"{i}.csv").write_text(text)
    return folder


def _columns(path: Path, **more: object) -> tuple[int, list[str]]:
    found = _loaded(path, **more)
    return found.train.rows, [column.name for column in found.columns]


def test_a_header_is_in_each_file_or_in_none(tmp_path: Path) -> None:
    rows = "1,2\n2,1\n0,3\n"
    assert _columns(_texts(tmp_path / "a", *[f"u,v\n{rows}"] * 3)) == (9, ["u", "v"])
    assert _columns(_texts(tmp_path / "b", *[rows] * 3)) == (9, ["x0", "x1"])
    # A first row of words that the next file has again is a header as well.
    words = "x,y\nred,blue\nblue,red\nred,red\n"
    assert _columns(_texts(tmp_path / "c", words, words)) == (6, ["x", "y"])
    assert _columns(_texts(tmp_path / "d", words, words), header="no") == (8, ["x0", "x1"])


@pytest.mark.parametrize("size", [1 << 20, 3])
def test_a_header_in_some_files_only_is_reported(size: int, tmp_path: Path) -> None:
    rows = "1,2\n2,1\n0,3\n"
    for name, texts, words in (
        ("a", (f"u,v\n{rows}", rows), "`1.csv` has no header, and `0.csv` has one"),
        ("b", (rows, f"u,v\n{rows}"), "`1.csv` seems to have a header, and `0.csv` has none"),
    ):
        found, sink = _load(_texts(tmp_path / name, *texts), size)
        assert found is None
        assert [(d.code, d.message) for d in sink.diagnostics] == [("E307", words)]


def test_files_without_rows_are_no_obstacle(tmp_path: Path) -> None:
    path = _texts(tmp_path / "a", "u,v\n", "u,v\n1,2\n2,1\n", "u,v\n", "u,v\n0,1\n")
    assert _columns(path) == (3, ["u", "v"])
    found, sink = _load(_texts(tmp_path / "b", "u,v\n", "u,v\n"))
    assert found is None
    assert [d.code for d in sink.diagnostics] == ["E306"]


def test_files_may_begin_with_blank_lines(tmp_path: Path) -> None:
    texts = ("1\n\n2\n0\n", "\n\n1\n1\n0\n", "\n\n")
    rows = _texts(tmp_path / "rows", *texts[:2], texts[0] + texts[2])
    (tmp_path / "whole.csv").write_text("".join((*texts[:2], texts[0], texts[2])))
    for size in (1 << 20, 3):
        _expect_the_same(_loaded(rows, size), _loaded(tmp_path / "whole.csv", size))


def test_warnings_about_files_that_are_alike_are_given_once(tmp_path: Path) -> None:
    text = "# made by hand, with care, twice\na,b\n1,2\n2,1\n0,3\n"
    found, sink = _load(_texts(tmp_path / "a", text, text, text))
    assert found is not None
    assert found.train.rows == 9
    assert [(d.code, d.notes) for d in sink.diagnostics] == [
        ("W317", ("the same in 2 more files",))
    ]


def test_the_folder_of_the_process_is_a_table_with_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_texts(tmp_path / "cups", "a,b\n1,2\n2,1\n"))
    assert _loaded(Path()).name == "cups"


# ---- problems ----------------------------------------------------------------------------------


def _problems(path: Path, size: int = 1 << 20, **more: object) -> list[tuple[str, str, str]]:
    found, sink = _load(path, size, **more)
    assert found is None
    return [
        (d.code, d.where.removeprefix(f"{path.as_posix()}/"), d.message)  # type: ignore[union-attr]
        for d in sink.diagnostics
        if d.severity == "error"
    ]


@pytest.mark.parametrize("size", [1 << 20, 4])
def test_problems_of_all_files_are_reported_with_file_and_line(size: int, tmp_path: Path) -> None:
    lines = "a,b\n" + "1,2\n2,1\n0,3\n" * 3
    path = _texts(tmp_path / "a", lines, lines + "1,2,3\n", lines, "a,b\n1\n2,3\n")
    assert [(code, where) for code, where, _ in _problems(path, size)] == [
        ("E303", "1.csv:11"),
        ("E303", "3.csv:2"),
    ]


@pytest.mark.parametrize("size", [1 << 20, 4])
def test_cells_that_do_not_fit_are_reported_with_file_and_place(size: int, tmp_path: Path) -> None:
    text = "a,n\n" + "1,2\n2,1\n0,3\n" * 3
    path = _texts(tmp_path / "a", text, text.replace("0,3", "0,-3"), text)
    (problem,) = _problems(path, size, weight="n")
    assert problem[:2] == ("E321", "1.csv:4")
    table = pa.table({"a": [1, 2, 0] * 3, "n": [2, 1, 3] * 3})
    rows = tmp_path / "rows"
    rows.mkdir()
    pa.parquet.write_table(table, rows / "a.parquet")
    bad = table.set_column(1, "n", pa.array([2, 1, 3, 2, -1, 3, 1, 1, 1]))
    pa.parquet.write_table(bad, rows / "b.parquet")
    (problem,) = _problems(rows, size, weight="n")
    assert problem[:2] == ("E321", "b.parquet")
    assert "in row 5" in problem[2]


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("size", [1 << 20, 4])
def test_other_columns_are_reported(kind: str, size: int, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    tables: Sequence[dict[str, list[int]]] = (
        {"a": [1, 2, 0], "b": [2, 1, 3]},
        {"a": [1, 2, 0]},
        {"b": [1, 2, 0], "a": [2, 1, 3]},
        {"a": [1, 2, 0], "c": [2, 1, 3]},
    )
    for i, table in enumerate(tables):
        _write(rows / f"{i}{kind}", kind, pa.table(table))
    found, sink = _load(rows, size)
    assert found is None
    assert [(d.code, d.notes) for d in sink.diagnostics] == [
        ("E307", ("not here: `b`",)),
        ("E307", ("not here: `b`", "only here: `c`")),
    ]
    assert [f"`{i}{kind}`" in d.message for i, d in zip((1, 3), sink.diagnostics, strict=True)]


@pytest.mark.parametrize("size", [1 << 20, 4])
def test_texts_in_one_file_and_numbers_in_another_are_reported(size: int, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    empty = pa.array([None, None, None], pa.float64())
    for i, b in enumerate(([1, 2, 3], empty, ["x", "y", "1"])):
        pa.parquet.write_table(pa.table({"a": [1, 2, 0], "b": b}), rows / f"{i}.parquet")
    (problem,) = _problems(rows, size)
    message = "column `b` holds texts in `2.parquet`, and numbers in `0.parquet`"
    assert problem == ("E307", "2.parquet", message)


def test_files_that_are_not_there_and_types_that_do_not_go_together(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "year=2020").mkdir()
    (tmp_path / "mixed").mkdir()
    for name in ("a.csv", "b.parquet", "c.xlsx"):
        (tmp_path / "mixed" / name).write_text("")
    for name, code, words in (
        ("empty", "E302", "holds no table"),
        ("rows", "E302", "holds no table"),
        ("rows/*.csv", "E302", "no file matches"),
        ("other/*.csv", "E302", "there is no such folder"),
        ("*/a.csv", "E302", "wildcard"),
        ("mixed", "E312", "of several types"),
        ("mixed/c*", "E312", "cannot read files of this type"),
    ):
        sink = Sink()
        assert load_table(str(tmp_path / name), sink) is None
        (problem,) = sink.diagnostics
        assert problem.code == code
        assert words in problem.message


# ---- other readers -----------------------------------------------------------------------------


def test_all_commands_take_several_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, rows = _written(tmp_path, ".csv", _table())
    out = tmp_path / "run"
    spnc.train(_spec(rows), out=out)
    model = str(out / "model.spnc")
    for command in (
        ["data", "show"],
        ["eval", model],
        ["impute", model],
        ["query", model, "P(color = 'red')", "--table"],
        ["anomalies", model],
    ):
        shown = []
        for path in (whole, rows / "*.csv"):
            assert main([*command, str(path)]) == 0, capsys.readouterr().err
            shown.append(capsys.readouterr().out.replace(str(path), "PATH"))
        assert shown[0] == shown[1]


def test_rows_are_streamed_from_several_files(tmp_path: Path) -> None:
    _, rows = _written(tmp_path, ".csv", _table())
    dataset = _loaded(rows)
    columns: tuple[Column, ...] = dataset.columns
    pieces = [
        table for _, table in stream_table(str(rows), Sink(), columns=columns, rules=dataset.rules)
    ]
    assert len(pieces) == 4
    np.testing.assert_array_equal(
        np.concatenate([piece.values for piece in pieces]), dataset.train.values
    )
