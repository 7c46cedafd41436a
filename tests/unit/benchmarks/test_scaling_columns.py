"""The benchmark of wide tables: its table, its trainings, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scaling import columns as benchmark
from benchmarks.scaling import wide_table
from benchmarks.scaling.trained_apart import FailedError, trained_apart
from spnc.data.columns import Column
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.spec.read import read_recipe


def test_columns_depend_on_one_another_and_some_are_sparse() -> None:
    table = wide_table.wide_table(30, 4_000)
    assert (table == wide_table.wide_table(30, 4_000)).all()
    assert set(np.unique(table)) == {0, 1}
    columns = [Column(f"c{i}") for i in range(30)]
    information = mutual_information(pair_counts(columns, Table(table.astype(float))))
    assert np.median(information.max(axis=1)) > 0.02
    assert (table.mean(axis=0) < 0.1).sum() >= 30 // wide_table.SPARSE_EVERY


def test_files_hold_the_rows_of_their_splits(tmp_path: Path) -> None:
    table = wide_table.wide_table(5, 40)
    splits = wide_table.split(table)
    assert [len(cells) for cells in splits.values()] == [32, 4, 4]
    wide_table.write(splits, tmp_path)
    read = [
        np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1, dtype=np.uint8)
        for name in ("train", "valid", "test")
    ]
    assert (np.concatenate(read) == table).all()


def test_independent_columns_are_scored_row_by_row() -> None:
    splits = wide_table.split(wide_table.wide_table(4, 50))
    total = 0.0
    for row in splits["test"]:
        for column, cell in enumerate(row.tolist()):
            same = int((splits["train"][:, column] == cell).sum())
            total += np.log((same + 0.1) / (len(splits["train"]) + 0.2))
    found = wide_table.independent_log_likelihood(splits)
    assert found == pytest.approx(total / len(splits["test"]))


@pytest.mark.parametrize("learner", benchmark.FORESTS)
def test_every_spec_is_one(learner: str, tmp_path: Path) -> None:
    spec = tmp_path / "wide.yaml"
    spec.write_text(benchmark.spec_of(learner), encoding="utf-8")
    sink = Sink()
    assert read_recipe(spec, sink) is not None
    sink.stop()


def test_a_run_trains_and_prints_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "records.json"
    arguments = ["--columns", "6,12", "--rows", "300", "--learner", "learn-spn"]
    records = benchmark.main([*arguments, "--json", str(file)])
    assert json.loads(file.read_text(encoding="utf-8")) == records
    assert [record["columns"] for record in records] == [6, 12]
    for record in records:
        assert record["independent"] - 1.0 < record["test"] < 0.0
        assert record["peak_mb"] > 50.0
        assert record["seconds"] >= sum(record["stages"].values())
    said = capsys.readouterr().out
    assert "learn-spn" in said
    assert "exponent" in said


def test_exponents_are_those_of_the_growth() -> None:
    records = [
        {
            "learner": "hclt",
            "columns": columns,
            "independent": -2.0,
            "test": -1.0,
            "seconds": columns**2 / 1e4,
            "stages": {"train": columns / 1e3},
            "peak_mb": 100.0,
            "edges": 8 * columns,
        }
        for columns in (100, 400)
    ]
    failed = {"learner": "hclt", "columns": 900, "failed": "it ended"}
    said = benchmark.text([*records, failed])
    (last,) = (line.split() for line in said.splitlines() if "exponent" in line)
    assert last == ["exponent", "2.00", "–", "–", "–", "1.00", "–", "0.00", "1.00"]
    assert "900 columns: it ended" in said


def test_a_training_that_fails_is_reported(tmp_path: Path) -> None:
    spec = tmp_path / "wrong.yaml"
    spec.write_text("model: wrong\n", encoding="utf-8")
    with pytest.raises(FailedError, match="ended with 1"):
        trained_apart(spec, tmp_path / "run")
