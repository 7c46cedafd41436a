"""The benchmark of `--auto`: its tables have structure, and its report says who is ahead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import auto_tables
from benchmarks.auto import DATASETS, learn_spn, report
from spnc.data.dataset import Column, Table
from spnc.data.load import load_table
from spnc.diagnostics import Sink
from spnc.mutual_information import mutual_information, pair_counts


def test_columns_of_a_block_say_more_about_one_another_than_those_of_far_blocks() -> None:
    table = auto_tables.many_columns(rows=2_000, columns=60)
    columns = [Column(str(i)) for i in range(60)]
    found = mutual_information(pair_counts(columns, Table(table.astype(np.float64))))
    near = np.mean([found[i, i + 1] for i in range(0, 60, 10)])
    far = np.mean([found[i, 59 - i] for i in range(10)])
    assert near > 5 * far


def test_many_rows_have_kinds_and_gaps_and_one_dull_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = auto_tables.many_rows(rows=500, columns=12)
    monkeypatch.setattr(auto_tables, "many_rows", lambda: small)
    auto_tables.write_many_rows(tmp_path / "rows.csv")
    sink = Sink()
    dataset = load_table(str(tmp_path / "rows.csv"), sink)
    assert dataset is not None
    values = dataset.splits["all"].values
    assert np.isnan(values).any()
    assert {c.kind for c in dataset.columns} == {"binary", "categorical"}
    assert [d.code for d in sink.diagnostics] == ["W301"]


def test_the_report_marks_what_is_above_both_of_learn_spn_s_figures() -> None:
    others = learn_spn()
    assert list(others) == list(DATASETS)
    run = {
        **{"valid": -1.0, "first": -2.0, "edges": 10, "tries": 3, "chosen": "hclt, x"},
        **{"seconds": 60.1, "load": 1.0, "recipe": "model: a\n"},
    }
    found = {
        "nltcs 1min": {**run, "test": max(others["nltcs"]) + 0.01},
        "msnbc 1min": {**run, "test": max(others["msnbc"]) - 0.001},
        "rows 1min": {**run, "test": -3.0},
    }
    lines = report(found, "1min").splitlines()
    assert "**" in next(line for line in lines if line.startswith("| NLTCS"))
    assert "**" not in next(line for line in lines if line.startswith("| MSNBC"))
    assert "tree, valid: -2.000" in next(line for line in lines if line.startswith("| 300,000"))
