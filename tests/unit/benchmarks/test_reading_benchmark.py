"""The benchmark of reading: its files, what workers report, and what it writes."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmarks
from benchmarks import reading
from benchmarks.common import large_csv
from benchmarks.common.large_circuit import circuit_text, with_brackets
from benchmarks.peers.catalogue import READERS
from benchmarks.peers.speed_protocol import attempt
from benchmarks.timing import reading_page, spnc_reading_worker
from benchmarks.timing.workers import Contender, GoneError, Worker
from spnc.diagnostics import Source
from tests.plain_texts import is_plain

ROWS = 400


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "typed.csv"
    large_csv.write_typed(path, ROWS)
    return path


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "binary.csv"
    large_csv.write_binary(path, ROWS)
    return path


def cells_of(path: Path) -> tuple[list[str], list[tuple[str, ...]]]:
    """The header and the columns, by Python's own reader."""
    with path.open(encoding="ascii", newline="") as file:
        head, *lines = list(csv.reader(file))
    return head, list(zip(*lines, strict=True))


def total(path: Path) -> float:
    head, columns = cells_of(path)
    return sum(map(float, columns[head.index(large_csv.CHECKED)]))


def test_the_typed_file_has_floats_whole_numbers_and_words(typed: Path) -> None:
    head, columns = cells_of(typed)
    assert len(set(head)) == len(columns) == 30
    assert {len(column) for column in columns} == {ROWS}
    kinds = Counter(name[0] for name in head)
    assert kinds == {"x": 10, "n": 10, "w": 10}
    for name, column in zip(head, columns, strict=True):
        known = [cell for cell in column if cell]
        assert (len(known) < ROWS) == (name in ("x1", "w9"))
        assert len(known) > 0.95 * ROWS
        match name[0]:
            case "x":
                assert all(len(cell.partition(".")[2]) == 5 for cell in known)
                assert len(set(known)) > 0.9 * len(known)
            case "n":
                assert all(0 <= int(cell) < 60_000 for cell in known)
            case _:
                assert 3 <= len(set(known)) <= 48
                assert all(cell.replace("-", "").isalpha() for cell in known)


@pytest.mark.parametrize("write", [large_csv.write_typed, large_csv.write_binary])
def test_files_are_the_same_every_time_and_longer_ones_are_written_in_pieces(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, 30)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    monkeypatch.setattr(large_csv, "_PIECE", 7)
    write(tmp_path / "c", 30)
    head, columns = cells_of(tmp_path / "c")
    assert len(head) == 30
    assert len(columns[0]) == 30


def test_binary_columns_depend_on_one_another(tmp_path: Path) -> None:
    large_csv.write_binary(tmp_path / "binary.csv", 3_000)
    _, columns = cells_of(tmp_path / "binary.csv")
    values = np.array(columns, dtype=float)
    assert set(np.unique(values)) == {0.0, 1.0}
    strongest = np.abs(np.corrcoef(values) - np.eye(30)).max()
    assert strongest > 0.2


def test_spnc_reports_what_it_read(binary: Path) -> None:
    told = spnc_reading_worker.answered(
        {"do": "read", "path": str(binary), "column": large_csv.CHECKED}
    )
    assert (told["rows"], told["columns"]) == (ROWS, 30)
    assert told["total"] == total(binary)
    assert told["seconds"] > 0
    assert told["peak_mb"] > 10


def test_both_texts_of_a_circuit_are_the_same_circuit(tmp_path: Path) -> None:
    text = circuit_text(3000)
    assert text == circuit_text(3000)
    told = []
    for name, written in (("plain", text), ("brackets", with_brackets(text))):
        path = tmp_path / f"{name}.spn"
        path.write_text(written, encoding="utf-8")
        assert is_plain(Source(path.name, written)) == (name == "plain")
        told.append(spnc_reading_worker.answered({"do": "check", "path": str(path)}))
    assert told[0]["edges"] >= 3000
    assert [told[1][key] for key in ("nodes", "edges")] == [told[0][k] for k in ("nodes", "edges")]
    assert all(0 < each["seconds"] < each["model_seconds"] for each in told)


def test_a_file_that_spnc_cannot_read_is_reported(tmp_path: Path) -> None:
    command = {"do": "read", "path": str(tmp_path / "none.csv"), "column": "x0"}
    told = attempt(spnc_reading_worker.answered, command)
    assert "none.csv" in told["error"]


def test_spnc_trains_in_the_process_that_is_measured(binary: Path, tmp_path: Path) -> None:
    spec = tmp_path / "memory.yaml"
    spec.write_text(reading.SPEC.format(source=binary.as_posix()), encoding="utf-8")
    command = {"do": "train", "spec": str(spec), "out": str(tmp_path / "run")}
    told = spnc_reading_worker.answered(command)
    assert told["trained_rows"] == 0.8 * ROWS
    assert told["edges"] > 30
    assert -30 * np.log(2) < told["log_likelihood"] < 0
    assert (tmp_path / "run" / "model.spnc").is_file()
    spec.write_text("model: memory\n", encoding="utf-8")
    failed = attempt(spnc_reading_worker.answered, {**command, "out": str(tmp_path / "no")})
    assert "`spnc train` ended with 1: error[" in failed["error"]


@pytest.mark.parametrize("name", [peer.name for peer in READERS])
def test_other_libraries_report_what_they_read(name: str, typed: Path) -> None:
    pytest.importorskip(name)
    (peer,) = (peer for peer in READERS if peer.name == name)
    contender = Contender(name, "1", (sys.executable, str(peer.worker), *peer.arguments))
    command = {"do": "read", "path": str(typed), "column": large_csv.CHECKED}
    told = reading.asked(contender, 60.0, Worker, command)
    assert (told["rows"], told["columns"]) == (ROWS, 30)
    assert told["total"] == pytest.approx(total(typed), rel=1e-12)


