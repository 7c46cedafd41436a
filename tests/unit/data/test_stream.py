"""Files read in pieces: the same rows as in one go, and the same words about every problem."""

from __future__ import annotations

import gzip
import os
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spnc.common.observer import Progress
from spnc.data import pieces
from spnc.data.columns import Column
from spnc.data.load import load_table
from spnc.data.stream import stream_table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, render

COLUMNS = (Column("a"), Column("b", "categorical", 3))
SIZES = [1, 2, 5, 13, 40, 1 << 20]
Outcome = tuple[dict[str, NDArray[np.float64]] | None, str]


def streamed(
    source: str, columns: tuple[Column, ...] = COLUMNS, progress: Progress | None = None
) -> Outcome:
    sink = Sink()
    parts: dict[str, list[NDArray[np.float64]]] = {}
    for split, table in stream_table(source, sink, columns=columns, progress=progress):
        assert table.rows > 0
        assert not sink.failed
        parts.setdefault(split, []).append(table.values)
    tables = {split: np.concatenate(values) for split, values in parts.items()}
    return (None if sink.failed else tables), render(sink.diagnostics)


def whole(source: str, columns: tuple[Column, ...] = COLUMNS) -> Outcome:
    sink = Sink()
    dataset = load_table(source, sink, columns=columns)
    tables = None if dataset is None else {n: t.values for n, t in dataset.splits.items()}
    return tables, render(sink.diagnostics)


def check_same(path: Path, columns: tuple[Column, ...] = COLUMNS) -> Outcome:
    expected, text = whole(str(path), columns)
    found, found_text = streamed(str(path), columns)
    assert found_text == text
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert list(found) == list(expected)
        for split, values in expected.items():
            assert found[split].tobytes() == values.tobytes()
    return found, text


def in_pieces_only(label: str, done: int, total: int | None) -> None:
    """Take note of progress, which counts rows where a file is read in pieces."""
    assert " rows, " in label, f"{label} was read as a whole: {done} of {total}"


ROWS = "0,1\n1,2\n0,0\n1,1\n" * 9
GOOD = {
    "plain.csv": ROWS,
    "named.csv": "a,b\n" + ROWS,
    "no-end.csv": ROWS.rstrip("\n"),
    "blank-lines.csv": "a,b\n0,1\n" + ROWS.replace("\n", "\n\n") + "\n" * 30,
    "windows.csv": "\ufeffa,b\n0,1\n" + ROWS.replace("\n", "\r\n"),
    "mac.csv": ROWS.replace("\n", "\r"),
    "missing.csv": ROWS.replace("0", "?").replace("2", ""),
    "minus-zero.csv": ROWS.replace("0", "-0"),
    "wide-numbers.csv": ROWS.replace("1", "1.000e0"),
    "quoted.csv": '"a","b"\n"0","1"\n' + ROWS.replace("1", '"1"'),
    "lines-in-cells.csv": ROWS.replace("2", '"2\n\n\n"'),
    "tabs.tsv": ROWS.replace(",", "\t") + "\t\n" * 9,
    "spaces.txt": ROWS.replace(",", "  "),
    "semicolons.data": ROWS.replace(",", ";"),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("size", [17, 29, 1 << 20])
@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int, compressed: bool
) -> None:
    path = tmp_path / (name + ".gz" if compressed else name)
    path.write_bytes(gzip.compress(GOOD[name].encode()) if compressed else GOOD[name].encode())
    monkeypatch.setattr(pieces, "PIECE_BYTES", size)
    expected, _ = whole(str(path))
    assert expected is not None
    found, _ = streamed(str(path), progress=in_pieces_only)
    assert found is not None
    assert found["all"].tobytes() == expected["all"].tobytes()


def test_a_first_line_of_empty_cells_is_a_row_also_for_a_model(tmp_path: Path) -> None:
    # Its cells have the names that such columns get, which once made a header of it.
    path = tmp_path / "table.txt"
    path.write_text("  \n1 0.\n1e3\n")
    dataset = load_table(str(path), Sink())
    assert dataset is not None
    assert dataset.in_memory("all").rows == 3
    pieces = stream_table(str(path), Sink(), columns=dataset.columns, rules=dataset.rules)
    found = np.concatenate([piece.values for _, piece in pieces])
    np.testing.assert_array_equal(found, dataset.in_memory("all").values)


