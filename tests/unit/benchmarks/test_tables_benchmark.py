"""The benchmark of densities on mixed tables: data, baselines, repaired leaves, the page."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import spnc
from benchmarks import tables
from benchmarks.common import hidden_tables
from benchmarks.common.density_tables import SPLITS, DensityTable, density_table
from benchmarks.peers.spflow_histograms import histogram_log_density, repaired_histogram
from benchmarks.tabular import fit, spflow_models, synthetic
from benchmarks.tabular.atoms import Atoms, atoms
from benchmarks.tabular.listed import LISTED
from benchmarks.tabular.marginals import Histogram, Normal, Shares, independent, real_marginals
from benchmarks.tabular.page import page
from benchmarks.tabular.record import Key, Record
from benchmarks.tabular.sklearn_densities import gaussian_mixture, kernel_density
from benchmarks.tabular.systems import SYSTEMS
from tests.places import ROOT

SHARED = ROOT.parent / "shared/data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table under the name of a known one: a state, a state that follows it, and two numbers.

    One cell is missing; one label is in the test rows alone; half of the cells of a number are 0.
    """
    (tmp_path / "tables").mkdir()
    rng = np.random.default_rng(0)
    for split, rows in (("train", 200), ("valid", 50), ("test", 60)):
        state = rng.integers(0, 3, rows)
        number = np.round(10.0 * state + rng.normal(size=rows), 2)
        zero = np.where(rng.random(rows) < 0.5, 0.0, np.round(rng.exponential(50.0, rows), 1))
        cells = zip(state * 2 + 1, state + 1, number, zero, strict=True)
        lines = [f"{a},{b},{c},{d}" for a, b, c, d in cells]
        lines[0] = "1,1,,0.0"
        if split == "test":
            lines[1] = "9,3,20.0,0.0"
        text = "\n".join(["discrete14,discrete1,real2,real3", *lines]) + "\n"
        (tmp_path / "tables" / f"german.{split}.csv").write_text(text)
    kinds = {"discrete14": "discrete", "discrete1": "discrete", "real2": "real", "real3": "real"}
    (tmp_path / "tables" / "types.json").write_text(json.dumps({"german": kinds}))
    monkeypatch.setenv("SPNC_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", hidden_tables.TARGETS)
def test_rows_are_dequantised_as_the_documentation_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "SPNC_DATA" not in os.environ:
        monkeypatch.setenv("SPNC_DATA", str(SHARED))
    script = hidden_tables.folder() / "dequantise.py"
    if not script.is_file():
        pytest.skip("the tables are not on this machine; set SPNC_DATA")
    spec = importlib.util.spec_from_file_location("dequantise", script)
    assert spec is not None
    assert spec.loader is not None
    given = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(given)
    splits, is_real, names, states = given.density_tables(name, script.parent)
    found = density_table(name)
    assert found.columns == tuple(names)
    assert (found.is_real == is_real).all()
    assert (found.states == states).all()
    for split in SPLITS:
        assert np.array_equal(found.dequantised[split], splits[split])


def test_a_table_is_complete_and_counts_codes(folder: Path) -> None:
    table = density_table("german")
    assert [len(table.plain[split]) for split in SPLITS] == [199, 49, 59]
    assert table.states.tolist() == [4, 3, 0, 0]
    assert table.resolution[2:] == pytest.approx([0.01, 0.1])
    assert table.data_options()["discrete14"] == {"kind": "categorical", "labels": [0, 1, 2, 3]}
    for split in SPLITS:
        moved = np.abs(table.dequantised[split] - table.plain[split])
        assert (moved[:, :2] == 0.0).all()
        assert (moved[:, 2:] <= table.resolution[2:] / 2).all()
        assert moved[:, 2:].max() > 0.0
    assert table.real_only().columns == ("real2", "real3")


def test_hidden_cells_are_the_same_in_plain_and_dequantised_rows(folder: Path) -> None:
    table = density_table("german")
    less = table.hiding(0.5)
    for split in ("train", "valid"):
        gaps = np.isnan(less.plain[split])
        assert 0.35 < gaps.mean() < 0.6
        assert not gaps.all(axis=1).any()
        assert (gaps == np.isnan(less.dequantised[split])).all()
    assert not np.isnan(less.dequantised["test"]).any()
    filled = spflow_models.filled(less, less.dequantised["train"])
    assert not np.isnan(filled).any()
    known = ~np.isnan(less.dequantised["train"])
    assert (filled[known] == less.dequantised["train"][known]).all()


