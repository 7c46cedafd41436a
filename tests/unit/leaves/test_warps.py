"""Warps: maps that make a column normal, and leaves that are normal on them."""

from __future__ import annotations

from dataclasses import replace
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
from spnc.explore.circuit_data import circuit_data
from spnc.graph.nodes import Builder
from spnc.leaves import warp_pieces
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.restriction import restrict
from spnc.leaves.warp_fit import distinct, fitted_warp
from spnc.leaves.warp_smooth import KERNEL_WIDTHS, WIDTHS, Values, mixed, parts_of
from spnc.leaves.warped_gaussian import WarpedGaussian
from spnc.model import load
from spnc.program.lower import lower
from spnc.queries import column_mixture
from spnc.queries.column_mixture import ColumnMixture, Part
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
    assert np.exp(log_density(warp, np.array([39.6, 40.4]))) == pytest.approx(share, rel=0.03)
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


@pytest.mark.parametrize("weight", [1e-300, 0.01, 1.0])
def test_weights_below_one_are_those_of_whole_rows(weight: float) -> None:
    values = np.rint(np.random.default_rng(13).normal(0.0, 9.0, 60))
    found = fitted_warp(values, np.full(60, weight), 1.0)
    assert found is not None
    whole = fitted(values, 1.0)
    assert found.values == pytest.approx(whole.values)
    assert found.places == pytest.approx(whole.places)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [np.nan]])
def test_a_column_without_two_values_has_no_warp(values: list[float]) -> None:
    assert fitted_warp(np.array(values), np.ones(len(values)), 1.0) is None


def test_values_closer_than_the_resolution_are_those_it_stands_for() -> None:
    rng = np.random.default_rng(4)
    written = np.rint(rng.normal(0.0, 3.0, 500))
    jittered = written + rng.uniform(-0.49, 0.49, 500)
    assert fitted(jittered, 1.0) == fitted(written, 1.0)


def test_values_that_are_hardly_closer_than_the_resolution_keep_their_places() -> None:
    """The grid of the resolution would move each of them, away from where later rows are."""
    rng = np.random.default_rng(7)
    numbers = rng.integers(0, 20_000, 700)
    values = rng.choice(numbers, 4000).astype(np.float64)
    resolution = 1.5
    assert np.diff(np.unique(values)).min() == 1.0
    later = rng.choice(numbers, 2000) + rng.uniform(-0.5, 0.5, 2000) * resolution
    density = np.exp(log_density(fitted(values, resolution), later))
    assert np.log(density).mean() == pytest.approx(-np.log(700.0 * resolution), abs=0.15)
    assert density.max() < 1.0 / resolution


def test_values_that_differ_by_rounding_errors_are_one() -> None:
    tenths = np.arange(40) / 10.0
    twins = np.concatenate([tenths, np.nextafter(tenths, 9.0), tenths * 3.0 / 3.0])
    found = distinct(twins, np.ones(120), 0.1)
    assert found.own == pytest.approx(tenths)
    assert found.held == pytest.approx(3.0)


def test_thousands_of_values_that_repeat_have_a_box_each() -> None:
    rng = np.random.default_rng(8)
    numbers = rng.choice(10**6, 5000, replace=False).astype(np.float64)
    values, later = rng.choice(numbers, 20_000), rng.choice(numbers, 5000)
    warp = fitted(values, 1.0)
    assert len(warp.values) > 9000
    # Once in 54 times a number has not been seen yet; the truth is known to no one.
    seen = np.isin(later, values)
    assert log_density(warp, later[seen]).mean() == pytest.approx(-np.log(5000.0), abs=0.2)
    assert log_density(warp, later[~seen]).mean() < -np.log(10**6)


def test_a_value_that_repeats_says_little_about_those_beside_it() -> None:
    """Of 2,000 rows, half are 50: that makes neither 49 nor 51 likelier than other numbers."""
    rng = np.random.default_rng(9)
    values = np.where(rng.random(2000) < 0.5, 50.0, rng.integers(0, 100, 2000))
    densities = np.exp(log_density(fitted(values, 1.0), np.arange(45.0, 56.0)))
    others = np.delete(densities, 5)
    assert densities[5] == pytest.approx(0.505, abs=0.03)
    assert others.mean() == pytest.approx(0.005, rel=0.25)
    assert others.max() < 0.012


def test_kernels_exclude_their_own_value() -> None:
    """What the parts give each value does not depend on how many rows hold it."""
    rng = np.random.default_rng(10)
    own, held = np.sort(rng.gamma(3.0, 10.0, 40)), np.ones(40)
    heavy = held.copy()
    heavy[7] = 30.0
    once = [part.of_others for part in parts_of(Values(own, held, 1e-6))]
    often = [part.of_others for part in parts_of(Values(own, heavy, 1e-6))]
    assert len(once) == len(often) == 1 + 2 * (len(WIDTHS) + len(KERNEL_WIDTHS))
    for first, second in zip(once, often, strict=True):
        assert np.isfinite(first).all()
        assert second[7] < 10.0 * first.max()


@given(seed=st.integers(0, 10**6))
def test_every_part_of_the_smooth_density_integrates_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = np.unique(np.rint(rng.gamma(0.7, 20.0, int(rng.integers(2, 80)))))
    if len(own) < 2:
        return
    values = Values(own, rng.integers(1, 9, len(own)).astype(np.float64), 1.0)
    parts = parts_of(values)
    for part in parts:
        marginal = part.marginal()
        assert (np.diff(marginal.edges) > 0.0).all()
        assert (marginal.chances >= 0.0).all()
        assert marginal.chances.sum() == pytest.approx(1.0)
    whole = mixed(parts, np.full(len(parts), 1.0 / len(parts)))
    assert whole.chances.sum() == pytest.approx(1.0)


