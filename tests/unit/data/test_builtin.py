"""The built-in datasets are what they say they are."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from spnc.data.builtin import BUILTINS, asia_entropy, asia_log_probability
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.load import load, load_table
from spnc.data.options import ColumnRule, DataOptions
from spnc.diagnostics import Sink

EVERY_ROW = np.array(list(itertools.product([0.0, 1.0], repeat=8)))


def builtin(name: str) -> Dataset:
    sink = Sink()
    dataset = load(DataOptions(source=f"builtin:{name}"), sink, offline=True)
    assert dataset is not None
    assert sink.diagnostics == []
    return dataset


@pytest.mark.parametrize(("name", "shape"), [("asia", (5000, 8)), ("digits", (1797, 64))])
def test_a_builtin_has_its_rows_and_binary_columns(name: str, shape: tuple[int, int]) -> None:
    dataset = builtin(name)
    assert dataset.train.values.shape == shape
    assert dataset.columns == tuple(Column(n) for n in BUILTINS[name].columns)
    assert set(np.unique(dataset.train.values)) == {0.0, 1.0}
    assert "\n" not in BUILTINS[name].description


@pytest.mark.parametrize(
    ("name", "rows", "kinds", "label"),
    [
        ("iris", 150, {"real": 4, "categorical": 1}, ("species", "virginica")),
        ("wine", 178, {"real": 12, "count": 1, "categorical": 1}, ("cultivar", "class_2")),
        ("breast-cancer", 569, {"real": 30, "binary": 1}, ("diagnosis", "malignant")),
        ("diabetes", 442, {"real": 7, "count": 3, "binary": 1}, ("sex", 2)),
    ],
)
def test_a_builtin_of_measurements_has_columns_of_several_kinds(
    name: str, rows: int, kinds: dict[str, int], label: tuple[str, str | int]
) -> None:
    dataset = builtin(name)
    assert dataset.train.rows == rows
    assert Counter(column.kind for column in dataset.columns) == kinds
    columns = {column.name: column for column in dataset.columns}
    assert (columns[label[0]].labels or ())[-1] == label[1]
    assert not np.isnan(dataset.train.values).any()


def test_the_measurements_are_those_that_were_taken() -> None:
    """The first flower of the famous table, and the means that scikit-learn documents."""
    flowers = builtin("iris")
    assert flowers.train.values[0].tolist() == [5.1, 3.5, 1.4, 0.2, 0.0]
    assert [column.unit for column in flowers.columns] == ["cm"] * 4 + [""]
    assert flowers.columns[0].scale is not None
    assert flowers.columns[0].scale.resolution == pytest.approx(0.1)
    wine, tumours, patients = builtin("wine"), builtin("breast-cancer"), builtin("diabetes")
    assert wine.train.values[:, 0].mean() == pytest.approx(13.0, abs=0.05)
    assert tumours.train.values[:, 0].min() == 6.981
    assert patients.train.values[:, 0].max() == 79
    assert patients.columns[0].unit == "years"


def test_a_spec_may_give_another_unit_than_the_source() -> None:
    rule = ColumnRule(name="petal_*", unit="inch")
    dataset = load(DataOptions(source="builtin:iris", columns=(rule,)), Sink(), offline=True)
    assert dataset is not None
    assert [column.unit for column in dataset.columns] == ["cm", "cm", "inch", "inch", ""]


def test_digits_are_named_by_row_and_column() -> None:
    names = BUILTINS["digits"].columns
    assert (names[0], names[7], names[8], names[63]) == (
        "pixel_0_0",
        "pixel_0_7",
        "pixel_1_0",
        "pixel_7_7",
    )


def test_the_digests_never_change() -> None:
    assert (
        builtin("asia").digest == "fd922f9e1776eea437a277f22052561db4b7e4bc8a43befb982d83ec6c82562e"
    )
    assert (
        builtin("digits").digest
        == "72b7117b5ae52ba3a66dbb05680f06560c24c57a0b6298dc61c0c08f55a54667"
    )


def test_the_probabilities_of_the_asia_network_sum_to_one() -> None:
    assert np.exp(asia_log_probability(EVERY_ROW)).sum() == pytest.approx(1, abs=1e-14)


def test_the_marginals_of_the_asia_network_are_the_published_ones() -> None:
    p = np.exp(asia_log_probability(EVERY_ROW))
    marginals = dict(zip(BUILTINS["asia"].columns, p @ EVERY_ROW, strict=True))
    assert marginals["asia"] == pytest.approx(0.01)
    assert marginals["tuberculosis"] == pytest.approx(0.0104)
    assert marginals["cancer"] == pytest.approx(0.055)
    assert marginals["bronchitis"] == pytest.approx(0.45)
    assert marginals["either"] == pytest.approx(0.064828)
    assert marginals["xray"] == pytest.approx(0.11029, abs=1e-5)
    assert marginals["dyspnoea"] == pytest.approx(0.43597, abs=1e-5)


def test_a_patient_with_cancer_but_neither_disease_is_impossible() -> None:
    row = dict.fromkeys(BUILTINS["asia"].columns, 0) | {"cancer": 1}
    assert asia_log_probability([list(row.values())])[0] == -np.inf


def test_the_mean_surprise_of_the_asia_rows_is_near_the_entropy() -> None:
    surprise = -asia_log_probability(builtin("asia").train.values)
    error = surprise.std() / np.sqrt(len(surprise))
    assert abs(surprise.mean() - asia_entropy()) < 3 * error
    assert asia_entropy() == pytest.approx(2.23703, abs=1e-5)


def test_on_the_command_line_a_builtin_is_one_split_called_all() -> None:
    dataset = load_table("builtin:asia", Sink())
    assert dataset is not None
    assert list(dataset.splits) == ["all"]


ALL_BUILTINS = (
    "built-in datasets: `builtin:asia`, `builtin:breast-cancer`, `builtin:diabetes`, "
    "`builtin:digits`, `builtin:iris`, `builtin:penguins`, `builtin:wine`"
)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("titanic", ALL_BUILTINS),
        ("", ALL_BUILTINS),
        ("asai", f"did you mean `builtin:asia`? {ALL_BUILTINS}"),
    ],
)
def test_an_unknown_name_lists_the_few_there_are(name: str, hint: str) -> None:
    sink = Sink()
    assert load_table(f"builtin:{name}", sink) is None
    assert [(d.code, d.help) for d in sink.diagnostics] == [("E301", hint)]
