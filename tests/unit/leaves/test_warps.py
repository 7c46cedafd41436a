"""Warps: maps that make a column normal, and leaves that are normal on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import spnc
from spnc.common.arrays import Floats
from spnc.common.observer import Observer
from spnc.data.column_types import column_of, plain_of_options, plain_type, type_text
from spnc.data.columns import Column, Scale
from spnc.data.warp import Warp
from spnc.diagnostics import Sink
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.warp_fit import fitted_warp
from spnc.leaves.warped_gaussian import WarpedGaussian
from spnc.model import load
from spnc.reports.facts.reading import read_run

ONE = np.zeros(1, dtype=np.int64)
STANDARD = np.array([[0.0, 1.0]])


def log_density(warp: Warp, values: Floats) -> Floats:
    found: Floats = stats.norm.logpdf(warp.to_places(values)) + warp.log_slopes(values)
    return found


def fitted(values: Floats, resolution: float) -> Warp:
    warp = fitted_warp(values, np.ones(len(values)), resolution)
    assert warp is not None
    return warp


SHAPES = {
    "normal": lambda rng, n: rng.normal(5.0, 2.0, n),
    "skewed": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "two parts": lambda rng, n: np.where(
        rng.random(n) < 0.3, rng.normal(-4, 0.1, n), rng.normal(3, 1, n)
    ),
    "uniform": lambda rng, n: rng.uniform(0.0, 1.0, n),
}
TRUTH = {
    "normal": stats.norm(5.0, 2.0).logpdf,
    "skewed": stats.lognorm(1.0).logpdf,
    "two parts": lambda x: np.log(0.3 * stats.norm.pdf(x, -4, 0.1) + 0.7 * stats.norm.pdf(x, 3, 1)),
    "uniform": stats.uniform(0.0, 1.0).logpdf,
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_warp_comes_close_to_the_true_density(name: str) -> None:
    rng = np.random.default_rng(1)
    train, later = SHAPES[name](rng, 4000), SHAPES[name](rng, 4000)
    warp = fitted(train, 1e-6)
    lost = TRUTH[name](later).mean() - log_density(warp, later).mean()
    assert 0.0 < lost < 0.03
    assert stats.kstest(warp.to_places(later), "norm").pvalue > 1e-3


def test_values_that_repeat_get_boxes_and_others_do_not() -> None:
    rng = np.random.default_rng(2)
    written = np.rint(rng.gamma(8.0, 5.0, 3000))
    values = np.where(rng.random(3000) < 0.4, 40.0, written)
    warp = fitted(values, 1.0)
    counts = np.unique(values, return_counts=True)
    share = dict(zip(*(part.tolist() for part in counts), strict=True))[40.0] / 3000
    assert np.exp(log_density(warp, np.array([40.0])))[0] == pytest.approx(share, rel=0.02)
    assert np.exp(log_density(warp, np.array([39.6, 40.4]))) == pytest.approx(share, rel=0.02)
    assert np.exp(log_density(warp, np.array([40.6])))[0] < 0.1
    measured = rng.normal(size=3000)  # there is no pattern in the digits
    assert len(fitted(measured, 1e-9).values) < 400


@given(seed=st.integers(0, 10**6))
def test_a_warp_is_one_to_one_and_its_density_integrates_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    resolution = float(rng.choice([1.0, 0.1, 1e-4]))
    size = int(rng.integers(2, 200))
    values = np.rint(rng.gamma(0.7, 20.0, size) / resolution) * resolution + rng.normal() * 100.0
    weights = rng.random(size) + 1.0
    warp = fitted_warp(values, weights, resolution)
    if warp is None:
        assert len(np.unique(values)) < 2
        return
    assert (np.diff(warp.values) > 0.0).all()
    assert (np.diff(warp.places) > 0.0).all()
    grid = np.linspace(values.min() - 10.0, values.max() + 10.0, 400)
    assert warp.to_values(warp.to_places(grid)) == pytest.approx(grid, rel=1e-9, abs=1e-9)
    edges = np.array(warp.values)[1:-1]  # beyond them is half a row
    widths, middles = np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    mass = (np.exp(log_density(warp, middles)) * widths).sum()
    assert mass == pytest.approx(1.0 - 0.5 / (weights.sum() + 0.5), abs=0.002)


def test_rows_without_weight_and_missing_cells_count_nothing() -> None:
    rng = np.random.default_rng(3)
    values, other = rng.normal(size=50), rng.normal(9.0, 1.0, size=30)
    both = np.concatenate([values, other, [np.nan]])
    weights = np.concatenate([np.ones(50), np.zeros(30), [1.0]])
    assert fitted_warp(both, weights, 1e-6) == fitted(values, 1e-6)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [np.nan]])
def test_a_column_without_two_values_has_no_warp(values: list[float]) -> None:
    assert fitted_warp(np.array(values), np.ones(len(values)), 1.0) is None


def test_values_closer_than_the_resolution_are_those_it_stands_for() -> None:
    rng = np.random.default_rng(4)
    written = np.rint(rng.normal(0.0, 3.0, 500))
    jittered = written + rng.uniform(-0.49, 0.49, 500)
    assert fitted(jittered, 1.0) == fitted(written, 1.0)


def test_questions_to_a_leaf_are_those_to_draws_from_it() -> None:
    warp = Warp((0.0, 1.0, 2.0, 5.0), (-2.0, -1.0, 0.5, 1.0))
    column = Column("x", "real", 0, scale=Scale(0.01, 0.0, 5.0, 2.0, 1.0), warp=warp)
    known = LeafColumns.of([column], ONE)
    draws = np.random.default_rng(5).normal(0.3, 0.8, 400_000)
    values = warp.to_values(draws)
    table = np.array([[0.3, 0.8]])
    assert WarpedGaussian.mean(table, known)[0] == pytest.approx(values.mean(), abs=0.01)
    assert WarpedGaussian.variance(table, known)[0] == pytest.approx(values.var(), rel=0.02)
    median = WarpedGaussian.quantile(table, np.array([0.5]), known)[0]
    assert median == pytest.approx(float(warp.to_values(np.array([0.3]))[0]))


def test_a_column_keeps_its_warp_in_texts_and_plain_values() -> None:
    warp = fitted(np.random.default_rng(6).gamma(1.0, 2.0, 300), 1e-3)
    column = Column("x", "real", 0, scale=Scale(1e-3, 0.0, 9.0, 2.0, 2.0), unit="g", warp=warp)
    assert column_of("x", plain_type(column)) == (column, [])
    text = type_text(column)
    assert f'warp = "{warp.values[0]!r}: {warp.places[0]!r}, ' in text
    named = {"resolution": 1e-3, "warp": text.partition('warp = "')[2].rstrip('")')}
    plain = plain_of_options("real", [], named)
    read, problems = column_of("x", plain)
    assert problems == []
    assert read is not None
    assert read.warp == warp


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0: 1", "two of them at least"),
        ("0: 1, 1: 1", "increase"),
        ("1: 0, 0: 1", "increase"),
        ("0: 0, 1: inf", "finite"),
        ("0: 0, 1e-320: 5", "slopes"),
        ("nonsense", "two lists"),
    ],
)
def test_a_warp_that_is_none_is_refused(text: str, problem: str) -> None:
    column, problems = column_of("x", plain_of_options("real", [], {"warp": text}))
    assert column is None
    assert any(problem in one for one in problems), problems


def test_a_forest_of_warped_leaves_describes_wines_better(tmp_path: Path) -> None:
    spec = {
        "model": "wine",
        "data": {"source": "builtin:wine", "split": [0.8, 0.2, 0.0]},
        "forest": [{"learner": "hclt", "count": 2, "states": 4, "fit": 20}],
        "optimizer": {"max_iterations": 0},
        "smoothing": {"weights": 0.5, "leaves": 0.5},
        "backend": "numpy",
    }
    auto = spnc.train(spec)
    warped = spnc.train(spec, ["forest.0.leaves.real=warped-gaussian"])
    found = [run.metrics.splits["valid"].avg_ll for run in (warped, auto)]
    assert found[0] > found[1]
    warped.model.save(tmp_path / "wine.spnc")
    again = load(tmp_path / "wine.spnc")
    assert again.columns == warped.model.columns
    rows = warped.model.sample(20, seed=1)
    assert again.log_likelihood(rows) == pytest.approx(warped.model.log_likelihood(rows))


# ---- runs and components ----------------------------------------------------------------------


def trained(folder: Path, **changes: Any) -> Path:
    spec = {
        "model": "wine",
        "data": {"source": "builtin:wine", "split": [0.8, 0.1, 0.1]},
        "forest": [{"learner": "hclt", "states": 2, "leaves": {"real": "warped-gaussian"}}],
        "optimizer": {"max_iterations": 2},
        "backend": "numpy",
        **changes,
    }
    spnc.train(spec, out=folder)
    return folder


def test_a_report_has_the_sections_that_need_the_data(tmp_path: Path) -> None:
    run = trained(tmp_path / "run")
    sink = Sink()
    found = read_run(run, sink, Observer())
    assert found is not None
    assert found.no_data is None
    assert sink.diagnostics == []


def test_a_model_on_warps_is_a_component_over_the_same_rows_only(tmp_path: Path) -> None:
    run = trained(tmp_path / "run")
    whole = load(run / "model.spnc")
    component = [{"learner": "circuit", "file": str(run / "model.spnc")}]
    again = trained(tmp_path / "again", forest=component, optimizer={"max_iterations": 0})
    rows = whole.sample(30, seed=2)
    assert load(again / "model.spnc").log_likelihood(rows) == pytest.approx(
        whole.log_likelihood(rows)
    )
    other = {"source": "builtin:wine", "split": [0.7, 0.2, 0.1]}
    with pytest.raises(spnc.InputError) as error:
        trained(tmp_path / "other", forest=component, data=other)
    [problem] = error.value.diagnostics
    assert problem.code == "E222"
    assert any("another warp" in note for note in problem.notes)
