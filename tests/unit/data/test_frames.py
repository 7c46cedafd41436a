"""Tables from Python: every kind of frame is read alike, and matched with models by name."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spnc
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.diagnostics import Sink

ROWS = 200
rng = np.random.default_rng(5)
SPECIES = rng.choice(["Adelie", "Chinstrap", "Gentoo"], ROWS)
PENGUINS: dict[str, list[Any]] = {
    "species": SPECIES.tolist(),
    "island": [rng.choice(["Dream", "Biscoe"]) if s != "Gentoo" else "Biscoe" for s in SPECIES],
    "sex": rng.choice(np.array(["female", "male", None]), ROWS).tolist(),
    "tagged": rng.choice(np.array([True, False, None]), ROWS).tolist(),
    "code": rng.choice([123, 124], ROWS).tolist(),
    "row": list(range(ROWS)),
}  # fmt: skip
SPEC = {
    "model": "penguins",
    "forest": [{"learner": "chow-liu"}],
    "data": {"split": [0.8, 0.1, 0.1]},
}
KINDS = {
    "dict": lambda columns: dict(columns),
    "pandas": lambda columns: pd.DataFrame(columns),
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "categories": lambda columns: pd.DataFrame(columns).astype(dict.fromkeys(columns, "category")),
    "polars": lambda columns: pl.DataFrame(columns),
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "pyarrow": lambda columns: pa.table(columns),
}


@pytest.fixture(scope="module")
def trained() -> Any:
    return spnc.train(SPEC, data=PENGUINS)


def shown(table: Any) -> np.ndarray:
    sink = Sink()
    raw = raw_from_python(table, sink)
    assert raw is not None, sink.diagnostics
    dataset = load_table(raw, sink)
    assert dataset is not None, sink.diagnostics
    return dataset.splits["all"].values


@pytest.mark.parametrize("kind", KINDS)
def test_every_frame_has_the_same_cells(kind: str) -> None:
    np.testing.assert_array_equal(shown(KINDS[kind](PENGUINS)), shown(PENGUINS))


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_matched_by_name_in_any_order(trained: Any, kind: str) -> None:
    """The first silent mistake of old: sorted columns gave other log-likelihoods."""
    expected = trained.model.log_likelihood(PENGUINS)
    assert np.isfinite(expected).all()
    for order in (PENGUINS, sorted(PENGUINS), sorted(PENGUINS)[::-1]):
        frame = KINDS[kind]({name: PENGUINS[name] for name in order})
        np.testing.assert_array_equal(trained.model.log_likelihood(frame), expected)
    score = trained.model.evaluate(frame)["all"]
    assert score.average == pytest.approx(expected.mean())


def test_the_model_of_a_frame_survives_its_file(trained: Any, tmp_path: Any) -> None:
    path = tmp_path / "model.spnc"
    trained.model.save(path)
    model = spnc.load(path)
    assert model.columns == trained.model.columns
    assert [c.labels for c in model.columns] == [
        ("Adelie", "Chinstrap", "Gentoo"),
        ("Biscoe", "Dream"),
        ("female", "male"),
        (False, True),
        (123, 124),
    ]
    csv = tmp_path / "rows.csv"
    pd.DataFrame(PENGUINS)[sorted(PENGUINS)].to_csv(csv, index=False)
    expected = model.log_likelihood(PENGUINS)
    assert model.evaluate(csv)["all"].average == pytest.approx(expected.mean())


def test_an_absent_column_is_missing_in_every_row(trained: Any) -> None:
    gone = {n: [None] * ROWS if n in ("sex", "code") else c for n, c in PENGUINS.items()}
    absent = {n: c for n, c in PENGUINS.items() if n not in ("sex", "code", "row")}
    model = trained.model
    np.testing.assert_array_equal(model.log_likelihood(gone), model.log_likelihood(absent))


def test_an_unknown_column_is_an_error_that_suggests_the_nearest(trained: Any) -> None:
    frame = pd.DataFrame(PENGUINS).rename(columns={"species": "specie"})
    with pytest.raises(spnc.InputError, match="did you mean `species`") as caught:
        trained.model.log_likelihood(frame)
    assert [d.code for d in caught.value.diagnostics] == ["E307"]


def test_a_new_category_is_an_error_by_default(trained: Any) -> None:
    frame = {**PENGUINS, "island": ["Mars"] * ROWS}
    with pytest.raises(spnc.InputError, match="holds `Mars` in row 1") as caught:
        trained.model.log_likelihood(frame)
    assert [d.code for d in caught.value.diagnostics] == ["E308"]


@pytest.mark.parametrize("unseen", ["missing", "other"])
def test_the_spec_says_what_a_new_category_becomes(unseen: str, tmp_path: Any) -> None:
    spec = {**SPEC, "data": {"unseen": unseen, "split": [0.8, 0.1, 0.1]}}
    model = spnc.train(spec, data=PENGUINS).model
    model.save(tmp_path / "m.spnc")
    model = spnc.load(tmp_path / "m.spnc")
    mars = model.log_likelihood({**PENGUINS, "island": ["Mars"] * ROWS})
    if unseen == "missing":
        plain = {name: cells for name, cells in PENGUINS.items() if name != "island"}
        np.testing.assert_array_equal(mars, model.log_likelihood(plain))
    else:
        assert model.columns[1].labels == ("Biscoe", "Dream", "other")
        other = model.log_likelihood({**PENGUINS, "island": ["other"] * ROWS})
        np.testing.assert_array_equal(mars, other)
        assert (mars < model.log_likelihood(PENGUINS)).all()


def test_arrays_are_matched_by_position_and_hold_texts_as_codes(trained: Any) -> None:
    model = trained.model
    first = {name: cells[:1] for name, cells in PENGUINS.items()}
    codes = [
        ("Adelie", "Chinstrap", "Gentoo").index(first["species"][0]),
        ("Biscoe", "Dream").index(first["island"][0]),
        np.nan,
        np.nan,
        first["code"][0],
    ]
    expected = model.log_likelihood({**first, "sex": [None], "tagged": [None]})
    np.testing.assert_array_equal(model.log_likelihood(np.array([codes])), expected)
    np.testing.assert_array_equal(model.log_likelihood(np.array([[*codes, 0]])), expected)
    assert model.log_likelihood(np.empty((0, 5))).shape == (0,)
    with pytest.raises(spnc.InputError, match="5 columns"):
        model.log_likelihood(np.zeros((2, 3)))


def test_dates_times_and_mixed_values() -> None:
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i * i) for i in range(12)]
    times = [datetime.datetime(2024, 1, 1, i, 30) for i in range(12)]
    mixed = ["a", 1, "a", 1.5] * 3
    frame = {"day": days, "time": times, "mixed": mixed}
    sink = Sink()
    raw = raw_from_python(frame, sink)
    assert raw is not None
    dataset = load_table(raw, sink)
    assert dataset is not None
    day, time, words = dataset.columns
    assert (day.kind, day.unit) == ("date", "days")
    assert (time.kind, time.unit) == ("date", "seconds")
    assert words.labels == ("1", "1.5", "a")
    np.testing.assert_array_equal(
        dataset.splits["all"].column(0), [(d - datetime.date(1970, 1, 1)).days for d in days]
    )
    for kind in ("pandas", "polars", "pyarrow"):
        both = {"day": days, "time": times}
        np.testing.assert_array_equal(shown(KINDS[kind](both)), shown(both))


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"a": [1, 2], "b": [1]}, "E505"),
        ({"a": 3}, "E505"),
        ({}, "E306"),
        (pd.DataFrame({"a": []}), "E306"),
        (np.zeros((2, 2, 2)), "E505"),
        (7, "E505"),
        (object(), "E505"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, code: str) -> None:
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(SPEC, data=table)
    assert {d.code for d in caught.value.diagnostics} == {code}


def test_a_spec_may_be_a_dict_with_everything_that_goes_wrong_in_it() -> None:
    bad = {**SPEC, "data": {"columns": {"specie": "categorical"}, "wieght": "n"}}
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(bad, data=PENGUINS)
    assert "did you mean `weight`" in str(caught.value)
    assert "<dict>.yaml" in str(caught.value)
    assert spnc.check({**SPEC, "data": {"source": "builtin:asia"}}) == []
    with pytest.raises(spnc.InputError, match="not a spec"):
        spnc.train({**SPEC, "seed": object()}, data=PENGUINS)


def test_the_same_frame_gives_the_same_model_and_auto_takes_frames() -> None:
    def content() -> bytes:
        from spnc.model import to_bytes

        return to_bytes(spnc.train(SPEC, data=pd.DataFrame(PENGUINS)).model)

    assert content() == content()
    found = spnc.train_auto(pl.DataFrame(PENGUINS), 2)
    assert found.model.columns[0].labels == ("Adelie", "Chinstrap", "Gentoo")
    assert np.isfinite(found.model.log_likelihood(PENGUINS)).all()
