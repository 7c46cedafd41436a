"""Tables from Python other than plain frames: batches, series, records, odd names, indices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import spnc
from spnc.data import frames
from spnc.data.dataset import Dataset
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.diagnostics import Sink
from spnc.model import Model

ROWS = 120
rng = np.random.default_rng(8)
FRAME = pd.DataFrame(
    {
        "colour": rng.choice(["red", "green", "blue"], ROWS),
        "size": rng.normal(50.0, 9.0, ROWS).round(1),
        "grade": rng.choice([4, 7, 9], ROWS),
    }
)
SPEC: dict[str, Any] = {"model": "things", "forest": [{"learner": "extra-spn"}]}


def loaded(table: Any) -> Dataset:
    sink = Sink()
    raw = raw_from_python(table, sink)
    assert raw is not None, sink.diagnostics
    dataset = load_table(raw, sink)
    assert dataset is not None, sink.diagnostics
    return dataset


def names(table: Any) -> list[str]:
    return [column.name for column in loaded(table).columns]


def refused(table: Any, known: frozenset[str] = frozenset()) -> tuple[list[str], str]:
    sink = Sink()
    assert raw_from_python(table, sink, known) is None
    return [d.code for d in sink.diagnostics], sink.diagnostics[0].message


@pytest.fixture(scope="module")
def model() -> Model:
    return spnc.train(SPEC, data=FRAME).model


class Stream:
    """Something that offers itself as a stream of Arrow, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.table.__arrow_c_stream__(schema)


@pytest.mark.parametrize(
    "kind",
    [
        pa.RecordBatch.from_pandas,
        lambda frame: pa.Table.from_pandas(frame).to_reader(),
        lambda frame: Stream(pa.Table.from_pandas(frame)),
        lambda frame: frame.to_dict("records"),
        lambda frame: [row for _, row in frame.iterrows()],
        lambda frame: {name: pl.Series(cells.tolist()) for name, cells in frame.items()},
        lambda frame: frame.to_records(index=False),
        lambda frame: frame.astype({"colour": "category"}),
    ],
)
def test_whatever_has_names_is_matched_by_them(model: Model, kind: Any) -> None:
    """A batch of Arrow with its columns in another order was matched by position, silently."""
    expected = model.log_likelihood(FRAME)
    turned = kind(FRAME[["grade", "colour", "size"]])
    np.testing.assert_array_equal(model.log_likelihood(turned), expected)


def test_one_row_is_a_dict_or_a_series_with_names(model: Model) -> None:
    expected = model.log_likelihood(FRAME.iloc[3:4])
    row = FRAME[["size", "grade", "colour"]].iloc[3]
    for one in (row, row.to_dict(), [row]):
        np.testing.assert_array_equal(model.log_likelihood(one), expected)
    partly = model.log_likelihood({"colour": row["colour"]})
    np.testing.assert_array_equal(partly, model.log_likelihood(FRAME[["colour"]].iloc[3:4]))
    with pytest.raises(spnc.InputError, match="E307"):
        model.log_likelihood(pd.Series({"size": 5.0, "hue": 1.0}))


def test_a_series_with_the_name_of_a_column_is_this_column(model: Model) -> None:
    expected = model.log_likelihood(FRAME[["size"]])
    for series in (FRAME["size"], pl.Series("size", FRAME["size"].tolist())):
        np.testing.assert_array_equal(model.log_likelihood(series), expected)
    for unclear in (pd.Series([1.0, 2.0, 3.0]), pl.Series("hue", [1.0, 2.0, 3.0])):
        with pytest.raises(spnc.InputError, match="a series must have the name of a column"):
            model.log_likelihood(unclear)


def test_training_takes_a_series_with_a_name_as_one_column() -> None:
    for series in (FRAME["size"], pl.Series("size", FRAME["size"].tolist())):
        dataset = loaded(series)
        assert (dataset.columns[0].name, dataset.splits["all"].rows) == ("size", ROWS)
    for unclear in (pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0]), FRAME.iloc[0]):
        assert refused(unclear)[0] == ["E505"]


def test_names_that_are_no_texts_become_texts() -> None:
    cells = rng.normal(size=(40, 2))
    assert names(pd.DataFrame(cells)) == ["0", "1"]
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("b", "")])
    assert names(pd.DataFrame(cells, columns=levels)) == ["a.x", "b"]


def test_levels_of_names_are_joined_in_files_as_in_frames(tmp_path: Path) -> None:
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=levels)
    frame.to_parquet(tmp_path / "levels.parquet")
    dataset = load_table(str(tmp_path / "levels.parquet"), Sink())
    assert dataset is not None
    assert [c.name for c in dataset.columns] == names(frame) == ["a.x", "a.y"]


@pytest.mark.parametrize(
    "table",
    [
        pd.concat([FRAME, FRAME[["size"]]], axis=1),
        pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["size", "size"]),
        pd.DataFrame([[1, 2]], columns=["size", "size"]),
        {1: [2.0], "1": [3.0]},
    ],
)
def test_a_name_that_occurs_twice_is_an_error(table: Any) -> None:
    codes, message = refused(table)
    assert codes == ["E313"]
    assert "several columns are named" in message