class Reader:
    """A worker without a process, which replies as it is told to."""

    def __init__(self, **told: Any) -> None:
        self.told, self.stopped = told, 0

    def ask(self, seconds: float, **command: Any) -> dict[str, Any]:
        if "gone" in self.told:
            raise GoneError(self.told["gone"])
        if command["do"] == "check":
            assert Path(command["path"]).read_text(encoding="utf-8").startswith("circuit large")
            taken = {"seconds": 2.0, "cpu_seconds": 1.0, "model_seconds": 4.0, "peak_mb": 300.0}
            taken["model_cpu_seconds"] = 3.0
            return {"version": "1", "nodes": 400, "edges": 500, **taken, **self.told}
        if command["do"] == "train":
            spec = Path(command["spec"])
            assert "source: binary.csv" in spec.read_text(encoding="utf-8")
            assert spec.with_name("binary.csv").is_file()
            trained = {"edges": 61, "log_likelihood": -9.5, "trained_rows": 8}
            return {"version": "1", "seconds": 40.0, "peak_mb": 800.0, **trained}
        lines = Path(command["path"]).read_text(encoding="ascii").splitlines()
        read = {"rows": len(lines) - 1, "columns": 30, "total": 5.0}
        took = {"version": "1", "seconds": 2.0, "cores": 1.0, "peak_mb": 300.0}
        return {**took, **read, **self.told}

    def stop(self) -> None:
        self.stopped += 1


def run_of(monkeypatch: pytest.MonkeyPatch, **readers: Reader) -> reading_page.Run:
    contenders = [Contender(name, "1", (), is_peer=name != "spnc") for name in readers]
    monkeypatch.setattr(reading, "systems", lambda *_: contenders)
    options = reading.parsed(["--rows", "20", "--edges", "50", "--repeats", "2"])
    run = reading.measured(options, lambda contender: readers[contender.name])
    return json.loads(json.dumps(run))


def test_a_run_records_every_system_and_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = {"spnc": Reader(), "fast": Reader(seconds=0.5)}
    run = run_of(monkeypatch, **readers)
    assert (run["reading"]["rows"], run["training"]["rows"]) == (20, 200)
    assert [r["seconds"] for r in run["reading"]["records"]] == [[2.0, 2.0], [0.5, 0.5]]
    # Two readings, a training, and two circuits twice, each in a process of its own.
    assert readers["spnc"].stopped == 7
    page = reading_page.page(run)
    assert "| fast 1 | 0.5 (0.5 to 0.5) | 0.0012 | 1.0 | 300 | 4 × |" in page
    assert "| 200 | 30 | 0 | 40 | 800 | 61 | -9.500 |" in page
    assert "A circuit of 500 edges and 400 nodes over 40 binary columns" in page
    assert "| brackets | 2 (2 to 2) | 1 (1 to 1) | 4 (4 to 4) | 3 (3 to 3) | 300 |" in page
    assert "medians of 2" in page
    assert "–" not in page


def test_systems_that_differ_or_fail_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(
        monkeypatch,
        spnc=Reader(),
        few=Reader(rows=19),
        wrong=Reader(total=5.1),
        gone=Reader(gone="not done after 1 s"),
    )
    page = reading_page.page(run)
    assert "\\*: few 1 read something else: 19 rows, not 20." in page
    assert "\\*: wrong 1 read something else: x0 adds up to 5.1, not 5.0." in page
    assert "–: gone 1 did not read the file: not done after 1 s." in page
    assert "| gone 1 | – | – | – | – | – |" in page
    assert "*: few 1" in reading_page.text(run)


def test_a_page_without_spnc_still_shows_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(monkeypatch, spnc=Reader(gone="it ended"), other=Reader())
    page = reading_page.page(run)
    assert "| other 1 | 2 (2 to 2) | 0.0003 | 1.0 | 300 | – |" in page
    assert "–: no training: it ended." in page
    assert "–: the text `plain` was not read: it ended." in page


def test_pages_are_written_where_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(monkeypatch, spnc=Reader(), other=Reader())
    monkeypatch.setattr(reading, "measured", lambda _: run)
    before = set(Path(benchmarks.__path__[0]).rglob("*"))
    reading.main(["--rows", "20"])
    assert set(Path(benchmarks.__path__[0]).rglob("*")) == before
    assert "other 1" in capsys.readouterr().out
    reading.main(["--rows", "20", "--results", str(tmp_path / "new")])
    page = (tmp_path / "new" / "reading.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "new" / "reading.json").read_text(encoding="utf-8")) == run
    (tmp_path / "new" / "reading.md").unlink()
    reading.main(["--page-only", "--results", str(tmp_path / "new")])
    assert (tmp_path / "new" / "reading.md").read_text(encoding="utf-8") == page
    with pytest.raises(SystemExit):
        reading.main(["--rows", "0"])


def test_the_part_about_circuits_can_be_measured_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(monkeypatch, spnc=Reader())
    (tmp_path / "reading.json").write_text(json.dumps(run), encoding="utf-8")
    measured = reading.circuits_measured
    monkeypatch.setattr(
        reading, "circuits_measured", lambda *given: measured(*given, lambda _: Reader(seconds=8.0))
    )
    reading.main(["--circuits-only", "--edges", "50", "--results", str(tmp_path)])
    now = json.loads((tmp_path / "reading.json").read_text(encoding="utf-8"))
    assert {**now, "circuits": run["circuits"]} == run
    assert now["circuits"]["records"][0]["seconds"] == [8.0] * 3
