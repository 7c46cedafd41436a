"""A bare name in place of a mapping or a list, and file names without quotes in the language."""

from __future__ import annotations

import pytest
import yaml
from jsonschema import Draft202012Validator

from spnc.diagnostics import Sink, Source
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe
from spnc.spec.schema import schema
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml


def read(text: str, *settings: str, name: str = "spec.yaml") -> Recipe:
    sink = Sink()
    recipe = recipe_from(Source(name, text), sink, settings)
    sink.stop()
    assert recipe is not None
    return recipe


LONG = "model: m\ndata: {source: 'debd:plants'}\nforest: [{learner: chow-liu}]\n"
SHORT = [
    "model: m\ndata: debd:plants\nforest: [chow-liu]\n",
    "model: m\ndata: debd:plants\nforest: chow-liu\n",
    "model: m\ndata: debd:plants\nforest: chow_liu\n",
    "model: m\ndata: {source: 'debd:plants'}\nforest:\n  - chow-liu\n",
]


@pytest.mark.parametrize("text", SHORT)
def test_a_bare_name_stands_for_the_whole(text: str) -> None:
    recipe = read(text)
    assert recipe == read(LONG)
    for full in (False, True):
        assert read(write_yaml(recipe, full=full)) == recipe
        assert read(write_dsl(recipe, full=full), name="spec.spn") == recipe


@pytest.mark.parametrize("text", SHORT[:2])
def test_a_bare_name_fits_the_schema(text: str) -> None:
    assert Draft202012Validator(schema()).is_valid(yaml.safe_load(text))


def test_a_setting_can_be_laid_over_a_bare_name() -> None:
    recipe = read(SHORT[0], "data.split_seed=3", "forest.0.count=4")
    assert (recipe.data.source, recipe.data.split_seed) == ("debd:plants", 3)
    assert (recipe.forest[0].count, recipe.forest[0].learner.plugin_name) == (4, "chow-liu")
    assert read(LONG, "data=rows.csv").data.source == "rows.csv"


def test_bare_names_can_be_searched_for() -> None:
    recipe = read("model: m\ndata: debd:plants\nforest:\n  - search: [chow-liu, extra-spn]\n")
    assert recipe.space is not None
    names = [one.recipe.forest[0].learner.plugin_name for one in recipe.space.tries]
    assert names == ["chow-liu", "extra-spn"]
    assert read(write_yaml(recipe)) == recipe


def test_a_wrong_bare_name_is_reported_where_it_stands() -> None:
    sink = Sink()
    assert recipe_from(Source("s.yaml", "model: m\ndata: 'a:b'\nforest: [chow-lu]\n"), sink) is None
    (found,) = sink.diagnostics
    assert (found.code, str(found.span)) == ("E109", "s.yaml:3:10")


def test_a_single_text_is_a_list_of_one() -> None:
    text = "model: m\ndata: {source: rows.csv, missing: '?'}\nforest: chow-liu\n"
    assert read(text).data.missing == ("?",)
    assert Draft202012Validator(schema()).is_valid(yaml.safe_load(text))


FILES = [
    "rows.csv",
    "rows.csv.gz",
    "../shared/rows.csv",
    "./rows",
    "/data/rows-2024_05.csv",
    "~/rows.data",
    "2024/rows.csv",
    "2024.csv",
    "data/model/split.csv",
    "split.csv",
    "model/rows",
    ".hidden.csv",
    "löss.csv",
]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("after", ["", " split 0.8 / 0.1 / 0.1", "(header = yes)", "\nseed 3 #"])
def test_a_file_needs_no_quotes_after_data(file: str, after: str) -> None:
    rest = "\nforest { chow-liu }\n"
    bare = read(f"model m\ndata {file}{after}{rest}", name="spec.spn")
    assert bare.data.source == file
    assert bare == read(f'model m\ndata "{file}"{after}{rest}', name="spec.spn")
    assert read(write_dsl(bare), name="spec.spn") == bare


def test_a_path_needs_no_quotes_as_a_value() -> None:
    text = "model m\ndata (train = a/b.csv, valid = ../c.csv)\nforest { circuit(file = x/y.spn) }\n"
    recipe = read(text, name="spec.spn")
    assert (recipe.data.train, recipe.data.valid) == ("a/b.csv", "../c.csv")
    assert recipe.forest[0].learner.file == "x/y.spn"  # type: ignore[attr-defined]


def test_a_split_without_a_source_is_still_a_split() -> None:
    sink = Sink()
    text = "model m\ndata split 0.8/0.1/0.1 (train = a.csv)\nforest { chow-liu }\n"
    assert recipe_from(Source("spec.spn", text), sink) is None
    assert [d.code for d in sink.diagnostics] == ["E111"]  # `split` beside `train`
