"""`search` in a spec: what it expands to, how it is written back, what the schema says of it."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import spnc
from spnc.diagnostics import Diagnostic, Sink, Source
from spnc.learners.extra_spn import ExtraSpn
from spnc.registry import Conflict
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe
from spnc.spec.schema import schema
from spnc.spec.search_section import points
from spnc.spec.space import Search
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml

HEAD = "model: m\ndata: {source: builtin:asia, split: [0.6, 0.2, 0.2]}\n"
PLAIN = HEAD + "forest: [{learner: extra-spn}]\n"


def read(text: str, *settings: str, suffix: str = ".yaml") -> Recipe:
    sink = Sink()
    recipe = recipe_from(Source(f"spec{suffix}", text), sink, settings)
    sink.stop()
    assert recipe is not None
    return recipe


def problems(text: str, *settings: str) -> list[Diagnostic]:
    sink = Sink()
    recipe_from(Source("spec.yaml", text), sink, settings)
    return sink.diagnostics


def tried(recipe: Recipe) -> list[dict[str, Any]]:
    assert recipe.space is not None
    return [recipe.space.values(one) for one in recipe.space.tries]


# ---- what is tried -------------------------------------------------------------------------


def test_several_lists_make_a_grid_in_the_order_of_the_reference_however_they_are_written() -> None:
    recipe = read(
        HEAD + "seed: {search: [4, 3]}\n"
        "forest: [{learner: extra-spn, rows: {search: [random, kmeans]}}]\n"
        "smoothing: {search: [0.5, 0.1]}\n"
    )
    names = ("forest.0.rows", "smoothing", "seed")
    grid = itertools.product(["random", "kmeans"], [0.5, 0.1], [4, 3])
    assert tried(recipe) == [dict(zip(names, point, strict=True)) for point in grid]


def test_the_recipe_of_a_try_is_that_of_the_spec_with_its_values_written_in() -> None:
    text = HEAD + (
        "forest: [{learner: extra-spn, count: COUNT, beta: BETA}]\n"
        "optimizer: {method: em, patience: PATIENCE}\n"
    )
    lists = {"COUNT": [2, 3], "BETA": [0.5, 0.25, 0.75], "PATIENCE": ["none", 4]}

    def filled(values: dict[str, Any]) -> str:
        made = text
        for word, value in values.items():
            made = made.replace(word, str(value))
        return made

    searches = {word: f"{{search: [{', '.join(map(str, v))}]}}" for word, v in lists.items()}
    whole = read(filled(searches))
    assert whole.space is not None
    points = itertools.product(*lists.values())
    wanted = [read(filled(dict(zip(lists, point, strict=True)))) for point in points]
    assert [one.recipe for one in whole.space.tries] == wanted
    assert all(one.recipe.space is None for one in whole.space.tries)


SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@given(SIZES)
def test_without_tries_the_whole_grid_is_tried(sizes: list[int]) -> None:
    found = points(sizes, Search())
    assert found == sorted(set(found))
    assert len(found) == math.prod(sizes)
    assert all(0 <= pick < size for point in found for pick, size in zip(point, sizes, strict=True))


@given(SIZES, st.integers(1, 50), st.integers(0, 2**31))
def test_a_sample_is_seeded_without_repeats_and_in_grid_order(
    sizes: list[int], tries: int, seed: int
) -> None:
    how = Search(tries=tries, seed=seed)
    found = points(sizes, how)
    assert found == points(sizes, how) == sorted(set(found))
    assert len(found) == min(tries, math.prod(sizes))
    assert set(found) <= set(points(sizes, Search()))


def test_samples_differ_with_their_seed_and_reach_every_corner() -> None:
    drawn = [tuple(points([4, 5], Search(tries=3, seed=seed))) for seed in range(40)]
    assert len(set(drawn)) > 30
    assert {point for sample in drawn for point in sample} == set(points([4, 5], Search()))


def test_a_sample_can_be_drawn_from_a_grid_beyond_all_counting() -> None:
    found = points([50] * 30, Search(tries=200))
    assert len(set(found)) == 200
    assert found == sorted(found)


# ---- names, entries, the command line ------------------------------------------------------


def test_a_plug_in_can_be_chosen_by_name_with_options_or_as_an_entry() -> None:
    recipe = read(
        HEAD + "forest:\n"
        "  - {learner: {search: [extra-spn]}, count: 2, beta: 0.5}\n"
        "  - search: [{learner: extra-spn, beta: 0.25}, {learner: extra-spn, count: 4}]\n"
        "optimizer: {stop: {search: [none, variance, {rule: variance, window: 9}]}}\n"
    )
    assert recipe.space is not None
    choices = {choice.name: choice.values for choice in recipe.space.choices}
    assert choices == {
        "forest.0.learner": ("extra-spn",),
        "forest.1": ("extra-spn(beta = 0.25)", "extra-spn(count = 4)"),
        "optimizer.stop": (None, "variance", "variance(window = 9)"),
    }
    assert [one.recipe.forest[1].count for one in recipe.space.tries] == [1, 1, 1, 4, 4, 4]


def test_a_search_can_come_from_the_command_line_and_be_ended_there() -> None:
    recipe = read(PLAIN, "forest.0.beta={search: [0.5, 0.6]}", "seed={search: [1, 2]}")
    assert len(tried(recipe)) == 4
    text = PLAIN + "smoothing: {search: [0.1, 1]}\nsearch: {tries: 1}\n"
    ended = read(text, "smoothing=1")
    assert ended.space is None
    assert ended.smoothing.as_number() == 1.0
    assert problems(text, "smoothing=1") == []


def test_a_bad_value_is_reported_once_where_it_stands_also_if_no_try_has_it() -> None:
    text = PLAIN + (
        "seed: {search: [0, 1, 2, 3, 4, 5, 6, 7]}\n"
        "smoothing: {search: [1, 2, 3, 4, 5, -1]}\n"
        "search: {tries: 1}\n"
    )
    (found,) = problems(text)
    assert found.code == "E107"
    assert found.span is not None
    assert text.splitlines()[found.span.line - 1][found.span.column - 1 :].startswith("-1")


def test_values_that_only_together_are_wrong_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def conflicts(self: ExtraSpn) -> Any:
        if self.beta > 0.5 and self.clusters > 2:
            yield Conflict("beta", "too much", "take less")

    monkeypatch.setattr(ExtraSpn, "conflicts", conflicts)
    (found,) = problems(
        HEAD + "forest: [{learner: extra-spn, beta: {search: [0.5, 0.6]}, "
        "clusters: {search: [2, 3, 4]}}]\n"
    )
    assert (found.code, found.message) == ("E111", "too much")
    assert found.notes == ("in the try with forest.0.beta = 0.6, forest.0.clusters = 3",)


# ---- written back --------------------------------------------------------------------------

NOTATIONS = [
    "smoothing: {search: [0.1, 1.0e-9, 2]}",
    "seed: {search: [0, 1]}\nsearch: {tries: 1, seed: 3}",
    "residual: {search: [none]}",
    "residual: {strategy: {search: [none]}}",
    "optimizer: {search: [em, {method: em, patience: 3}]}",
    "optimizer: {method: {search: [em]}, patience: 3, stop: {search: [none, variance]}}",
    "optimizer: {stop: {rule: {search: [variance]}, window: 7}}",
    "optimizer: {stop: {window: {search: [3, 4]}, rule: {search: [variance]}}}",
    "optimizer: {max_iterations: {search: [1, 2]}, stop: {window: {search: [3, 4]}}}",
    "optimizer: {patience: {search: [none, 3]}}",
    "smoothing: {search: [0.1, {weights: 0.01, leaves: 0.5}]}",
    "smoothing: {weights: {search: [0.1, 0.2]}, leaves: 1}",
    "prune: {search: [none, {flow_below: 0.01}, {flow_below: 0.02, most_loss: 0.1}]}",
    "prune: {flow_below: {search: [0.01, 0.02]}}",
]
FORESTS = [
    "[{learner: extra-spn}]",
    "[{learner: {search: [extra-spn]}, count: {search: [2, 3]}}]",
    "[{learner: {search: [extra-spn]}}, {learner: extra-spn, min_instances: {search: [none, 5]}}]",
    "[{learner: {search: [extra-spn]}, count: 3, gamma: 4}]",
    "[{search: [{learner: extra-spn, beta: 0.5}, {learner: extra-spn}]}, {learner: extra-spn}]",
    "[{learner: circuit, file: {search: ['a b.spn', c.spn]}}]",
]
TEXTS = [f"{HEAD}forest: {FORESTS[0]}\n{rest}\n" for rest in NOTATIONS]
TEXTS += [f"{HEAD}forest: {forest}\n{NOTATIONS[1]}\n" for forest in FORESTS]


@pytest.mark.parametrize(
    "values",
    [
        "[{learner: extra-spn}, {learner: extra-spn}]",
        "[extra-spn, {learner: extra-spn}]",
        "[{learner: extra-spn, beta: 0.5}, {beta: 5.0e-1, learner: extra-spn}]",
    ],
)
def test_values_that_mean_the_same_are_refused(values: str) -> None:
    (found,) = problems(f"{HEAD}forest: [{{search: {values}}}]\n")
    assert found.code == "E130"
    assert "is in the list twice" in found.message


@pytest.mark.parametrize("full", [False, True], ids=["given", "full"])
@pytest.mark.parametrize("text", TEXTS)
def test_both_languages_say_the_same_and_formatting_twice_is_once(text: str, full: bool) -> None:
    recipe = read(text)
    in_yaml, in_dsl = write_yaml(recipe, full=full), write_dsl(recipe, full=full)
    again, other = read(in_yaml), read(in_dsl, suffix=".spn")
    assert again == other == recipe
    assert write_yaml(again, full=full) == in_yaml
    assert write_dsl(other, full=full) == in_dsl


def test_comments_stay_with_a_search() -> None:
    text = PLAIN + "# why\nsmoothing:\n  search:\n    - 0.1  # small\n    - 1\nseed: 3\n"
    written = write_yaml(read(text))
    assert "# why\n" in written
    assert "smoothing: {search: [0.1, 1]}  # small\n" in written


def test_a_sample_is_the_same_in_every_notation() -> None:
    text = HEAD + (
        "search: {tries: 3}\nseed: {search: [1, 2, 3, 4]}\nsmoothing: {search: [3, 2, 1]}\n"
        "optimizer: {patience: {search: [1, 2]}, max_iterations: {search: [5, 6]}}\n"
        "forest:\n"
        "  - {rows: {search: [kmeans, random]}, learner: extra-spn, beta: {search: [0, 1.0e-3]}}\n"
    )
    recipe = read(text)
    for full in (False, True):
        assert tried(read(write_yaml(recipe, full=full))) == tried(recipe)
        assert tried(read(write_dsl(recipe, full=full), suffix=".spn")) == tried(recipe)


def test_recipes_with_other_choices_are_different() -> None:
    texts = ["seed: {search: [0, 1]}", "seed: {search: [1, 0]}", "seed: {search: [0]}", "seed: 0"]
    recipes = [read(f"{PLAIN}{text}\n") for text in texts]
    assert len(set(recipes)) == len(texts)


# ---- the schema ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


@pytest.mark.parametrize("text", TEXTS)
def test_a_search_fits_the_schema(text: str, validator: Draft202012Validator) -> None:
    assert [e.message for e in validator.iter_errors(yaml.safe_load(text))] == []


BAD = [
    "smoothing: {search: []}",
    "smoothing: {search: 0.1}",
    "smoothing: {search: [0.1, -1]}",
    "smoothing: {search: [0.1], from: 0}",
    "smoothing: {search: [{search: [0.1]}]}",
    "seed: {search: [0.5]}",
    "residual: {search: [nine]}",
    "optimizer: {method: {search: [ems]}}",
    "optimizer: {search: [{method: em, patience: {search: [1]}}]}",
    "backend: {search: [numpy, numba]}",
    "search: {tries: {search: [1, 2]}}",
    "search: {tries: 0}",
    "lock: {data: {search: [a]}}",
]


@pytest.mark.parametrize("rest", BAD)
def test_a_wrong_search_fits_neither_the_schema_nor_the_binder(
    rest: str, validator: Draft202012Validator
) -> None:
    text = f"{PLAIN}{rest}\n"
    assert not validator.is_valid(yaml.safe_load(text))
    assert any(d.severity == "error" for d in problems(text))


# ---- looking without training --------------------------------------------------------------


def test_the_check_looks_at_the_circuits_of_every_try(tmp_path: Path) -> None:
    (tmp_path / "broken.spn").write_text("circuit broken\nx = y ~ bernoulli(0.5)\n")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        HEAD + "forest:\n"
        "  - search: [{learner: extra-spn}, {learner: circuit, file: broken.spn}]\n"
        "seed: {search: [0, 1]}\n"
    )
    assert [d.code for d in spnc.check(spec)] == ["E208"]
