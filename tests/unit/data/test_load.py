"""Datasets from options: splits, columns over all of them, a model's columns, warnings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from spnc.data.columns import Column
from spnc.data.load import is_available, load, load_table
from spnc.data.options import DataOptions
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, Source
from tests.reading import loaded


def problems(options: DataOptions) -> list[str]:
    sink = Sink()
    assert (load(options, sink) is None) == sink.failed
    return [d.code for d in sink.diagnostics]


@pytest.fixture
def hundred(tmp_path: Path) -> str:
    """A file of a hundred different rows."""
    path = tmp_path / "hundred.csv"
    path.write_text("tens,ones\n" + "".join(f"{i // 10},{i % 10}\n" for i in range(100)))
    return str(path)


def test_without_fractions_all_rows_are_for_training(hundred: str) -> None:
    dataset = loaded(DataOptions(source=hundred))
    assert list(dataset.splits) == ["train"]
    assert dataset.train.rows == 100


def test_fractions_share_out_every_row_once(hundred: str) -> None:
    dataset = loaded(DataOptions(source=hundred, split=(0.7, 0.2, 0.1)))
    assert [t.rows for t in dataset.splits.values()] == [70, 20, 10]
    together = np.concatenate([t.values for t in dataset.splits.values()])
    assert sorted(map(tuple, together)) == [(i // 10, i % 10) for i in range(100)]


def test_the_same_seed_gives_the_same_split_and_digest_and_another_seed_another(
    hundred: str,
) -> None:
    first, again, other = (
        loaded(DataOptions(source=hundred, split=(0.7, 0.2, 0.1), split_seed=seed)).digest
        for seed in (3, 3, 4)
    )
    assert first == again != other


def test_a_fraction_of_zero_leaves_the_split_out(hundred: str) -> None:
    dataset = loaded(DataOptions(source=hundred, split=(0.7, 0.0, 0.3)))
    assert {name: t.rows for name, t in dataset.splits.items()} == {"train": 70, "test": 30}


def test_a_split_that_gets_no_rows_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,1\n1,0\n1,1\n")
    assert problems(DataOptions(source=str(path), split=(0.9, 0.05, 0.05))) == ["E306", "E306"]


def test_kinds_are_inferred_over_all_splits_together(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("0,1\n1,0\n")
    (tmp_path / "test.csv").write_text("0,7\n1,?\n")
    options = DataOptions(train=str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv"))
    dataset = loaded(options)
    assert list(dataset.splits) == ["train", "test"]
    assert dataset.columns == (Column("x0"), Column("x1", "categorical", 3, (0, 1, 7)))
    np.testing.assert_array_equal(dataset.splits["test"].column(1), [2, np.nan])


def test_splits_with_different_columns_are_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("rain,wind\n0,1\n1,0\n")
    (tmp_path / "valid.csv").write_text("wind,rain\n0,1\n")
    (tmp_path / "test.csv").write_text("rain,wind,sun\n0,1,1\n")
    files = {s: str(tmp_path / f"{s}.csv") for s in ("train", "valid", "test")}
    sink = Sink()
    assert load(DataOptions(**files), sink) is None
    (test,) = sink.diagnostics
    assert test.code == "E307"
    assert test.notes == ("only here: `sun`",)


def test_splits_are_matched_by_name_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("rain,wind\n0,1\n1,1\n")
    (tmp_path / "valid.csv").write_text("wind,rain\n0,1\n")
    files = {s: str(tmp_path / f"{s}.csv") for s in ("train", "valid")}
    dataset = loaded(DataOptions(**files))
    assert [c.name for c in dataset.columns] == ["rain", "wind"]
    np.testing.assert_array_equal(dataset.splits["valid"].values, [[1, 0]])


def test_a_file_without_header_goes_with_one_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("0,1\n1,0\n")
    (tmp_path / "test.csv").write_text("rain,wind\n0,1\n")
    files = {s: str(tmp_path / f"{s}.csv") for s in ("train", "test")}
    assert [c.name for c in loaded(DataOptions(**files)).columns] == ["rain", "wind"]


def test_the_problems_of_all_files_are_told_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("0,1\n1\n0,0\n")
    (tmp_path / "test.csv").write_text("0,inf\n")
    files = {s: str(tmp_path / f"{s}.csv") for s in ("train", "valid", "test")}
    assert sorted(problems(DataOptions(**files))) == ["E302", "E303", "E316"]


def test_a_relative_file_is_beside_its_spec_and_a_missing_one_points_into_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows.csv").write_text("0,1\n1,0\n")
    spec = Source(str(tmp_path / "model.yaml"), "source: rows.csv\n")
    span = spec.span_at(8, 16)
    assert loaded(DataOptions(source="rows.csv", spans={"source": span})).train.rows == 2
    sink = Sink()
    assert load(DataOptions(source="row.csv", spans={"source": span}), sink) is None
    assert sink.diagnostics[0].span == span


def test_fractions_for_a_source_with_its_own_splits_are_a_warning(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", train=np.eye(2), test=np.eye(2))
    assert problems(DataOptions(source=str(tmp_path / "a.npz"), split=(1, 0, 0))) == ["W303"]


def test_a_file_of_several_arrays_cannot_be_one_split(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", train=np.eye(2), test=np.eye(2))
    assert problems(DataOptions(train=str(tmp_path / "a.npz"))) == ["E311"]


@pytest.mark.parametrize(
    ("source", "code", "hint"),
    [
        ("builtin:digit", "E301", "`builtin:digits`"),
        ("debd:pumsb-sta", "E301", "`debd:pumsb_star`"),
        ("builtn:digits", "E317", "`builtin:digits`"),
        ("https://example.org/rows.csv", "E317", "give a file"),
    ],
)
def test_an_unknown_name_or_scheme_is_reported_with_the_nearest(
    source: str, code: str, hint: str
) -> None:
    sink = Sink()
    assert load(DataOptions(source=source), sink) is None
    assert [d.code for d in sink.diagnostics] == [code]
    assert hint in str(sink.diagnostics[0].help)
    assert is_available(DataOptions(source=source))


def test_a_dataset_by_name_in_place_of_a_file_is_explained() -> None:
    sink = Sink()
    assert load(DataOptions(train="builtin:asia"), sink) is None
    assert "`source`" in str(sink.diagnostics[0].help)


def test_a_file_may_have_a_colon_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run:1.csv").write_text("0,1\n1,0\n")
    monkeypatch.chdir(tmp_path)
    assert loaded(DataOptions(source="run:1.csv")).train.rows == 2


def test_constant_and_missing_columns_of_the_training_rows_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a,b,c,d\n0,1,?,2\n1,1,,2\n0,?,NA,2\n")
    (tmp_path / "test.csv").write_text("a,b,c,d\n0,0,1,0\n")
    sink = Sink()
    files = {s: str(tmp_path / f"{s}.csv") for s in ("train", "test")}
    assert load(DataOptions(**files), sink) is not None
    missing, constant = sink.diagnostics
    assert (missing.code, constant.code) == ("W302", "W301")
    assert missing.message.endswith(": `c`")
    assert constant.message.endswith("`b` (always 1), `d` (always 2)")


MODEL = (Column("rain"), Column("wind", "categorical", 3))


def test_data_for_a_model_takes_the_model_s_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,1\n0,1\n")
    sink = Sink()
    dataset = load_table(str(path), sink, columns=MODEL)
    assert dataset is not None
    assert dataset.columns == MODEL
    assert sink.diagnostics == []


@pytest.mark.parametrize(
    ("text", "code", "note"),
    [
        ("0,1,1\n", "E307", ""),
        ("rain,gust\n0,1\n", "E307", "not in the data: `wind`"),
        ("0,1\n0,3\n2,2\n", "E308", ""),
    ],
)
def test_data_that_does_not_fit_the_model_is_reported(
    tmp_path: Path, text: str, code: str, note: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    sink = Sink()
    assert load_table(str(path), sink, columns=MODEL) is None
    assert {d.code for d in sink.diagnostics} == {code}
    assert note in " ".join(sink.diagnostics[0].notes)


def test_a_value_outside_the_model_s_states_is_named_with_column_line_and_value(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("rain,wind\n0,1\n0,3\n")
    sink = Sink()
    assert load_table(str(path), sink, columns=MODEL) is None
    (problem,) = sink.diagnostics
    assert problem.message == "column `wind` holds 3, outside the states 0 to 2"
    assert problem.where == f"{path.as_posix()}:3"


def test_weights_rules_and_left_out_columns_serve_later_data(tmp_path: Path) -> None:
    """A later table may have the columns that were left out, in their place, or not at all."""
    path = tmp_path / "a.csv"
    path.write_text("id,rain,n\n" + "".join(f"{i},{i % 2},{i % 3 + 1}\n" for i in range(1, 31)))
    dataset = loaded(DataOptions(source=str(path), weight="n"))
    assert [c.name for c in dataset.columns] == ["rain"]
    rules = TableRules.from_json(json.loads(json.dumps(dataset.rules.as_json())))
    assert rules == dataset.rules
    tables = {"n,rain\n2,1\n": [2], "rain\n1\n": [1], "7,1,3\n": [3], "1\n": [1]}
    for text, weights in tables.items():
        path.write_text(text)
        sink = Sink()
        later = load_table(str(path), sink, columns=dataset.columns, rules=rules)
        assert later is not None, sink.diagnostics
        np.testing.assert_array_equal(later.splits["all"].values, [[1]])
        np.testing.assert_array_equal(later.splits["all"].weights, weights)


def test_the_home_of_an_unknown_user_is_a_file_that_is_not_there() -> None:
    assert problems(DataOptions(source="~no-such-user/rows.csv")) == ["E302"]
