"""The zoo of specs: every one says the same in both notations, compiles, and trains."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.data.builtin import asia_log_probability
from spnc.data.load import is_available
from spnc.diagnostics import Sink
from spnc.language.parser import opens_circuit
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Recipe
from spnc.training.optimizers.em import Em
from tests.places import ROOT
from tests.stand_in.cupy_on_host import why_not
from tests.stand_in.devices import pretend

SPECS = ROOT / "specs"
SHARED = ROOT.parent / "shared/data"
RECIPES = sorted(p.relative_to(SPECS).with_suffix("").as_posix() for p in SPECS.rglob("*.yaml"))
SMALL = [name for name in RECIPES if not name.startswith(("paper/", "best/"))]
PAPER = [name for name in RECIPES if name.startswith("paper/")]
BEST = [name for name in RECIPES if name.startswith("best/")]
CIRCUITS = sorted((SPECS / "circuits").glob("*.spn"))


@pytest.fixture(autouse=True)
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The public datasets, where this machine has them; nothing is downloaded."""
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "cache"))
    if "SPNC_DATA" not in os.environ and SHARED.is_dir():
        monkeypatch.setenv("SPNC_DATA", str(SHARED))


def recipe_of(path: Path) -> Recipe:
    sink = Sink()
    recipe = read_recipe(path, sink)
    sink.stop()
    assert recipe is not None
    return recipe


def spec(name: str, suffix: str = ".yaml") -> Path:
    return SPECS / f"{name}{suffix}"


def test_the_zoo_is_large_enough_to_be_one() -> None:
    assert len(SMALL) >= 14
    assert len(PAPER) >= 18


def test_every_recipe_has_both_notations() -> None:
    language = [p for p in SPECS.rglob("*.spn") if not opens_circuit(p.read_text("utf-8"))]
    assert sorted(p.relative_to(SPECS).with_suffix("").as_posix() for p in language) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_both_notations_are_the_same_recipe(name: str) -> None:
    assert recipe_of(spec(name, ".yaml")) == recipe_of(spec(name, ".spn"))


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_is_named_after_its_file(name: str) -> None:
    assert recipe_of(spec(name)).model == Path(name).name


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("suffix", [".yaml", ".spn"])
def test_a_spec_opens_with_what_it_shows(name: str, suffix: str) -> None:
    first = spec(name, suffix).read_text("utf-8").splitlines()[0]
    assert first.startswith("# ")


@pytest.mark.parametrize("name", RECIPES)
def test_a_spec_passes_the_check(name: str) -> None:
    for suffix in (".yaml", ".spn"):
        assert not spnc.check(spec(name, suffix))