def integral(marginal: Any, values: Any, step: float) -> float:
    """The mass between cells around the values that are a tenth of a resolution, and in tails."""
    low, high = (
        step * (np.round(end / step) - 0.5) for end in (values.min() - 1, values.max() + 1)
    )
    edges = np.linspace(low, high, 10 * round((high - low) / step) + 1)
    tail = np.geomspace(1e-3, 1e5 * (high - low), 20_000)
    edges = np.concatenate([low - tail[::-1], edges, high + tail])
    return float(marginal.density((edges[:-1] + edges[1:]) / 2) @ np.diff(edges))


@pytest.mark.parametrize("place", [2, 3])
def test_marginals_of_real_columns_are_densities(folder: Path, place: int) -> None:
    table = density_table("german")
    values, step = table.dequantised["train"][:, place], float(table.resolution[place])
    made = real_marginals(values, step)
    assert {type(each) for each in made} == {Normal, Histogram}
    for marginal in [*made, atoms(table).marginals[place]]:
        assert integral(marginal, values, step) == pytest.approx(1.0, abs=5e-3)


def test_atoms_find_the_value_that_repeats(folder: Path) -> None:
    table = density_table("german")
    smooth, boxed = independent(table), atoms(table)
    assert isinstance(boxed.marginals[0], Shares)
    found = boxed.marginals[3]
    assert isinstance(found, Atoms)
    at_zero = float(found.density(np.zeros(1))[0]) * 0.1
    assert at_zero == pytest.approx((table.plain["train"][:, 3] == 0).mean(), abs=0.2)
    means = [each.log_density(table.dequantised["test"]).mean() for each in (smooth, boxed)]
    assert np.isfinite(means).all()
    assert means[1] > means[0] - 0.1
    gone = np.full((2, 4), np.nan)
    assert boxed.log_density(gone).tolist() == [0.0, 0.0]


def test_densities_of_scikit_learn_are_in_units_of_the_table(folder: Path) -> None:
    table = density_table("german")
    one = replace(table, is_real=np.array([False, False, True, False])).real_only()
    points = np.linspace(-40.0, 60.0, 10_001)[:, None]
    for fitted in (gaussian_mixture, kernel_density):
        log_density, choice = fitted(one)
        assert choice
        assert np.exp(log_density(points)).sum() * 0.01 == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_spflow_is_given_complete_rows_in_two_units(
    folder: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    given = []

    def uniform(table: DensityTable, leaves: str, *, quick: bool) -> dict[str, Any]:
        """A uniform density over the ranges of real columns."""
        given.append(table.dequantised["train"])
        densities.append(uniform_density(table))
        return {**densities[-1], "choice": leaves}

    def uniform_density(table: DensityTable) -> dict[str, Any]:
        logs = np.where(table.is_real, -np.log(table.high - table.low), 0.0)
        rows = {**table.dequantised, "plain": table.plain["test"]}
        return {k: (~np.isnan(rows[k]) @ logs).mean() for k in ("valid", "test", "plain")}

    densities: list[dict[str, Any]] = []
    monkeypatch.setattr(spflow_models, "_learned", uniform)
    table = density_table("german").hiding(share)
    found = spflow_models.measured(table, "histogram")
    assert not any(np.isnan(rows).any() for rows in given)
    assert len(given) == (4 if share else 2)
    for each, wanted in uniform_density(table).items():
        assert found[each] == pytest.approx(wanted)
        assert densities[1][each] != pytest.approx(wanted)  # in other units
    assert given[1].std(axis=0)[2:] == pytest.approx(1.0)
    assert (given[1][:, :2] == given[0][:, :2]).all()  # codes stay codes


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_a_repaired_histogram_integrates_to_one(unit: float) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=90), rng.normal(1000.0, 1.0, 3)]) * unit
    domain = (-5.0 * unit, 2000.0 * unit)
    for alpha in (0.0, 1.0):
        edges, dense, middles = repaired_histogram(values, domain, True, alpha)
        assert (dense * np.diff(edges)).sum() == pytest.approx(1.0)
        assert len(middles) == len(dense) == len(edges) - 1
        assert ((edges[:-1] < middles) & (middles < edges[1:])).all()
    assert edges[0] == domain[0]
    assert edges[-1] == domain[1]
    assert len(edges) < 200
    alone, even, _ = repaired_histogram(np.full(476, 0.1 * unit), domain, True)
    assert alone.tolist() == [*domain]
    assert even * 2005.0 * unit == pytest.approx(1.0)
    logs = histogram_log_density(edges, dense, np.array([np.nan, 0.0, 3000.0 * unit]))
    assert logs[0] == 0.0
    assert logs[1] > logs[2]


