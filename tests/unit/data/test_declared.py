"""Columns as specs declare them, row weights, and unseen categories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spnc.data.columns import Column
from spnc.data.load import load
from spnc.data.options import ColumnRule, DataOptions
from spnc.diagnostics import Sink
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml
from tests.reading import loaded

ROWS = (
    "id,mass,bill_len,bill_dep,grade,year,n\n"
    "1,3750,39.1,18.7,b,2007,1\n"
    "2,3800,39.5,17.4,a,2008,2\n"
    "3,3250,40.3,18.0,b,2009,1\n"
    "4,NA,36.7,19.3,c,2007,3\n"
    "5,3450,39.3,20.6,a,2008,1\n"
)


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return str(path)


def rules(**kinds: object) -> tuple[ColumnRule, ...]:
    return tuple(
        ColumnRule(name=name.replace("_ANY", "*"), **kind)  # type: ignore[arg-type]
        if isinstance(kind, dict)
        else ColumnRule(name=name.replace("_ANY", "*"), kind=kind)  # type: ignore[arg-type]
        for name, kind in kinds.items()
    )


def problems(options: DataOptions) -> list[str]:
    sink = Sink()
    assert load(options, sink) is None
    return [d.code for d in sink.diagnostics]


def test_a_name_goes_before_a_pattern_and_the_rest_is_inferred(rows: str) -> None:
    columns = rules(bill_ANY="ignore", bill_dep={"kind": "real", "unit": "mm"}, year="date")
    dataset = loaded(DataOptions(source=rows, columns=columns, weight="n"))
    assert {c.name: c.kind for c in dataset.columns} == {
        "id": "categorical",
        "mass": "categorical",
        "bill_dep": "real",
        "grade": "categorical",
        "year": "date",
    }
    assert dataset.columns[2].unit == "mm"
    assert dict(dataset.left_out) == {"bill_len": "ignore"}
    assert dataset.columns[4].unit == "years"
    np.testing.assert_array_equal(dataset.train.column(4)[:2], [2007, 2008])


def test_resolution_and_labels_can_be_given(rows: str) -> None:
    columns = rules(
        mass={"kind": "real", "unit": "g", "resolution": 1.0},
        grade={"labels": ("c", "b", "a", "f")},
        bill_ANY="real",
        year="categorical",
    )
    dataset = loaded(DataOptions(source=rows, columns=columns))
    found = {c.name: c for c in dataset.columns}
    assert found["mass"].scale is not None
    assert found["mass"].scale.resolution == 1.0
    assert found["bill_len"].scale is not None
    assert found["bill_len"].scale.resolution == pytest.approx(0.1)
    assert found["grade"] == Column("grade", "categorical", 4, ("c", "b", "a", "f"))
    assert found["year"].labels == (2007, 2008, 2009)
    np.testing.assert_array_equal(dataset.train.column(4), [1, 2, 1, 0, 2])


@pytest.mark.parametrize(
    ("name", "rule", "codes"),
    [
        ("grade", "real", ["E304"]),
        ("grade", "date", ["E304"]),
        ("grade", "binary", ["E308"]),
        ("bill_len", "count", ["E308"]),
        ("grade", {"labels": ("a", "b")}, ["E308"]),
        ("grad", "real", ["E320"]),
        ("bull_*", "real", ["E320"]),
    ],
)
def test_a_value_or_name_that_contradicts_the_spec_is_reported(
    rows: str, name: str, rule: object, codes: list[str]
) -> None:
    assert problems(DataOptions(source=rows, columns=rules(**{name: rule}))) == codes


def test_row_weights_are_no_column_and_count_rows(rows: str) -> None:
    dataset = loaded(DataOptions(source=rows, weight="n", columns=rules(mass="real")))
    assert "n" not in [c.name for c in dataset.columns]
    np.testing.assert_array_equal(dataset.train.weights, [1, 2, 1, 3, 1])
    mass = dataset.columns[1]
    assert mass.scale is not None
    assert mass.scale.mean == pytest.approx((3750 + 2 * 3800 + 3250 + 3450) / 5)
    halves = loaded(DataOptions(source=rows, weight="n", split=(0.6, 0.0, 0.4)))
    together = [t.weights.sum() for t in halves.splits.values()]
    assert sum(together) == 8


@pytest.mark.parametrize("bad", ["0", "-1", "", "x", "inf"])
def test_a_weight_that_is_not_a_positive_number_is_reported(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"rain,n\n0,1\n1,{bad}\n")
    assert problems(DataOptions(source=str(path), weight="n")) == ["E321"]


def test_weights_from_an_unknown_column_are_reported(rows: str) -> None:
    assert problems(DataOptions(source=rows, weight="m")) == ["E320"]


def test_a_constant_column_that_is_declared_gets_a_second_category(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("kind,rain\nbird,1\nbird,0\nbird,1\n")
    dataset = loaded(DataOptions(source=str(path), columns=rules(kind="categorical")))
    assert dataset.columns[0] == Column("kind", "binary", 2, ("bird", "other"))


def test_numbers_that_are_declared_are_not_taken_for_codes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    codes = [1000 + 997 * (i % 40) for i in range(480)]
    path.write_text("code,rain\n" + "".join(f"{c},{i % 7 // 4}\n" for i, c in enumerate(codes)))
    for columns, expected in (((), ["W311"]), (rules(code="count"), [])):
        sink = Sink()
        assert load(DataOptions(source=str(path), columns=columns), sink) is not None
        assert [d.code for d in sink.diagnostics] == expected


SPEC = """model: penguins
data:
  source: rows.csv
  missing: ["", NA, "-"]
  columns:
    species: categorical
    "bill_*": {kind: real, unit: mm, resolution: 0.1}
    "a b": {labels: [no, yes, true, "true", 3, 2.5, none]}
    id: ignore
  weight: n
  unseen: other
forest:
  - learner: chow-liu
"""


def read(text: str, name: str) -> Recipe:
    from spnc.diagnostics import Source

    sink = Sink()
    recipe = recipe_from(Source(name, text), sink)
    assert recipe is not None, sink.diagnostics
    return recipe


@pytest.mark.parametrize("full", [False, True])
def test_the_options_survive_both_notations(full: bool) -> None:
    recipe = read(SPEC, "a.yaml")
    assert recipe.data.columns[2].labels == ("no", "yes", True, "true", 3, 2.5, "none")
    for text, name in (
        (write_yaml(recipe, full=full), "b.yaml"),
        (write_dsl(recipe, full=full), "b.spn"),
    ):
        again = read(text, name)
        assert again.data == recipe.data
        assert [type(v) for v in again.data.columns[2].labels or ()] == [
            type(v) for v in recipe.data.columns[2].labels or ()
        ]
