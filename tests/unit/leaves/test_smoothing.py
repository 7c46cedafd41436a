"""The prior: one number or two, in both notations, in learners and in training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink, Source
from spnc.forest.grow import grow
from spnc.graph.nodes import Leaf, payloads
from spnc.learners.extra_spn import ExtraSpn
from spnc.leaves.smoothing import Smoothing
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Component, Recipe
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml

BASE = "model: m\ndata: {source: builtin:asia}\nforest: [{learner: extra-spn}]\n"
BASE_DSL = "model m\ndata builtin:asia\nforest {\n  extra-spn\n}\n"


def read(text: str, suffix: str = ".yaml", settings: tuple[str, ...] = ()) -> Recipe:
    sink = Sink()
    recipe = recipe_from(Source(f"spec{suffix}", text), sink, settings)
    sink.stop()
    assert recipe is not None
    return recipe


@pytest.mark.parametrize(
    ("yaml", "dsl", "wanted"),
    [
        ("", "", (0.1, 0.1)),
        ("smoothing: 0.2\n", "smoothing 0.2\n", (0.2, 0.2)),
        ("smoothing: 0\n", "smoothing 0\n", (0, 0)),
        (
            "smoothing:\n  weights: 0.01\n  leaves: 0.3\n",
            "smoothing (weights = 0.01, leaves = 0.3)\n",
            (0.01, 0.3),
        ),
        ("smoothing:\n  leaves: 2\n", "smoothing (leaves = 2)\n", (0.1, 2)),
    ],
)
def test_one_number_or_two_are_read_and_written_back(
    yaml: str, dsl: str, wanted: tuple[float, float]
) -> None:
    one, other = read(BASE + yaml), read(BASE_DSL + dsl, ".spn")
    assert one == other
    assert one.smoothing == Smoothing(weights=wanted[0], leaves=wanted[1])
    for recipe in (one, other):
        assert write_yaml(recipe).endswith(f"extra-spn\n{yaml}")
        assert write_dsl(recipe) == BASE_DSL + dsl
        assert read(write_yaml(recipe, full=True)) == recipe
        assert read(write_dsl(recipe, full=True), ".spn") == recipe


@pytest.mark.parametrize("before", ["", "smoothing: 0.5\n", "smoothing: {weights: 3}\n"])
def test_one_of_the_two_can_be_set_from_the_command_line(before: str) -> None:
    found = read(BASE + before, settings=("smoothing.weights=0.25",)).smoothing
    assert found == Smoothing(weights=0.25, leaves=0.5 if "0.5" in before else 0.1)
    assert read(BASE + before, settings=("smoothing=7",)).smoothing == Smoothing.of(7)


def test_learners_have_one_prior_for_weights_and_one_for_leaves() -> None:
    values = np.random.default_rng(0).integers(2, size=(60, 4)).astype(float)
    data = Dataset("made", tuple(Column(c) for c in "abcd"), {"train": Table(values)})

    def grown(prior: Smoothing) -> tuple[list[float], list[float]]:
        component = Component(learner=ExtraSpn(min_instances=10))
        graph = grow([component], data, smoothing=prior, seed=1, sink=Sink()).builder.graph
        weights = [w for *_, w in graph.edges(data="weight") if w is not None]
        leaves = [n.distribution.row[0] for n in payloads(graph).values() if isinstance(n, Leaf)]
        return weights, leaves

    plain, strong = grown(Smoothing.of(0.1)), grown(Smoothing.of(9))
    assert plain[0] != strong[0]
    assert plain[1] != strong[1]
    assert grown(Smoothing(weights=0.1, leaves=9)) == (plain[0], strong[1])
    assert grown(Smoothing(weights=9, leaves=0.1)) == (strong[0], plain[1])


@pytest.mark.parametrize("method", ["em", "stepwise-em", "sgd"])
def test_optimisers_have_one_prior_for_weights_and_one_for_leaves(
    method: str, tmp_path: Path
) -> None:
    spec = tmp_path / "m.yaml"
    spec.write_text(BASE + f"optimizer: {{method: {method}, max_iterations: 40, stop: none}}\n")

    def extremes(weights: float, leaves: float) -> tuple[float, float]:
        prior = f"smoothing={{weights: {weights}, leaves: {leaves}}}"
        found = spnc.train(spec, ["forest.0.min_instances=1500", prior]).fitted.parameters
        odds = [abs(np.log(t / (1 - t))).max() for t in found.tables]
        return float(found.weights.min()), float(max(odds))

    weak, strong_leaves = extremes(0.1, 0.1), extremes(0.1, 3000)
    strong_weights = extremes(1e6, 0.1)
    assert strong_leaves[1] < 0.5 * weak[1]
    assert strong_weights[0] > max(weak[0], strong_leaves[0])
    assert strong_weights[1] > strong_leaves[1]


def test_an_override_of_a_prior_points_at_the_command_line() -> None:
    sink = Sink()
    assert recipe_from(Source("s.yaml", BASE), sink, ("smoothing.weights=-1",)) is None
    (problem,) = sink.diagnostics
    assert problem.code == "E107"
    assert problem.span is not None
    assert problem.span.source.name == "<command line>"