@pytest.mark.parametrize("name", SMALL)
def test_a_small_spec_compiles_and_trains(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two iterations, with two components for every entry of the forest; where a spec asks for a
    device, on the stand-in for one."""
    recipe = recipe_of(spec(name))
    if recipe.backend.plugin_name == "cupy":
        if why_not() is not None:
            pytest.skip(str(why_not()))
        pretend(monkeypatch, "devices=1")
    small = [f"forest.{i}.count=2" for i in range(len(recipe.forest))]
    if not recipe.refines_components:
        small.append("optimizer.max_iterations=2")
    run = spnc.train(spec(name), small)
    assert run.model.name == Path(name).name
    assert np.isfinite(run.scores["train"].average)
    plain_em = isinstance(recipe.optimizer, Em) and recipe.optimizer.dropout == 0.0
    if plain_em and recipe.prune is None:
        objectives = [record.objective for record in run.fitted.history]
        assert objectives == sorted(objectives)


@pytest.mark.parametrize("name", [name for name in PAPER if name.endswith("-rspf3")])
def test_a_paper_spec_compiles(name: str) -> None:
    """The other sizes are more of the same, so one component per dataset has to do."""
    recipe = recipe_of(spec(name))
    if not is_available(recipe.data):
        pytest.skip(f"{recipe.data.source} is not on this machine; set SPNC_DATA")
    model = spnc.compile(spec(name), ["forest.0.count=2"])
    assert model.name == recipe.model
    assert model.program.facts()["sums"] > 0


@pytest.mark.parametrize("name", BEST)
def test_a_recipe_for_the_best_density_trains(name: str) -> None:
    """With few points and steps, or few components: how good it is, benchmarks say."""
    recipe = recipe_of(spec(name))
    if not is_available(recipe.data):
        pytest.skip(f"{recipe.data.source} is not on this machine; set SPNC_DATA")
    settings = [] if recipe.refines_components else ["optimizer.max_iterations=1"]
    for place, entry in enumerate(recipe.forest):
        mixed = isinstance(entry.learner, ContinuousMixture)
        small = ["count=1", "points=8", "steps=4", "settling=2"] if mixed else ["count=2"]
        settings += [f"forest.{place}.{setting}" for setting in small]
    run = spnc.train(spec(name), settings)
    assert np.isfinite(run.scores["valid"].average)


LINKED = {
    "resspn3": "rspf3",
    "resspn5": "rspf5",
    "resspn10": "rspf10",
    "inforesspn": "rspfclustered",
}


@pytest.mark.parametrize("name", [n for n in PAPER if n.split("-")[-1] in LINKED])
def test_a_linked_forest_of_the_paper_has_the_components_of_the_plain_one(name: str) -> None:
    data, system = name.split("-")
    linked, plain = recipe_of(spec(name)), recipe_of(spec(f"{data}-{LINKED[system]}"))
    assert linked.residual.draws
    assert not plain.residual.draws
    as_plain = replace(linked, model=plain.model, residual=plain.residual, space=None)
    assert as_plain == plain


def test_a_paper_spec_is_named_after_its_data_and_size() -> None:
    for name in PAPER:
        recipe = recipe_of(spec(name))
        data, system = Path(name).name.split("-")
        assert str(recipe.data.source) == f"debd:{data}"
        if size := re.search(r"\d+$", system):
            assert recipe.forest[0].count == int(size[0])


@pytest.mark.parametrize("path", CIRCUITS, ids=lambda p: p.stem)
def test_a_circuit_of_the_zoo_is_valid_and_sums_to_one(path: Path) -> None:
    assert spnc.check(path) == []
    model = spnc.compile(path)
    states = itertools.product(*(range(c.states) for c in model.columns))
    every_row = np.array(list(states), dtype=np.float64)
    assert np.exp(model.log_likelihood(every_row)).sum() == pytest.approx(1.0)


def test_the_asia_circuit_is_the_asia_network() -> None:
    every_row = np.array(list(itertools.product([0, 1], repeat=8)), dtype=np.float64)
    found = spnc.compile(SPECS / "circuits/asia.spn").log_likelihood(every_row)
    np.testing.assert_allclose(found, asia_log_probability(every_row), rtol=1e-12)


def test_the_asia_circuit_shares_nodes() -> None:
    graph = spnc.compile(SPECS / "circuits/asia.spn").graph()
    assert any(parents > 1 for _, parents in graph.in_degree())


def test_checking_a_spec_in_python_looks_at_its_data_and_circuits_too(tmp_path: Path) -> None:
    (tmp_path / "broken.spn").write_text("circuit broken\nx = y ~ bernoulli(0.5)\n")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "model: m\ndata: {source: missing.csv}\nforest: [{learner: circuit, file: broken.spn}]\n"
    )
    assert {d.code for d in spnc.check(spec)} == {"E302", "E208"}


def test_any_number_of_threads_trains_the_same_model() -> None:
    short = "optimizer.max_iterations=5"
    one, four = (
        spnc.train(spec("threads"), [short, f"backend.threads={threads}"]) for threads in (1, 4)
    )
    assert one.fitted.history[-1].train == four.fitted.history[-1].train
    assert (one.model.parameters.weights == four.model.parameters.weights).all()
    for a, b in zip(one.model.parameters.tables, four.model.parameters.tables, strict=True):
        assert (a == b).all()
    assert one.scores == four.scores