BAD = {
    "ragged.csv": ROWS + "1\n" + ROWS + "0,1,1\n",
    "ragged-named.csv": "a,b\n" + ROWS + "1\n" + ROWS + "0,1,\n",
    "mostly-wider.csv": ROWS + "0,1,1\n" * 99,
    "narrow-header.csv": "a\n" + ROWS,
    "other-names.csv": "a,c\n" + ROWS,
    "names-turned.csv": "b,a\n" + ROWS,
    "names-twice.csv": "a,a\n" + ROWS,
    "a-word.csv": ROWS + "1,one\n" + ROWS + "two,2\n",
    "words.csv": "a,b\n" + "".join(f"{i % 2},w{i % 11}\n" for i in range(60)),
    "states.csv": ROWS + "1,3\n" + ROWS + "2,0\n1,-1\n1,7\n",
    "fractions.csv": ROWS + "0.5,1\n" * 3,
    "infinite.csv": ROWS + "inf,1\n" + ROWS + "1,-inf\n",
    "many.csv": ROWS + "x,y\n" * 30,
    "unclosed.csv": ROWS + '0,"1\n' + ROWS,
    "after-quote.csv": ROWS + '0,"1"1\n' + ROWS,
    "nul.csv": ROWS + "0,\0\n" + ROWS,
    "latin.csv": ROWS.encode() + b"\xe9,1\n" + ROWS.encode(),
    "empty.csv": "",
    "blank.csv": "\n" * 50,
    "tabs-alone.csv": "\t\n" * 50,
    "only-a-header.csv": "a,b\n",
    "not-gzip.csv.gz": ROWS,
    "cut.csv.gz": gzip.compress(np.random.default_rng(0).bytes(999).hex().encode())[:-30],
    "cut-late.csv.gz": gzip.compress(ROWS.encode() * 20)[:-9],
    "damaged.npy": b"\x93NUMPY\x01\0\xff\xff{",
    "empty.npy": b"",
    "spaces.xyz": ROWS,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BAD)
def test_every_problem_is_told_as_for_a_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int
) -> None:
    content = BAD[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(pieces, "PIECE_BYTES", size)
    found, text = check_same(path)
    assert found is None
    assert "error[E" in text


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("names", [(), ("rownames", "a", "b")])
def test_names_of_rows_are_skipped_as_in_a_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, names: tuple[str, ...]
) -> None:
    """Also by a model that was trained on a table without them."""
    path = tmp_path / "rows.csv"
    rows = [f"row {i},{i % 2},{i % 3}" for i in range(30)]
    path.write_text("\n".join(["a,b", *rows]))
    monkeypatch.setattr(pieces, "PIECE_BYTES", size)
    rules, sink = TableRules(names), Sink()
    parts = [t.values for _, t in stream_table(str(path), sink, columns=COLUMNS, rules=rules)]
    assert np.concatenate(parts).tolist() == [[i % 2, i % 3] for i in range(30)]
    assert [d.code for d in sink.diagnostics] == ["W314"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    check_same(tmp_path / "nothing.csv")
    check_same(tmp_path)


SCRAPS = [
    *("0", "1", "2", "3", "?", "", " ", "x", "1.0", "-0", '"', '""', '"1"', '"\n"', '"a', "é"),
    *(
        ",",
        ",",
        ",",
        ",",
        ";",
        "\t",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "\0",
        "\ufeff",
        "\x0c",
    ),
    *("0,1\n", "1,2\n", "a,b\n", "0,1\r\n", '"1",0\n', "?,?\n"),
]


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(SCRAPS), max_size=40).map("".join),
    st.sampled_from(SIZES),
    st.sampled_from([".csv", ".tsv", ".txt"]),
)
@example("\t\n" * 9, 5, ".csv")
@example('a,"b\r\r\n"\r0,1\r\n', 2, ".csv")
def test_any_text_is_read_as_if_it_were_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, size: int, ending: str
) -> None:
    path = tmp_path / f"table{ending}"
    path.write_bytes(text.encode())
    monkeypatch.setattr(pieces, "PIECE_BYTES", size)
    check_same(path)
    check_same(path, (Column("x0", "categorical", 3),))


