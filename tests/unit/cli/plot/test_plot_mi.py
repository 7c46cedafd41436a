"""`spnc plot mi`: what is drawn and said is what was computed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

import spnc
from spnc.cli import main
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from spnc.reports.plots import mutual_information as matrices
from spnc.reports.plots.mutual_information import Comparison
from tests.circuits import random_circuit, random_rows
from tests.plotting import two_matrices


@given(seed=st.integers(0, 10_000), columns=st.integers(1, 9))
def test_data_is_drawn_below_the_diagonal_and_the_model_above(seed: int, columns: int) -> None:
    comparison = two_matrices(seed, columns)
    drawn = comparison.matrix
    for i in range(columns):
        assert np.isnan(drawn[i, i])
        for j in range(i):
            assert drawn[i, j] == comparison.empirical[i, j]
            assert drawn[j, i] == comparison.model[i, j]


@given(seed=st.integers(0, 10_000), columns=st.integers(3, 9))
def test_every_pair_counts_once_in_what_is_said_about_the_difference(
    seed: int, columns: int
) -> None:
    comparison = two_matrices(seed, columns)
    pairs = [(i, j) for i in range(columns) for j in range(i)]
    data = np.array([comparison.empirical[p] for p in pairs])
    model = np.array([comparison.model[p] for p in pairs])
    centred = (data - data.mean()) * (model - model.mean())
    assert comparison.facts() == {
        "pairs": len(pairs),
        "mean_empirical": pytest.approx(data.mean()),
        "mean_model": pytest.approx(model.mean()),
        "mean_absolute_difference": pytest.approx(np.abs(data - model).mean()),
        "correlation": pytest.approx(centred.mean() / data.std() / model.std()),
    }


def test_nothing_is_said_where_there_is_nothing_to_say() -> None:
    alone = two_matrices(0, 1)
    assert set(alone.facts().values()) == {0, None}
    assert alone.summary() == "one column has no pairs"
    flat = Comparison("flat", two_matrices(0, 3).empirical, np.zeros((3, 3)))
    assert flat.facts()["correlation"] is None
    assert "correlation" not in flat.summary()
    for one in (alone, Comparison("zero", np.zeros((2, 2)), np.zeros((2, 2)))):
        names = [f"x{i}" for i in range(len(one.model))]
        assert matrices.picture([one], names, "data", ".png").startswith(b"\x89PNG")


def test_the_picture_shows_the_matrices_all_on_one_scale() -> None:
    many = [two_matrices(seed, 5) for seed in range(4)]
    many.append(Comparison("large", many[0].empirical, many[0].model * 3))
    figure = matrices.draw(many, list("abcde"), "rows.csv, 10 rows")
    shown = [axes for axes in figure.axes if axes.images]
    assert len(shown) == 5
    top = max(np.nanmax(comparison.matrix) for comparison in many)
    for axes, comparison in zip(shown, many, strict=True):
        [image] = axes.images
        np.testing.assert_array_equal(np.ma.filled(image.get_array(), np.nan), comparison.matrix)
        assert image.get_clim() == (0.0, top)
        assert [label.get_text() for label in axes.get_yticklabels()] == list("abcde")
        title = axes.get_title(loc="left")
        assert title == f"above the diagonal: {comparison.name}\nbelow: rows.csv, 10 rows"
        assert axes.get_xlabel() == comparison.summary()


def test_many_columns_are_numbered_and_long_names_cut() -> None:
    names = [f"a name that is much too long {i}" for i in range(60)]
    numbered = matrices.draw([two_matrices(0, 60)], names, "data").axes[0]
    assert "a name" not in "".join(label.get_text() for label in numbered.get_xticklabels())
    named = matrices.draw([two_matrices(0, 20)], names[:20], "data").axes[0]
    assert {label.get_text() for label in named.get_xticklabels()} == {"a name that is mu…"}


@pytest.fixture
def model() -> Model:
    """A model over six columns, saved, with data of two splits."""
    program, parameters = lower(random_circuit(5, variables=6, depth=4))
    model = Model("some", program, parameters, {}, BACKENDS["numpy"]())
    model.save("model.spnc")
    rows = random_rows(7, model.columns, 300, 0.1)
    np.savez("splits.npz", test=rows[200:], train=rows[:200])
    return model


@pytest.mark.parametrize("split", [None, "test"])
def test_the_numbers_printed_are_those_of_the_split(
    model: Model, capsys: pytest.CaptureFixture[str], split: str | None
) -> None:
    which = ["--split", split] if split else []
    line = ["plot", "mi", "model.spnc", "splits.npz", "--backend", "numpy", "--json", *which]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    rows = np.load("splits.npz")[split or "train"]
    data = mutual_information(pair_counts(model.columns, Table(rows)))
    expected = Comparison("some", data, model.mutual_information()).facts()
    assert (found["split"], found["rows"]) == (split or "train", len(rows))
    assert found["picture"] == "model.mi.png"
    assert imread("model.mi.png").shape[2] == 4
    [one] = found["models"]
    assert {key: one[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    assert (one["model"], one["name"]) == ("model.spnc", "some")


def test_models_of_one_name_are_told_apart_by_their_files(
    model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("late").mkdir()
    model.save("late/model.spnc")
    line = ["plot", "mi", "model.spnc", "late/model.spnc", "splits.npz", "--backend", "numpy"]
    assert main(line) == 0
    shown = capsys.readouterr().out
    assert "some (model.spnc)" in shown
    assert "some (late/model.spnc)" in shown
    assert shown.endswith("written to mi.png\n")
    assert Path("mi.png").is_file()


def test_models_with_other_scales_of_the_same_columns_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    circuit = "circuit c\nvariables {{ x: real(sd = {sd})  b: binary }}\n" + (
        "p = (x ~ gaussian(0, 1)) * (b ~ bernoulli(0.2))\n"
        "q = (x ~ gaussian(3, 1)) * (b ~ bernoulli(0.9))\n"
        "top = 0.5 p + 0.5 q\n"
    )
    for name, sd in (("one", 1.5), ("two", 2.5)):
        (tmp_path / f"{name}.spn").write_text(circuit.format(sd=sd))
        spnc.compile(tmp_path / f"{name}.spn").save(tmp_path / f"{name}.spnc")
    drawn = spnc.load(tmp_path / "one.spnc").sample(3000).lines()
    (tmp_path / "rows.csv").write_text("".join(",".join(line) + "\n" for line in drawn))
    models = [str(tmp_path / f"{name}.spnc") for name in ("one", "two")]
    output = str(tmp_path / "mi.png")
    line = ["plot", "mi", *models, str(tmp_path / "rows.csv"), "-o", output, "--json", "--quiet"]
    assert main(line) == 0
    one, two = json.loads(capsys.readouterr().out)["models"]
    assert one["mean_model"] == pytest.approx(two["mean_model"])
    assert one["mean_model"] == pytest.approx(one["mean_empirical"], abs=0.03)
