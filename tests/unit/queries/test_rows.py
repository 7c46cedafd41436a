"""Rows of a model: printed in labels and units, and the numbers that queries take."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.data.columns import Column, Scale
from spnc.model import Model
from spnc.queries.rows import LINE_WIDTH, Rows
from spnc.registry import BACKENDS
from tests.places import ROOT

COLUMNS = (
    Column("species", "categorical", 3, ("Adelie", "Chinstrap", "Gentoo")),
    Column("ringed", "binary", 2, (False, True)),
    Column("eggs", "count", 0, None, Scale()),
    Column("mass", "real", 0, None, Scale(25.0, 2700, 6300, 4200, 800), "g"),
    Column("seen", "date", 0, None, Scale(), "days"),
)
ROWS = Rows(
    COLUMNS,
    np.array([[2.0, 1.0, 3.0, 4312.7, 14_200.2], [0.0, np.nan, 0.0, np.nan, np.nan]]),
)


def test_rows_print_as_a_table_in_the_words_of_the_data() -> None:
    assert str(ROWS) == (
        "  species  ringed  eggs  mass (g)  seen\n"
        "  ───────  ──────  ────  ────────  ──────────\n"
        "  Gentoo   true       3      4325  2008-11-17\n"
        "  Adelie   –          0         –  –\n"
        "2 rows, 5 columns"
    )


def test_rows_are_html_in_a_notebook() -> None:
    html = ROWS._repr_html_()
    assert "<th>mass (g)</th>" in html
    assert "<td>Gentoo</td>" in html
    odd = Rows((Column("<b>", "binary", 2, ("<script>", "b")),), np.zeros((1, 1)))
    assert "<script>" not in odd._repr_html_()


def test_the_array_is_what_queries_take() -> None:
    assert np.asarray(ROWS).shape == (2, 5)
    np.testing.assert_array_equal(np.asarray(ROWS), ROWS.values)
    assert np.asarray(ROWS, dtype=np.float32).dtype == np.float32
    model = spnc.compile(ROOT / "tests/golden/good/circuits/tree.spn")
    drawn = model.sample(4)
    assert (model.log_likelihood(drawn) == model.log_likelihood(drawn.values)).all()


def test_cells_by_column_and_by_row() -> None:
    found = ROWS.to_dict()
    assert found["species"] == ["Gentoo", "Adelie"]
    assert found["ringed"] == [True, None]
    assert found["mass"] == [4325.0, None]
    assert found["seen"] == [dt.date(2008, 11, 17), None]
    first, second = ROWS
    assert first == {name: cells[0] for name, cells in found.items()}
    assert second["eggs"] == 0
    assert len(ROWS) == 2


def test_data_frames_have_plain_types() -> None:
    pandas = pytest.importorskip("pandas")
    frame = ROWS.to_pandas()
    assert frame["species"].tolist() == ["Gentoo", "Adelie"]
    assert frame["eggs"].dtype == np.int64
    assert frame["seen"][0] == pandas.Timestamp("2008-11-17")
    complete = Rows(COLUMNS, ROWS.cells[:1]).to_pandas()
    assert complete["ringed"].dtype == bool


def test_polars_frames_have_plain_types() -> None:
    polars = pytest.importorskip("polars")
    frame = ROWS.to_polars()
    assert frame["species"].to_list() == ["Gentoo", "Adelie"]
    assert frame["seen"].dtype == polars.Date
    assert frame["ringed"].to_list() == [True, None]


def test_long_tables_are_cut_and_say_so() -> None:
    many = Rows(tuple(Column(f"column {i}") for i in range(64)), np.zeros((1000, 64)))
    lines = str(many).splitlines()
    assert max(map(len, lines)) <= LINE_WIDTH
    assert lines[-1] == "1,000 rows, 64 columns; shown: the first 20 rows and 10 columns"
    wide = Rows((Column("x" * 500),), np.zeros((1, 1)))
    assert max(map(len, str(wide).splitlines())) < 40


def test_rows_of_nothing_print() -> None:
    assert str(Rows(COLUMNS, np.zeros((0, 5)))).endswith("0 rows, 5 columns")


def test_a_sample_of_a_mixed_circuit_has_values_that_its_columns_can_have() -> None:
    model = spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn")
    model = Model(model.name, model.program, model.parameters, backend=BACKENDS["numpy"]())
    drawn = model.sample(500, seed=3)
    assert np.isfinite(model.log_likelihood(drawn)).all()
    found = drawn.to_dict()
    assert set(found["species"]) == {"Adelie", "Chinstrap", "Gentoo"}
    assert set(found["age"]) == {1, 2, 5}
    assert all(isinstance(eggs, int) and eggs >= 0 for eggs in found["eggs"])
    assert all(grams % 25 == 0 for grams in found["body_mass"])
    assert np.mean(found["bill_length"]) == pytest.approx(43.9, abs=1.0)
    assert all(isinstance(day, dt.date) for day in found["seen_on"])


def test_numbers_as_labels_stand_for_themselves_in_an_array() -> None:
    """`log_likelihood` takes the rows, their array and their data frame alike."""
    model = spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn")
    drawn = model.sample(40, seed=2)
    array = np.asarray(drawn)
    ages = [c.name for c in model.columns].index("age")
    assert set(array[:, ages]) == {1.0, 2.0, 5.0}
    assert set(drawn.cells[:, ages]) == {0.0, 1.0, 2.0}
    expected = model.log_likelihood(drawn)
    assert (model.log_likelihood(array) == expected).all()
    numbers = [i for i, c in enumerate(model.columns) if c.kind == "real"]
    rounded = Rows(model.columns, drawn.cells.copy())
    rounded.cells[:, numbers] = np.array(
        [drawn.to_dict()[model.columns[i].name] for i in numbers]
    ).T
    days = [c.kind for c in model.columns].index("date")
    rounded.cells[:, days] = np.round(rounded.cells[:, days])
    assert model.log_likelihood(drawn.to_dict()) == pytest.approx(model.log_likelihood(rounded))


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ([0, 1, 2, 3], {"labels": [3, 2, 1, 0]}),
        ([1, 2, 3], {}),
        ([1, 2, 3], {"labels": [3, 1, 2]}),
        ([0.5, 1.25, -3.0], {"kind": "categorical"}),
        ([True, False], {}),
        (["b", "a", "c"], {}),
        (["10", "9"], {}),
        ([2**60, 2**60 + 1, 7], {}),
    ],
)
@pytest.mark.parametrize("unseen", ["error", "missing", "other"])
def test_what_a_sample_gives_as_an_array_is_what_queries_take(
    values: list[Any], rule: dict[str, Any], unseen: str, tmp_path: Path
) -> None:
    """`values` held codes, and arrays were read as labels: another likelihood, without a word."""
    rng = np.random.default_rng(0)
    chances = np.array([0.7, *[0.3 / (len(values) - 1)] * (len(values) - 1)])
    cells = [values[i] for i in rng.choice(len(values), 300, p=chances)]
    data = {"unseen": unseen} | ({"columns": {"g": rule}} if rule else {})
    spec = {"model": "g", "forest": [{"learner": "extra-spn"}], "data": data}
    model = spnc.train(spec, data={"g": cells, "x": rng.normal(size=300)}).model
    drawn = model.sample(200, seed=1)
    expected = model.log_likelihood(drawn)
    np.testing.assert_array_equal(drawn.values, np.asarray(drawn))
    np.testing.assert_array_equal(model.log_likelihood(drawn.values), expected)
    np.save(tmp_path / "drawn.npy", drawn.values)
    score = model.evaluate(tmp_path / "drawn.npy")["all"]
    assert score.average == pytest.approx(expected.mean())


def test_rows_of_another_model_are_matched_by_name() -> None:
    columns = (Column("b", "binary", 2, ("no", "yes")), Column("a", "count", 0, None, Scale()))
    model = spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn")
    with pytest.raises(spnc.InputError, match="E307"):
        model.log_likelihood(Rows(columns, np.zeros((1, 2))))
    some = [c for c in model.columns if c.name in ("age", "eggs")][::-1]
    drawn = model.sample(5)
    places = [model.columns.index(column) for column in some]
    found = model.log_likelihood(Rows(tuple(some), drawn.cells[:, places]))
    named = {c.name: drawn.to_dict()[c.name] for c in some}
    np.testing.assert_array_equal(found, model.log_likelihood(named))
