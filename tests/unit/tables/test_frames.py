"""Tables from Python: the same kind comes out, with all other cells and columns as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spnc
from spnc.data.columns import Column
from spnc.diagnostics import InputError
from spnc.graph.nodes import Builder
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.model import Model
from spnc.program.lower import lower
from spnc.queries.events import Not, Within
from spnc.queries.value_sets import ValueSet
from tests.places import ROOT


@pytest.fixture(scope="module")
def model() -> Any:
    return spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn")


CELLS: dict[str, list[Any]] = {
    "id": ["a", "b", "c"],
    "body_mass": [3700.0, None, 5100.0],
    "species": ["Adelie", "Gentoo", None],
    "note": [None, "x", "y"],
}


def frames() -> dict[str, Any]:
    pandas = pd.DataFrame(CELLS, index=[7, 7, 9])
    categories = pandas.assign(species=pd.Categorical(CELLS["species"]))
    rows = zip(*CELLS.values(), strict=True)
    return {
        "pandas": pandas,
        "categories": categories,
        "polars": pl.DataFrame(CELLS),
        "lazy": pl.LazyFrame(CELLS),
        "arrow": pa.table(CELLS),
        "dict": CELLS,
        "records": [dict(zip(CELLS, row, strict=True)) for row in rows],
    }


def plain(found: Any) -> dict[str, list[Any]]:
    if isinstance(found, pd.DataFrame):
        found = found.astype(object).where(found.notna(), None).to_dict("list")
    elif isinstance(found, pl.DataFrame):
        found = found.to_dict(as_series=False)
    elif isinstance(found, pa.Table):
        found = found.to_pydict()
    return found


@pytest.mark.parametrize("kind", frames())
def test_missing_cells_are_filled_and_nothing_else(model: Any, kind: str) -> None:
    given = frames()[kind]
    found = model.impute(given)
    if kind in ("pandas", "categories", "polars", "arrow"):
        assert type(found) is type(given)
    cells = plain(found)
    assert list(cells) == list(CELLS)
    assert cells["id"] == CELLS["id"]
    assert cells["note"] == CELLS["note"]
    assert cells["species"] == ["Adelie", "Gentoo", "Gentoo"]
    assert cells["body_mass"] == [3700.0, 5075.0, 5100.0]  # 5080, in steps of 25
    if kind in ("pandas", "categories"):
        assert found.index.tolist() == [7, 7, 9]
    if kind == "categories":
        assert found["species"].dtype == "category"
    assert CELLS["species"][2] is None  # what was given is not changed


@pytest.mark.parametrize("kind", frames())
def test_predictions_and_scores_are_added(model: Any, kind: str) -> None:
    found = plain(model.predict(frames()[kind], "species"))
    new = ["species.predicted", "species=Adelie", "species=Chinstrap", "species=Gentoo"]
    assert list(found) == [*CELLS, *new]
    assert found["species.predicted"] == ["Adelie", "Adelie", "Gentoo"]
    rows = zip(*(found[name] for name in new[1:]), strict=True)
    assert [sum(row) for row in rows] == pytest.approx([1.0] * 3)
    judged = plain(model.anomalies(frames()[kind], top=2, samples=200))
    assert list(judged) == [*CELLS, ".log_likelihood", ".p_value", ".odd_cells"]
    assert judged[".p_value"] == sorted(judged[".p_value"])
    assert len(judged["id"]) == 2


def test_numbers_are_predicted_with_an_interval(model: Any) -> None:
    found = model.predict({"species": ["Gentoo"]}, "body_mass", interval=0.5)
    assert list(found)[1:] == [f"body_mass.{n}" for n in ("mean", "sd", "median", "low", "high")]
    # Gentoo are of one leaf: a Gaussian with the mean 5080 and the deviation 500.
    assert found["body_mass.mean"] == [pytest.approx(5080.0, abs=0.2)]
    assert found["body_mass.sd"] == [pytest.approx(500.0, abs=1.0)]
    assert found["body_mass.low"] == [pytest.approx(5080.0 - 0.67449 * 500.0, abs=0.1)]
    assert found["body_mass.high"] == [pytest.approx(5080.0 + 0.67449 * 500.0, abs=0.1)]


def test_dates_are_predicted_as_dates(model: Any) -> None:
    found = model.predict(pl.DataFrame({"species": ["Adelie"]}), "seen_on")
    assert found["seen_on.median"].dtype == pl.Date
    assert str(found["seen_on.median"][0]) == "2008-11-17"


def test_the_filled_cells_of_a_row_fit_together() -> None:
    """Two columns that are always equal: draws and the most probable row keep them so."""
    columns = [Column("a", "categorical", 3), Column("b", "categorical", 3), Column("c", "real")]
    builder = Builder(columns)
    parts = []
    for state, weight in enumerate((0.3, 0.3, 0.4)):
        one = [1.0 if s == state else 0.0 for s in range(3)]
        leaves = [builder.leaf(v, Categorical(tuple(one))) for v in (0, 1)]
        parts.append((builder.product([*leaves, builder.leaf(2, Gaussian(state, 0.1))]), weight))
    builder.graph.graph["root"] = builder.sum([p for p, _ in parts], [w for _, w in parts])
    model = Model("equal", *lower(builder.graph))
    values = np.full((400, 3), np.nan)
    values[:, 2] = 0.5
    drawn = model.impute(values, method="draw", draws=2)
    assert drawn["a"] == drawn["b"]
    assert {*drawn["a"]} == {0, 1}
    assert drawn[".draw"] == [1] * 400 + [2] * 400
    assert drawn["a"][:400] != drawn["a"][400:]
    assert model.impute(values, method="draw", draws=2) == drawn
    likely = model.impute([{"a": None, "b": None, "c": None}], method="most-probable-row")
    assert (likely["a"], likely["b"], likely["c"]) == ([2], [2], [2.0])


def test_arrays_are_answered_by_labelled_columns(model: Any) -> None:
    rows = model.sample(3, seed=1)
    values = rows.values.copy()
    values[1, 0] = np.nan
    found = model.impute(values)
    names = [column.name for column in model.columns]
    assert list(found) == names
    assert found["species"][0] == rows.to_dict()["species"][0]
    assert found["species"][1] in ("Adelie", "Chinstrap", "Gentoo")


def test_impossible_rows_stay_as_they_are() -> None:
    builder = Builder([Column("a"), Column("b")])
    leaves = [builder.leaf(v, Categorical((1.0, 0.0))) for v in (0, 1)]
    builder.graph.graph["root"] = builder.product(leaves)
    model = Model("never", *lower(builder.graph))
    assert model.impute({"a": [1, 0], "b": [None, None]}) == {"a": [1, 0], "b": [None, 0]}
    found = model.predict({"a": [1, 0]}, "b")
    assert found["b.predicted"] == [None, 0]
    assert found["b=0"] == [None, 1.0]


def test_a_column_that_looks_misspelt_is_warned_of(model: Any) -> None:
    with pytest.warns(UserWarning, match="did you mean `species`"):
        model.impute({"specis": ["Adelie"], "body_mass": [None]})


def codes(call: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        call()
    return [d.code for d in error.value.diagnostics]


def test_all_wrong_arguments_are_reported_at_once(model: Any) -> None:
    found = codes(lambda: model.impute({}, method="best", threshold=2.0, draws=0, seed=-1))
    assert found == ["E505"] * 5
    assert codes(lambda: model.predict({}, "specie", interval=1.0)) == ["E505", "E508"]
    assert codes(lambda: model.anomalies({}, top=-1, samples=0)) == ["E505", "E505"]
    assert codes(lambda: model.dependence(["sex", "foo"], bins=1)) == ["E505", "E508"]
    assert codes(lambda: model.sample(-1, columns=["foo"])) == ["E505", "E508"]
    assert codes(lambda: model.impute({"species": ["Emperor"]})) == ["E308"]
    assert codes(lambda: model.predict({"sex": ["male"], "sex=male": [1]}, "sex")) == ["E509"]


def test_odd_frames_are_read_or_refused(model: Any) -> None:
    twice = pd.DataFrame([["Adelie", 1.0, 2.0]], columns=["species", "body_mass", "body_mass"])
    assert codes(lambda: model.impute(twice)) == ["E313"]
    assert codes(lambda: model.impute(pd.DataFrame({"foo": [1]}))) == ["E307"]
    assert codes(lambda: model.impute(pd.DataFrame({"species": []}))) == ["E306"]
    levels = pd.DataFrame({("species", ""): ["Adelie", None], ("island", ""): ["Dream"] * 2})
    assert model.impute(levels)["species"].tolist() == ["Adelie", "Adelie"]
    index = pd.Index(["Gentoo", "Adelie"], name="species")
    assert model.impute(pd.DataFrame({"body_mass": [None, 1.0]}, index=index))[
        "body_mass"
    ].tolist() == [5075.0, 1.0]


def test_rows_are_drawn_given_an_event(model: Any) -> None:
    species = model.columns[0]
    gentoo = Within(0, ValueSet.codes(species, [2]))
    rows = model.sample(200, seed=3, given=gentoo, columns=["body_mass", "species"])
    found = rows.to_dict()
    assert list(found) == ["body_mass", "species"]
    assert set(found["species"]) == {"Gentoo"}
    assert np.mean(found["body_mass"]) == pytest.approx(5080.0, abs=150.0)
    everything = Within(0, ValueSet.everything(species))
    assert codes(lambda: model.sample(1, given=Not(everything))) == ["E851"]