class TestIndex:
    """The index of pandas names rows, in a frame as in the file that pandas writes of it."""

    when = pd.Index(pd.date_range("2020-01-01", periods=ROWS), name="when")
    frame = FRAME.set_axis(when)

    def test_it_is_no_column_of_a_frame_nor_of_a_file(self, tmp_path: Path) -> None:
        paths = [tmp_path / "rows.parquet", tmp_path / "rows.feather"]
        self.frame.to_parquet(paths[0])
        pa.feather.write_feather(pa.Table.from_pandas(self.frame), paths[1])
        wanted = loaded(self.frame)
        assert [c.name for c in wanted.columns] == list(FRAME)
        assert wanted.left_out == {"when": "id"}
        for path in paths:
            found = load_table(str(path), Sink())
            assert found is not None
            assert (found.columns, found.left_out) == (wanted.columns, wanted.left_out)
        FRAME.set_axis(self.when.rename(None)).to_parquet(paths[0])
        found = load_table(str(paths[0]), Sink())
        assert found is not None
        assert (found.columns, found.left_out) == (wanted.columns, {})

    def test_it_is_a_column_if_the_spec_declares_it(self, tmp_path: Path) -> None:
        spec = {**SPEC, "data": {"columns": {"when": "date"}}}
        model = spnc.train(spec, data=self.frame).model
        assert [c.name for c in model.columns] == [*FRAME, "when"]
        plain = self.frame.reset_index()
        expected = model.log_likelihood(plain)
        np.testing.assert_array_equal(model.log_likelihood(self.frame), expected)
        assert not np.array_equal(model.log_likelihood(FRAME), expected)
        self.frame.to_parquet(tmp_path / "rows.parquet")
        score = model.evaluate(tmp_path / "rows.parquet")["all"]
        assert score.average == pytest.approx(expected.mean())

    def test_a_model_skips_the_index_of_its_training_and_of_later_data(
        self, model: Model, tmp_path: Path
    ) -> None:
        expected = model.log_likelihood(FRAME)
        np.testing.assert_array_equal(model.log_likelihood(self.frame), expected)
        trained = spnc.train(SPEC, data=self.frame).model
        trained.save(tmp_path / "model.spnc")
        again = spnc.load(tmp_path / "model.spnc")
        self.frame.to_csv(tmp_path / "rows.csv")  # pandas writes the index as a column
        score = again.evaluate(tmp_path / "rows.csv")["all"]
        assert score.average == pytest.approx(again.log_likelihood(FRAME).mean())
        array = FRAME.assign(colour=0).to_numpy(dtype=float)
        assert again.log_likelihood(array).shape == (ROWS,)


def test_a_sparse_matrix_is_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sparse.random_array((60, 3), density=0.5, rng=np.random.default_rng(1))
    for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        found = loaded(kind(matrix)).splits["all"].values
        np.testing.assert_array_equal(found, matrix.toarray())
    monkeypatch.setattr(frames, "MOST_DENSE", 179)
    codes, message = refused(matrix)
    assert codes == ["E505"]
    assert "180 cells" in message


def test_masked_cells_are_missing() -> None:
    cells = rng.normal(size=(40, 2))
    masked = np.ma.MaskedArray(cells, mask=cells > 1.0)
    expected = np.where(cells > 1.0, np.nan, cells)
    np.testing.assert_array_equal(loaded(masked).splits["all"].values, expected)
    columns = {"a": masked[:, 0], "b": masked[:, 1]}
    np.testing.assert_array_equal(loaded(columns).splits["all"].values, expected)


def test_records_lack_what_they_lack_and_are_all_dicts() -> None:
    rows = [{"a": 1.5, "b": "x"}, {"b": "y"}, {"a": 2.5}] * 10
    found = loaded(rows).splits["all"].values[:3]
    np.testing.assert_array_equal(found, [[0, 0], [np.nan, 1], [1, np.nan]])
    assert refused([{"a": 1}, [2]])[0] == ["E505"]


def test_arrays_of_texts_hold_labels() -> None:
    """They trained, but could not be scored: texts were taken for codes."""
    cells = rng.choice(["a", "b"], (200, 3))
    model = spnc.train(SPEC, data=cells).model
    named = {c.name: cells[:, i].tolist() for i, c in enumerate(model.columns)}
    expected = model.log_likelihood(named)
    for array in (cells, cells.astype(object), cells.astype("S1"), cells.tolist()):
        np.testing.assert_array_equal(model.log_likelihood(array), expected)
    np.testing.assert_array_equal(model.log_likelihood((cells == "b") * 1.0), expected)
    one = model.log_likelihood([["a", None, "b"]])
    np.testing.assert_array_equal(one, model.log_likelihood({"x0": ["a"], "x2": ["b"]}))
    with pytest.raises(spnc.InputError, match="holds `c`"):
        model.log_likelihood([["a", "c", "b"]])


def test_texts_and_numbers_in_one_list_stay_what_they_are(model: Model) -> None:
    rows = FRAME.to_numpy(dtype=object)
    expected = model.log_likelihood(FRAME)
    np.testing.assert_array_equal(model.log_likelihood(rows), expected)
    np.testing.assert_array_equal(model.log_likelihood(rows.tolist()), expected)