def test_a_repaired_histogram_is_that_of_numpy_where_bins_are_one_unit_wide() -> None:
    values = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], [3, 9, 20, 9, 3])
    counts, edges = np.histogram(values, "auto")
    _, dense, _ = repaired_histogram(values, (0.0, 4.0), True, 0.0)
    found, own, _ = repaired_histogram(values, (0.0, 4.0), True, 0.0)
    assert (own * np.diff(found)).sum() == pytest.approx(1.0)
    near = np.linspace(0.0, 3.999, 101)
    wanted = (counts / len(values) / np.diff(edges))[np.searchsorted(edges, near, "right") - 1]
    shown = dense[np.searchsorted(found, near, "right") - 1]
    assert np.isclose(shown, wanted).mean() > 0.98  # but where an edge is rounded


def test_a_repaired_histogram_of_states_counts_them() -> None:
    edges, dense, _ = repaired_histogram(np.array([0.0, 0.0, 2.0]), np.arange(4), False)
    assert edges.tolist() == [0, 1, 2, 3, 4]
    assert dense == pytest.approx(np.array([3, 1, 2, 1]) / 7)
    _, even, _ = repaired_histogram(np.full(2, np.nan), np.arange(4), False, 0.0)
    assert even == pytest.approx(np.full(4, 0.25))


def test_the_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    values = np.random.default_rng(1).random(200) ** 1.3
    assert fit.ks_distance(values) == pytest.approx(kstest(values, "uniform").statistic)


def made_model(table: DensityTable, folder: Path) -> spnc.Model:
    data: dict[str, Any] = {
        split: str(table.write(table.plain[split], folder / f"{split}.csv"))
        for split in ("train", "valid")
    }
    data["columns"] = table.data_options()
    forest = [{"learner": "hclt", "count": 1, "states": 4}]
    optimizer = {"method": "em", "max_iterations": 20}
    return spnc.train(
        {"model": "german", "data": data, "forest": forest, "optimizer": optimizer}
    ).model


def test_a_model_is_asked_for_its_marginals_and_for_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "ROWS", 500)
    monkeypatch.setattr(synthetic, "FOLDS", 2)
    table = density_table("german")
    model = made_model(table, folder)
    grid = table.plain["train"][:5, 2] + table.resolution[2] / 2
    found = fit.column_cdf(model, "real2", grid)
    for value, own in zip(table.plain["train"][:5, 2].tolist(), found.tolist(), strict=True):
        answer: Any = model.query(f"P(real2 <= {value!r})")
        assert own == pytest.approx(answer.value, abs=1e-9)
    distances = fit.measured(model, table)
    assert set(distances["distances"]) == {"real2", "real3"}
    assert max(distances["distances"].values()) < 0.4
    own = synthetic.measured(model, table)
    assert 0.5 < own["accuracy sampled"] <= 1.0
    assert own["ratio"] == pytest.approx(own["accuracy sampled"] / own["accuracy real"], rel=1e-3)
    assert all(0.4 < own[how] < 0.9 for how in ("auc rounded", "auc as sampled"))
    real = np.concatenate(list(table.plain.values()))
    assert synthetic.detected(real, real + 100.0) == 1.0
    whole = synthetic.on_grid(table, np.concatenate(list(table.plain.values())))
    assert (whole == np.round(whole)).all()


def test_results_are_recorded_once_for_each_setting(tmp_path: Path) -> None:
    file, key = tmp_path / "tables.json", Key("wine", "all", "spnc", 0)
    assert Record(file).once(key, "a", lambda: {"test": 1.0})
    assert not Record(file).once(key, "a", lambda: {"test": 2.0})
    assert dict(Record(file)) == {key: {"test": 1.0, "setting": "a"}}
    assert Record(file).once(key, "b", lambda: {"test": 2.0})
    assert dict(Record(file))[key]["test"] == 2.0