@pytest.mark.parametrize("dtype", ["?", "u1", ">i4", "f2", "f4", "f8", "longdouble"])
def test_arrays_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    path = tmp_path / "a.npy"
    np.save(path, (np.arange(40).reshape(20, 2) % 2).astype(dtype))
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress(path.read_bytes()))
    monkeypatch.setattr(pieces, "PIECE_CELLS", 6)
    expected, _ = whole(str(path))
    assert expected is not None
    for name in ("a.npy", "a.npy.gz"):
        source = str(tmp_path / name)
        pieces_of = stream_table(source, Sink(), columns=COLUMNS, progress=in_pieces_only)
        found = [t for _, t in pieces_of]
        assert [t.rows for t in found] == [3, 3, 3, 3, 3, 3, 2]
        assert np.concatenate([t.values for t in found]).tobytes() == expected["all"].tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((20, 3)),
        np.zeros((0, 2)),
        np.zeros(2),
        np.zeros((20, 2), dtype=complex),
        np.vstack([np.zeros((20, 2)), [[0, 3]], [[2, np.inf]]]),
        np.asfortranarray(np.arange(40.0).reshape(20, 2) % 2),
        np.vstack([np.zeros((20, 2)), [[np.nan, -0.0]]]),
    ],
)
def test_special_arrays_are_read_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: NDArray[np.float64]
) -> None:
    np.save(tmp_path / "a.npy", array)
    monkeypatch.setattr(pieces, "PIECE_CELLS", 6)
    check_same(tmp_path / "a.npy")
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(content[:-9])
    check_same(tmp_path / "cut.npy")


def test_a_whole_file_reports_its_bytes_alone(tmp_path: Path) -> None:
    """What `in_pieces_only` relies on."""
    (tmp_path / "a.csv").write_text(BAD["a-word.csv"])  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"a\.csv was read as a whole"):
        streamed(str(tmp_path / "a.csv"), progress=in_pieces_only)


def test_sources_in_memory_come_by_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnc.data.table.PIECE_CELLS", 6)
    table = np.arange(40.0).reshape(20, 2) % 2
    np.savez(tmp_path / "a.npz", train=table, test=table[:4])
    found, _ = check_same(tmp_path / "a.npz")
    assert found is not None
    assert list(found) == ["train", "test"]
    dataset = load_table("builtin:asia", Sink())
    assert dataset is not None
    assert streamed("builtin:asia", dataset.columns)[0] is not None
    assert streamed("builtin:asai", dataset.columns) == whole("builtin:asai", dataset.columns)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 5)
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=[ROWS])
    writer.start()
    found, _ = streamed(str(path))
    writer.join()
    assert found is not None
    assert len(found["all"]) == 36


def test_progress_counts_rows_and_the_bytes_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 20)
    path = tmp_path / "a.csv"
    path.write_text(ROWS)
    told: list[tuple[str, int, int | None]] = []
    taken = 0
    for _, table in stream_table(
        str(path), Sink(), columns=COLUMNS, progress=lambda *now: told.append(now)
    ):
        assert len(told) == taken  # a piece is done when the next one is asked for
        taken += 1
        assert table.rows <= 6
    assert len(told) == taken > 5
    done = [now[1] for now in told]
    assert done == sorted(done)
    assert told[-1] == ("36 rows, a.csv", len(ROWS), len(ROWS))


def test_memory_does_not_grow_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1 << 14)
    path = tmp_path / "a.csv"

    def peak(repeats: int) -> int:
        path.write_text(ROWS * repeats)
        tracemalloc.start()
        for _ in stream_table(str(path), Sink(), columns=COLUMNS):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(200)
    assert peak(4000) < 1.2 * peak(1000)


@pytest.mark.parametrize(
    "text",
    [
        "4,3,small,large\n17.9,10.3,52\n0.0,17.7,1\n19.6,21.2,1\n11.4,20.3,a\n",
        "rain,1,;r],0\n0,1,1\n1a_n0,;r1,0\n0,1,0ra_n\n",
        "a\tb\t\n\t4.5\tno\na\tb\t\n\t4.5\tno\n",
    ],
    ids=["numbers before the table", "words before the table", "a column without a name"],
)
def test_the_first_line_means_the_same_when_columns_are_known(text: str, tmp_path: Path) -> None:
    path = tmp_path / ("table.tsv" if "\t" in text else "table.csv")
    path.write_text(text)
    sink = Sink()
    dataset = load_table(str(path), sink)
    assert dataset is not None
    pieces = stream_table(str(path), sink, columns=dataset.columns, rules=dataset.rules)
    found = np.concatenate([piece.values for _, piece in pieces])
    assert not sink.failed
    assert np.array_equal(found, dataset.splits["all"].values, equal_nan=True)
