"""`spnc eval` over many rows: in pieces, equal rows once, and files that are complete or absent."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spnc.backends.numpy import NumpyBackend, NumpyEngine
from spnc.cli import main
from spnc.common.arrays import Floats
from spnc.common.observer import Observer
from spnc.data import pieces
from spnc.data.table import Table
from spnc.model import Model
from spnc.program.lower import lower
from spnc.program.program import Program
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows
from tests.places import ROOT

NUMPY = ["--backend", "numpy", "--json"]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model over six columns, also saved; small pieces, so that a few rows are many."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 300)
    monkeypatch.setattr("spnc.data.table.PIECE_CELLS", 240)
    program, parameters = lower(random_circuit(5, variables=6, depth=4, extremes=True))
    model = Model("some", program, parameters, {"recipe": "none"}, BACKENDS["numpy"]())
    model.save("model.spnc")
    return model


@pytest.fixture
def rows(model: Model) -> Floats:
    """Rows with missing values, each of them several times, also written to `rows.csv`."""
    few = random_rows(7, model.columns, 30, 0.1)
    rows = few[np.random.default_rng(1).integers(0, len(few), 500)]
    write("rows.csv", rows)
    return rows


def write(path: str, rows: Floats, ending: str = "") -> None:
    lines = [",".join("?" if np.isnan(v) else f"{v:g}" for v in row) for row in rows.tolist()]
    Path(path).write_text("\n".join(lines) + "\n" + ending)


def of_every_row(model: Model, rows: Floats) -> Floats:
    """The log-likelihoods without pieces, every row computed."""
    return model.engine.log_likelihood(model.parameters, model.engine.load(Table(rows)))


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["eval", "model.spnc", *arguments, *NUMPY]) == 0
    return json.loads(capsys.readouterr().out)["splits"]  # type: ignore[no-any-return]


def expected(values: Floats) -> dict[str, Any]:
    possible = values[values > -np.inf]
    return {
        "rows": len(values),
        "avg_ll": pytest.approx(possible.mean(), rel=1e-12),
        "impossible_rows": len(values) - len(possible),
    }


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "npz"])
def test_pieces_add_up_to_the_score_of_all_rows(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    np.save("rows.npy", rows)
    np.savez("rows.npz", rows)
    Path("rows.csv.gz").write_bytes(gzip.compress(Path("rows.csv").read_bytes()))
    values = of_every_row(model, rows)
    assert (values == -np.inf).any()
    found = result(capsys, f"rows.{kind}", "--per-row", "out/rows.csv")
    assert found == {"all": expected(values)}
    head, *lines = Path("out/rows.csv").read_text().splitlines()
    assert head == "split,row,log_likelihood"
    assert lines == [f"all,{i},{value!r}" for i, value in enumerate(values.tolist(), 1)]
    assert [p.name for p in Path("out").iterdir()] == ["rows.csv"]


def test_rows_go_to_standard_output_and_the_score_to_the_error_stream(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "model.spnc", "rows.csv", "--per-row", "-", "--backend", "numpy"]) == 0
    said = capsys.readouterr()
    head, *lines = said.out.splitlines()
    values = of_every_row(model, rows)
    assert head == "split,row,log_likelihood"
    assert lines == [f"all,{i},{value!r}" for i, value in enumerate(values.tolist(), 1)]
    assert "avg log-likelihood" in said.err
    assert not Path("-").exists()


def test_rows_and_json_do_not_share_standard_output(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "model.spnc", "rows.csv", "--per-row", "-", *NUMPY]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "both write to standard output" in said.err


def test_a_reader_that_goes_away_ends_the_command_quietly(model: Model, rows: Floats) -> None:
    line = [sys.executable, "-m", "spnc", "eval", "model.spnc", "many.csv", "--per-row", "-"]
    write("many.csv", np.tile(rows, (100, 1)))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*line, "--backend", "numpy"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"split,row,log_likelihood\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_every_split_has_its_score_and_its_row_numbers(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("splits.npz", train=rows, test=rows[:90])
    train, test = of_every_row(model, rows), of_every_row(model, rows[:90])
    found = result(capsys, "splits.npz", "--per-row", "out.csv")
    assert found == {"train": expected(train), "test": expected(test)}
    lines = Path("out.csv").read_text().splitlines()
    assert lines[1].startswith("train,1,")
    assert lines[501].startswith("test,1,")
    assert lines[-1] == f"test,90,{test[-1].item()!r}"
    assert result(capsys, "splits.npz", "--split", "test") == {"test": expected(test)}
    assert main(["eval", "model.spnc", "rows.csv", "--split", "test", "--per-row", "no.csv"]) == 1
    assert "E318" in capsys.readouterr().err
    assert not Path("no.csv").exists()


def test_equal_rows_are_computed_once_in_a_piece(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 4000)
    loaded: list[Table] = []
    monkeypatch.setattr(NumpyEngine, "load", lambda _, table, once: loaded.append(table) or table)
    result(capsys, "rows.csv")
    assert sum(t.weights.sum() for t in loaded) == 500
    assert len(loaded) > 1
    assert all(t.rows <= 30 for t in loaded)


def test_a_late_problem_is_told_and_nothing_is_written(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out.csv").write_text("old")
    write("late.csv", rows, "0,0,0,0,0,0\n0,0,0,0,0,9\n0,0,0,0,word,0\n0,0\n")
    before = sorted(Path().iterdir())
    assert main(["eval", "model.spnc", "late.csv", "--per-row", "out.csv", *NUMPY]) == 1
    told = json.loads(capsys.readouterr().out)["diagnostics"]
    places = [(d["code"], d["file"]) for d in told]
    assert places == [("E303", "late.csv:504"), ("E308", "late.csv:502"), ("E308", "late.csv:503")]
    assert Path("out.csv").read_text() == "old"
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("when", ["writing", "closing", "placing"])
def test_a_full_disk_is_told_and_leaves_the_old_file(
    model: Model,
    rows: Floats,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    resource = pytest.importorskip("resource")
    Path("out.csv").write_text("old")
    before = sorted(Path().iterdir())
    if when == "placing":

        def refuse(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(Path, "replace", refuse)
    # The text waits in a buffer of some kilobytes, so a short one fails only at its end.
    repeats = 40 if when == "writing" else 1
    write("many.csv", np.tile(rows[:100], (repeats, 1)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if when != "placing":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        code = main(["eval", "model.spnc", "many.csv", "--per-row", "out.csv", *NUMPY])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert code == 1
    assert "E120" in capsys.readouterr().out
    assert Path("out.csv").read_text() == "old"
    assert sorted(Path().iterdir()) == sorted([*before, Path("many.csv")])


def test_progress_is_shown_while_rows_are_evaluated(
    model: Model, rows: Floats, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int, int | None]] = []

    class Recorder(Observer):
        def progress(self, label: str, done: int, total: int | None) -> None:
            told.append((label, done, total))

    @contextmanager
    def recording(quiet: bool) -> Iterator[Observer]:
        yield Recorder()

    monkeypatch.setattr("spnc.common.progress_display.observing", recording)
    result(capsys, "rows.csv")
    size = Path("rows.csv").stat().st_size
    assert len(told) > 10
    assert told[-1] == ("500 rows, rows.csv", size, size)
    told.clear()
    np.savez("rows.npz", rows)
    result(capsys, "rows.npz")
    assert told[-1] == ("rows of all", 500, 500)


def test_a_model_computes_equal_rows_once_and_answers_for_each(model: Model, rows: Floats) -> None:
    loaded: list[Table] = []

    class Engine(NumpyEngine):
        def load(self, table: Table, *, once: bool = False) -> Table:
            loaded.append(table)
            return super().load(table, once=once)

    class Recording(NumpyBackend):
        def open(self, program: Program) -> Engine:
            return Engine(program, self.chunk_mb)

    values = of_every_row(model, rows)
    recorded = Model("some", model.program, model.parameters, {}, Recording())
    assert recorded.log_likelihood(rows).tobytes() == values.tobytes()
    assert len(loaded) == 13  # forty rows at a time
    assert all(t.rows <= 30 for t in loaded)
    assert recorded.log_likelihood(rows[:0]).shape == (0,)