def result(test: float, valid: float | None = None, **other: Any) -> dict[str, Any]:
    own = test if valid is None else valid
    return {"valid": own, "test": test, "plain": test - 0.5, "seconds": 2.0, **other}


def test_the_page_compares_measured_and_listed_figures() -> None:
    cells = {
        Key("wine", "all", "spnc", 0): result(0.5),
        Key("wine", "all", "spnc", 1): result(0.7),
        Key("wine", "all", "auto", 0): result(0.9, valid=-1.0, choice="hclt"),
        Key("wine", "all", "atoms", 0): result(-0.2),
        Key("wine", "real", "kernel-density", 0): result(1.5, choice="bandwidth 0.3"),
        Key("wine", "hidden 10%", "spnc", 0): result(0.1),
        Key("wine", "fit", "spnc", 0): {"distances": {"a": 0.1, "b": 0.02}, "chance": 0.05},
        Key("wine", "synthetic", "spnc", 0): {
            "choice": "forest",
            "accuracy real": 0.6,
            "accuracy sampled": 0.57,
            "ratio": 0.95,
            "auc rounded": 0.7,
            "auc as sampled": 0.9,
        },
    }
    text = page(cells.items(), ["wine"])
    # spnc is judged by the model that validation rows choose: 0.60 against -0.19.
    assert (
        "| wine | 0.60 ± 1.27 | **0.90** | -0.20 atoms | -0.19 atoms | +0.79 |\n\n"
        "spnc is best on 1 of 1 tables." in text
    )
    assert "| independent columns with atoms |  | -0.20 | -0.20 | -0.19 | -0.70 | 2 |" in text
    assert "| scikit-learn KernelDensity | bandwidth 0.3 | 1.50 | **1.50** | -1.58 |" in text
    assert "| wine | spnc | 0.60 ± 1.27 | **0.10** | 0.50 | – | – |" in text
    assert "| wine | forest | 0.600 | 0.570 | 0.950 | 0.700 | 0.900 |" in text
    assert "| wine | a | **0.100** | 0.050 |" in text
    assert "Above it: 1 of 2 columns" in text
    assert "![The real columns of wine](tables-wine.png)" in text
    assert max(map(len, (line for line in text.splitlines() if "|" not in line))) <= 100


def test_every_system_has_a_name_and_listed_figures_belong_to_tables() -> None:
    assert all("," not in name for name in SYSTEMS)
    assert set(LISTED["all"]) == set(hidden_tables.TARGETS)
    assert set(LISTED["real"]) == set(hidden_tables.TARGETS) - {"chess", "student"}


def test_a_run_measures_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["--tables", "german", "--systems", "independent,atoms,kernel-density"]
    line += ["--hidden", "--quick", "--results", str(folder)]
    assert tables.main(line) == 0
    found = dict(Record(folder / "tables.json"))
    parts = ("all", "real", "hidden 10%", "hidden 50%")
    wanted = {(part, system) for part in parts for system in ("independent", "atoms")}
    wanted.add(("real", "kernel-density"))
    assert {(key.part, key.system) for key in found} == wanted
    text = (folder / "tables.md").read_text()
    assert "## Hidden cells" in text
    assert tables.main([*line, "--page-only"]) == 0
    assert (folder / "tables.md").read_text() == text
    with pytest.raises(SystemExit):
        tables.main(["--systems", "spnk"])
    assert "`spnk` is not one of" in capsys.readouterr().err


def test_figures_of_an_earlier_recipe_are_pointed_out() -> None:
    cells = {
        Key("wine", "all", "spnc", 0): {"valid": 1.0, "test": 1.0, "plain": 1.0, "seconds": 1.0}
    }
    for setting, is_earlier in (("old", True), ("new", False)):
        [(key, result)] = cells.items()
        text = page([(key, {**result, "choice": "", "setting": setting})], recipe="new")
        said = "**The recipe has changed since.** Figures of *spnc, one recipe* are those of"
        assert (said in text) == is_earlier
        assert ("for: wine." in text) == is_earlier