@given(seed=st.integers(0, 10**6))
def test_moments_and_modes_are_those_of_a_fine_grid(seed: int) -> None:
    """Also in far tails, in single pieces, and of leaves much narrower or wider than the pieces."""
    rng = np.random.default_rng(seed)
    knots = np.sort(rng.normal(0.0, 2.0, int(rng.integers(2, 60))))
    warp = Warp(tuple(100.0 + np.cumsum(rng.gamma(0.5, 1.0, len(knots)) + 1e-3)), tuple(knots))
    known = LeafColumns.of([Column("x", "real", 0, warp=warp)], ONE)
    table = np.array([[rng.normal(), np.exp(rng.uniform(-4.0, 1.0))]])
    places = np.sort(rng.normal(*table[0], 2) + rng.choice([0.0, 3.0]) * table[0, 1])
    low, high = warp.to_values(places)
    inner = [place for place in knots[1:-1] if places[0] < place < places[1]]
    ends = np.array([places[0], *inner, places[1]])
    nodes, weights = np.polynomial.legendre.leggauss(30)
    steps = (ends[:-1, None] + np.diff(ends)[:, None] * np.linspace(0, 1, 9)[:-1]).ravel()
    half = 0.5 * np.diff([*steps, ends[-1]])[:, None]
    at = steps[:, None] + half * (1.0 + nodes)
    mass = half * weights * np.exp(-0.5 * ((at - table[0, 0]) / table[0, 1]) ** 2)
    grid = warp.to_values(at)
    mean = (mass * grid).sum() / mass.sum()
    variance = (mass * (grid - mean) ** 2).sum() / mass.sum()
    found = WarpedGaussian.moments_within(table, np.array([low]), np.array([high]), known)
    assert found[0][0] == pytest.approx(mean, rel=1e-9)
    assert found[1][0] == pytest.approx(variance, rel=1e-5)
    mode = WarpedGaussian.mode_within(table, np.array([low]), np.array([high]), known)
    assert low <= mode[0] <= high
    values = np.append(grid.ravel(), mode)[None]
    densities = WarpedGaussian.log_density(table, values, known)[0]
    assert densities[-1] >= densities[:-1].max() - 1e-9


def test_how_many_pieces_are_computed_at_once_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(11)
    warp = fitted(np.rint(rng.gamma(8.0, 5.0, 500)), 1.0)
    column = Column("x", "real", 0, scale=Scale(1.0, 0.0, 99.0, 40.0, 14.0), warp=warp)
    known = LeafColumns.of([column], np.zeros(30, dtype=np.int64))
    table = np.stack([rng.normal(size=30), rng.gamma(2.0, 0.3, 30)], axis=1)
    asked = (WarpedGaussian.mean, WarpedGaussian.variance, WarpedGaussian.mode)
    whole = [ask(table, known) for ask in asked]
    narrowest = WarpedGaussian.narrowest(table[:, 0], known)
    monkeypatch.setattr(warp_pieces, "_MOST_PAIRS", 10)
    assert all(np.array_equal(ask(table, known), a) for ask, a in zip(asked, whole, strict=True))
    assert np.array_equal(WarpedGaussian.narrowest(table[:, 0], known), narrowest)


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


@pytest.mark.parametrize("at_once", [2**22, 1000])
def test_the_entropy_of_a_column_with_many_pieces(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a normal distribution on a warp, it is that of the places less the expected log slope."""
    monkeypatch.setattr(column_mixture, "_MOST_CELLS", at_once)
    rng = np.random.default_rng(12)
    warp = fitted(np.round(rng.choice(rng.gamma(2.0, 300.0, 1500), 4000)), 1.0)
    assert len(warp.values) > 1024
    column = Column("x", "real", 0, warp=warp)
    table = np.array([[0.4, 0.7], [0.4, 0.7]])
    known = LeafColumns.of([column], np.zeros(2, dtype=np.int64))
    whole = Part(WarpedGaussian, table, known, np.array([0.3, 0.7]), (-np.inf, np.inf), np.ones(2))
    ends = np.array([-np.inf, *warp.places[1:-1], np.inf])
    chances = np.diff(stats.norm.cdf(ends, 0.4, 0.7))
    wanted = stats.norm(0.4, 0.7).entropy() - chances @ warp.pieces.log_slopes
    assert ColumnMixture(column, [whole]).entropy() == pytest.approx(wanted, rel=1e-6)


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


def test_a_page_holds_a_warp_once() -> None:
    """However many tables of leaves are on it."""
    column = Column("x", "real", 0, warp=Warp((0.0, 1.0, 2.0), (-1.0, 0.0, 3.0)))
    builder = Builder([column, replace(column, name="y")])
    kinds = [WarpedGaussian(0.0, 1.0), restrict(WarpedGaussian(0.0, 1.0), 0.5, 9.0, column)]
    products = [
        builder.product([builder.leaf(i, leaf) for i in range(2)])  # type: ignore[arg-type]
        for leaf in kinds
    ]
    builder.graph.graph["root"] = builder.sum(products, [0.5, 0.5])
    found = circuit_data("page", *lower(builder.graph), None)
    assert [leaf["warp"] for leaf in found["leaves"]] == [0] * len(found["leaves"])
    assert len(found["leaves"]) > 1
    assert len(found["warps"]) == 1
