"""Whole numbers that doubles do not hold: exact as labels, doubles where real, never merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import spnc
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.stream import stream_table
from spnc.diagnostics import Sink

ROWS = 240
rng = np.random.default_rng(6)
BESIDE = rng.normal(size=ROWS).round(3)
SPEC: dict[str, Any] = {"model": "large", "forest": [{"learner": "extra-spn"}]}


def loaded(cells: Any) -> Dataset:
    sink = Sink()
    raw = raw_from_python({"x": cells, "beside": BESIDE}, sink)
    assert raw is not None, sink.diagnostics
    dataset = load_table(raw, sink)
    assert dataset is not None, sink.diagnostics
    return dataset


@pytest.mark.parametrize("least", [2**53, 2**63 - 2, 2**63, 2**64 - 4, 2**70, -(2**63), -(2**70)])
def test_few_values_are_labels_of_their_own(least: int) -> None:
    cells = [least + i % 4 for i in range(ROWS)]
    dataset = loaded(cells)
    column = dataset.columns[0]
    assert column.kind == "categorical"
    assert [int(label) for label in column.labels or ()] == sorted(
        {least + i for i in range(4)}, key=lambda v: v if abs(v) < 2**65 else str(v)
    )
    codes = dataset.splits["all"].column(0)
    labels = column.labels or ()
    assert [int(labels[int(code)]) for code in codes] == cells


def test_values_that_doubles_merge_are_labels_or_identify_rows() -> None:
    repeated = loaded(np.array([2**63 + i % 60 for i in range(ROWS)], dtype=np.uint64))
    assert (repeated.columns[0].kind, repeated.columns[0].states) == ("categorical", 60)
    for distinct in ([2**63 + i for i in range(ROWS)], [2**70 + i for i in range(ROWS)]):
        assert loaded(distinct).left_out == {"x": "id"}


def test_values_that_lie_far_apart_are_real() -> None:
    wide = rng.integers(0, 2**64 - 1, ROWS, dtype=np.uint64)
    dataset = loaded(wide)
    assert dataset.columns[0].kind == "real"  # doubles cannot count so far
    np.testing.assert_array_equal(dataset.splits["all"].column(0), wide.astype(np.float64))
    assert loaded([int(v) * 2**10 for v in wide]).columns[0].kind == "real"


def test_a_count_that_is_too_large_is_an_error() -> None:
    spec = {**SPEC, "data": {"columns": {"x": "count"}}}
    with pytest.raises(spnc.InputError, match="too large for a count"):
        spnc.train(spec, data={"x": [2**60 + 2**50 * i for i in range(ROWS)], "y": BESIDE})


def test_every_file_holds_the_same_numbers(tmp_path: Path) -> None:
    cells = np.array([2**63 + i % 60 for i in range(ROWS)], dtype=np.uint64)
    frame = pd.DataFrame({"x": cells, "beside": BESIDE})
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_feather(tmp_path / "x.feather")
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    model = spnc.train(SPEC, data=frame).model
    expected = model.log_likelihood(frame).mean()
    for path in sorted(tmp_path.iterdir()):
        dataset = load_table(str(path), Sink())
        assert dataset is not None
        assert dataset.columns[0].labels == model.columns[0].labels
        assert model.evaluate(path)["all"].average == pytest.approx(expected)


def test_a_mark_of_missing_values_is_that_number_and_none_beside_it() -> None:
    cells = np.array([2**64 - 1 - i % 4 for i in range(ROWS)], dtype=np.uint64)
    spec = {**SPEC, "data": {"missing": [str(2**64 - 1)]}}
    model = spnc.train(spec, data={"x": cells, "y": BESIDE}).model
    assert model.columns[0].labels == (2**64 - 4, 2**64 - 3, 2**64 - 2)


@pytest.mark.parametrize("least", [2**63, 2**70])
def test_samples_come_back_in(least: int) -> None:
    cells = [least + i % 4 for i in range(ROWS)]
    model = spnc.train(SPEC, data={"x": cells, "y": BESIDE}).model
    drawn = model.sample(40, seed=1)
    expected = model.log_likelihood(drawn)
    np.testing.assert_array_equal(model.log_likelihood(drawn.values), expected)
    assert set(drawn.to_dict()["x"]) <= set(model.columns[0].labels or ())


def test_an_array_of_integers_holds_labels_that_doubles_cannot() -> None:
    cells = np.array([[2**63 + i % 4, i % 3] for i in range(ROWS)], dtype=np.uint64)
    model = spnc.train(SPEC, data=cells).model
    named = {"x0": cells[:, 0], "x1": cells[:, 1]}
    np.testing.assert_array_equal(model.log_likelihood(cells), model.log_likelihood(named))


@pytest.mark.parametrize("large", [10**20 - 1, 2**64, -(2**63) - 1, 10**40 - 1, 2**53 + 1])
@pytest.mark.parametrize("other", ["7", "1.5", "1e5", "9007199254799254740993"])
def test_a_table_with_numbers_beyond_64_bits_fits_its_own_columns(
    large: int, other: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"a\n{large}\n{other}\n{other}\n")
    sink = Sink()
    dataset = load_table(str(path), sink)
    assert dataset is not None, sink.diagnostics
    again = load_table(str(path), sink, columns=dataset.columns, rules=dataset.rules)
    assert again is not None, sink.diagnostics
    assert again.splits["all"].values.tolist() == dataset.splits["all"].values.tolist()


@pytest.mark.parametrize("rows", [2, 1000])
def test_whole_numbers_that_were_read_as_doubles_fit_their_own_labels(
    rows: int, tmp_path: Path
) -> None:
    """A number with a fraction among them makes all of them doubles, and two of them one label."""
    path = tmp_path / "table.arrow"
    texts = ["-9223372036854775807", "-92233720368.4775808", None, "-9223372036854775808"]
    table = pa.table(
        {"a": pa.array(texts * (rows // 2), pa.large_string()), "b": [0, 1] * 2 * (rows // 2)}
    )
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=1)
    sink = Sink()
    dataset = load_table(str(path), sink)
    assert dataset is not None, sink.diagnostics
    pieces = stream_table(str(path), sink, columns=dataset.columns, rules=dataset.rules)
    found = np.concatenate([piece.values for _, piece in pieces])
    assert not sink.failed, sink.diagnostics
    np.testing.assert_array_equal(found, dataset.splits["all"].values)


def test_arrays_of_several_types_mean_the_same_when_they_are_read_again(tmp_path: Path) -> None:
    """Doubles hold some labels and not others: numbers among them are never taken for codes."""
    path = tmp_path / "splits.npz"
    np.savez(
        path,
        train=np.array([[0, 1], [1, 0], [1, 1]], dtype=np.int64),
        valid=np.array([[0, 1], [2, 3], [4, 5], [0, 1]], dtype=np.float32),
        test=np.array([[2**64 - 1, 0], [1, 2]], dtype=np.uint64),
    )
    first = load_table(str(path), Sink())
    assert first is not None
    column = first.columns[0]
    assert column.labels == (0, 1, 2, 4, 2**64 - 1)
    assert column.array_labels == (0, 1, 2, 4, 5)
    sink = Sink()
    again = load_table(str(path), sink, columns=first.columns, rules=first.rules)
    assert again is not None, sink.diagnostics
    for split, table in first.splits.items():
        np.testing.assert_array_equal(again.splits[split].values, table.values)


def test_stand_ins_for_labels_are_distinct_doubles() -> None:
    labels = (2**53 + 1, 3, "a", 2**60, 10**400, True, "b")
    column = Column("x", "categorical", len(labels), labels)
    found = column.array_labels
    assert found == (4, 3, 5, 2**60, 6, True, 7)
    assert len({float(number) for number in found}) == len(labels)
