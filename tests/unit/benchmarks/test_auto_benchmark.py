"""The benchmark of `--auto`: its tables have structure, and its page shows who is ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.auto import DATASETS, learn_spn, report
from benchmarks.common import made_tables
from benchmarks.common.intervals import interval
from spnc.data.columns import Column
from spnc.data.load import load_table
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.diagnostics import Sink


def test_columns_of_a_block_say_more_about_one_another_than_those_of_far_blocks() -> None:
    table = made_tables.many_columns(rows=2_000, columns=60)
    columns = [Column(str(i)) for i in range(60)]
    found = mutual_information(pair_counts(columns, Table(table.astype(np.float64))))
    near = np.mean([found[i, i + 1] for i in range(0, 60, 10)])
    far = np.mean([found[i, 59 - i] for i in range(10)])
    assert near > 5 * far


def test_many_rows_have_kinds_and_gaps_and_one_dull_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = made_tables.many_rows(rows=500, columns=12)
    monkeypatch.setattr(made_tables, "many_rows", lambda: small)
    made_tables.write_many_rows(tmp_path / "rows.csv")
    sink = Sink()
    dataset = load_table(str(tmp_path / "rows.csv"), sink)
    assert dataset is not None
    values = dataset.splits["all"].values
    assert np.isnan(values).any()
    assert {c.kind for c in dataset.columns} == {"binary", "categorical"}
    assert [d.code for d in sink.diagnostics] == ["W301"]


def run_of(table: str, test: float, budget: str = "1min", seed: int = 0) -> dict[str, Any]:
    return {
        **{"table": table, "budget": budget, "seed": seed, "test": test, "valid": -1.0},
        **{"first": -2.0, "edges": 10, "tries": 3, "chosen": "hclt, x", "seconds": 60.1 + seed},
        **{"load": 1.0, "recipe": f"model: {table}{seed}\n"},
    }


def lines_of(name: str, text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| {name}")]


def test_the_page_marks_intervals_above_both_of_learn_spn_s_figures() -> None:
    others = learn_spn()
    assert list(others) == list(DATASETS)
    above, around = max(others["nltcs"]) + 0.1, max(others["msnbc"])
    found = [
        *(run_of("nltcs", above + 0.001 * seed, seed=seed) for seed in (1, 0)),
        *(run_of("msnbc", around + step, seed=seed) for seed, step in enumerate((0.1, 0.2))),
        run_of("rows", -3.0),
    ]
    text = report(found)
    (nltcs,), (msnbc,), (rows,) = (lines_of(n, text) for n in ("NLTCS", "MSNBC", "300,000"))
    shown = interval([above, above + 0.001]).text(3, bold=True)
    assert f"| -6.00 | {shown} | 2 |" in nltcs
    assert "| 61.1 |" in nltcs
    assert "**" not in msnbc
    assert "tree, valid: -2.000" in rows
    assert "model: nltcs0" in text
    assert "model: nltcs1" not in text


def test_the_page_has_a_table_for_each_budget_the_shortest_first() -> None:
    text = report([run_of("plants", -12.0, "10min"), run_of("plants", -13.0, "90s")])
    assert text.index("## Within 90s") < text.index("## Within 10min")
    assert [("-12.000" in line) for line in lines_of("Plants", text)] == [False, True]
