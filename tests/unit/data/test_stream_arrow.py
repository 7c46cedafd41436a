"""Parquet, Arrow and Feather files read in pieces: the same rows and messages as in one go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import spnc
from spnc.data import pieces
from spnc.data.dataset import Dataset
from spnc.data.load import load_table
from spnc.data.stream import stream_table
from spnc.diagnostics import Sink, render

ROWS = 1000


def in_batches(kind: str, path: Path, table: Any) -> None:
    """Write a table to a file of a type, in several batches."""
    if kind == "stream":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=300)
    elif kind == "file":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "feather":
        pa.feather.write_feather(table, path, compression="lz4", chunksize=300)
    else:
        pa.parquet.write_table(table, path, row_group_size=400)


TYPES = {
    "parquet": "a.parquet",
    "file": "a.arrow",
    "stream": "a.ipc",
    "feather": "a.feather",
}
Write = Callable[[Any], Path]


@pytest.fixture(params=TYPES)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    def to_file(table: Any) -> Path:
        path = tmp_path / TYPES[request.param]
        in_batches(request.param, path, table)
        return path

    return to_file


def mixed(rows: int = ROWS) -> Any:
    """Words, numbers, dates and truth values, with missing cells; words also as a dictionary."""
    rng = np.random.default_rng(0)
    words = [None if i % 7 == 0 else ("red", "green", "blue")[i % 3] for i in range(rows)]
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, rows)]
    return pa.table(
        {
            "colour": pa.array(words),
            "mark": pa.array(words[::-1]).dictionary_encode(),
            "size": pa.array(rng.normal(10.0, 2.0, rows), mask=rng.random(rows) < 0.1),
            "count": pa.array(rng.poisson(30.0, rows), pa.int32()),
            "seen": pa.array(days),
            "big": pa.array([None if i % 11 == 0 else i % 2 == 0 for i in range(rows)]),
        }
    )


def dataset_of(path: Path) -> Dataset:
    found = load_table(str(path), Sink())
    assert found is not None
    return found


def test_batches_are_the_pieces(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(mixed())
    whole = dataset_of(path)
    monkeypatch.setattr(pieces, "PIECE_CELLS", 6 * 70)
    told: list[tuple[str, int, int | None]] = []
    found = [
        table
        for _, table in stream_table(
            str(path),
            Sink(),
            columns=whole.columns,
            rules=whole.rules,
            progress=lambda *now: told.append(now),
        )
    ]
    assert len(found) >= ROWS // 70
    assert max(table.rows for table in found) <= 70
    assert (
        np.concatenate([t.values for t in found]).tobytes() == whole.splits["all"].values.tobytes()
    )
    assert [label.startswith(f"{ROWS:,} rows, ") for label, _, _ in told][-1]
    done = [now for _, now, _ in told]
    assert done == sorted(done)
    assert done[-1] <= path.stat().st_size


def test_figures_are_those_of_the_whole_table(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(mixed())
    spec = {"model": "m", "forest": [{"learner": "hclt", "states": 2}]}
    model = spnc.train(spec, ["optimizer.max_iterations=3"], data=mixed()).model
    monkeypatch.setattr(pieces, "PIECE_CELLS", 6 * 70)
    scored = model.evaluate(str(path))["all"]
    expected = model.evaluate(mixed())["all"]
    assert (scored.possible, scored.impossible) == (ROWS, 0) == (expected.possible, 0)
    assert scored.average == pytest.approx(expected.average, rel=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "file"])
def test_memory_holds_one_batch(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow counts what it has allocated; the other file is a single batch, held as a whole."""
    path = tmp_path / TYPES[kind]
    in_batches(kind, path, pa.table({f"x{i}": np.arange(200_000) % 2 + 0.0 for i in range(4)}))
    columns = dataset_of(path).columns
    monkeypatch.setattr(pieces, "PIECE_CELLS", 1 << 14)
    before = pa.total_allocated_bytes()
    most = 0
    for _, _ in stream_table(str(path), Sink(), columns=columns):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 200_000 * 4 * 8 / 10


def test_problems_are_told_as_for_a_whole_file(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = dataset_of(write(mixed()))
    monkeypatch.setattr(pieces, "PIECE_CELLS", 6 * 70)
    late = pa.array(["red"] * (ROWS - 1) + ["pink"])
    both = pa.Table.from_arrays([late, late], names=["colour", "colour"])
    bad = {
        "E308": mixed().set_column(0, "colour", late),
        "E304": mixed().set_column(2, "size", late),
        "E307": mixed().append_column("taste", late),
        "E313": both,
        "E306": mixed().slice(0, 0),
    }
    for code, table in bad.items():
        path = write(table)
        expected, found = Sink(), Sink()
        load_table(str(path), expected, columns=whole.columns, rules=whole.rules)
        rows = stream_table(str(path), found, columns=whole.columns, rules=whole.rules)
        assert sum(table.rows for _, table in rows) < ROWS
        assert render(found.diagnostics) == render(expected.diagnostics)
        assert code in {d.code for d in found.diagnostics}


def test_damaged_files_are_told_as_whole_ones(write: Write) -> None:
    whole = dataset_of(write(mixed()))
    path = write(mixed())
    content = path.read_bytes()
    for damaged in (b"", b"PAR1", content[: len(content) // 2], b"x" * 50):
        path.write_bytes(damaged)
        expected, found = Sink(), Sink()
        load_table(str(path), expected, columns=whole.columns)
        list(stream_table(str(path), found, columns=whole.columns))
        assert found.failed
        assert render(found.diagnostics) == render(expected.diagnostics)
