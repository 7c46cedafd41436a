"""Converting specs between their notations loses nothing: not a value, not a comment."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from spnc.cli import main
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink, Source
from spnc.leaves.smoothing import Smoothing
from spnc.registry import LEARNERS
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Component, Recipe
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml
from tests.places import ROOT

SPECS = ROOT / "specs"
RECIPES = sorted(p for p in SPECS.rglob("*.yaml"))
FILES = [*RECIPES, *(p.with_suffix(".spn") for p in RECIPES)]
SUFFIX = {"yaml": ".yaml", "dsl": ".spn"}


def read(text: str, to: str) -> Recipe:
    sink = Sink()
    recipe = recipe_from(Source(f"spec{SUFFIX[to]}", text), sink)
    sink.stop()
    assert recipe is not None
    return recipe


def write(recipe: Recipe, to: str) -> str:
    return (write_yaml if to == "yaml" else write_dsl)(recipe)


def comments(text: str) -> list[str]:
    """The comments of a text whose strings hold no `#`."""
    return sorted(re.findall(r"#.*?(?=\s*$)", text, re.MULTILINE))


def label(path: Path) -> str:
    return path.relative_to(SPECS).as_posix()


@pytest.mark.parametrize("path", FILES, ids=label)
def test_the_other_notation_and_back_is_the_same_recipe(path: Path) -> None:
    own = "yaml" if path.suffix == ".yaml" else "dsl"
    other = "dsl" if own == "yaml" else "yaml"
    text = path.read_text("utf-8")
    there = write(read(text, own), other)
    back = write(read(there, other), own)
    assert read(there, other) == read(back, own) == read(text, own)
    assert comments(text) == comments(there) == comments(back)


@pytest.mark.parametrize("path", FILES, ids=label)
def test_the_zoo_is_laid_out_as_format_would(path: Path) -> None:
    text = path.read_text("utf-8")
    own = "yaml" if path.suffix == ".yaml" else "dsl"
    assert write(read(text, own), own) == text


@pytest.mark.parametrize("to", ["yaml", "dsl"])
def test_writing_every_default_changes_nothing(to: str) -> None:
    for path in RECIPES:
        recipe = read(path.read_text("utf-8"), "yaml")
        full = (write_yaml if to == "yaml" else write_dsl)(recipe, full=True)
        assert read(full, to) == recipe


CRAMPED = """\
# at the top
model odd# touching
data "a # b.csv"   # after a text with a sign
  # between the parts of a statement
  (header = yes) # isn't this fine?
forest { # opening
  # above an entry
  2 x extra-spn( # in a call
    # on a line of its own
    beta = 0.5, # first
    rows = kmeans # second
  ) # closing
  circuit(file = 'x.spn') # it's the last
  # before the brace
} # after the brace
# above two
seed 3 # three
smoothing 0.2
# at the end
"""

LOOSE = """\
# at the top
model: it's  # a plain text with an apostrophe
data:  # where rows come from
  # above the source
  source: "a # b.csv"  # after a text with a sign
  split: [0.5,  # half
    0.25, 0.25]
# above the seed
seed: 3
forest:
  # above an entry
  - learner: extra-spn  # by chance
    # inside an entry
    beta: 0.5
  - {learner: circuit, file: x#1.spn}  # a sign inside a word
optimizer:
  # above the stop
  stop: {rule: variance,  # in braces
         window: 4}
# at the end
"""


@pytest.mark.parametrize(("text", "own"), [(CRAMPED, "dsl"), (LOOSE, "yaml")])
@pytest.mark.parametrize("to", ["yaml", "dsl"])
def test_comments_survive_wherever_they_stand(text: str, own: str, to: str) -> None:
    recipe = read(text, own)
    written = write(recipe, to)
    assert read(written, to) == recipe
    in_strings = ["# b.csv", "#1.spn"]
    wanted = [c for c in comments(_without(text, in_strings)) if c]
    assert comments(_without(written, in_strings)) == wanted


@pytest.mark.parametrize(("text", "own"), [(CRAMPED, "dsl"), (LOOSE, "yaml")])
@pytest.mark.parametrize("to", ["yaml", "dsl"])
def test_formatting_twice_is_formatting_once(text: str, own: str, to: str) -> None:
    once = write(read(text, own), to)
    assert write(read(once, to), to) == once


ODD = ["a.csv", "a", "yes", "1", "1e5", "seed", "it's", 'say "hi"', "a # b", "a: b", "- a", "é b"]
ODD += ["a,b", "[a]", "{a}", "a--b", "2x", "2024-01-01", "a/b.csv", "C:\\x", "*a", "!t", " a", "?"]


@pytest.mark.parametrize("to", ["yaml", "dsl"])
@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_quoted_where_they_have_to_be(text: str, to: str) -> None:
    learner = LEARNERS["circuit"](file=text)
    recipe = Recipe(
        model=text,
        data=DataOptions(source=text, missing=(text, "")),
        forest=(Component(learner=learner),),
    )
    assert read(write(recipe, to), to) == recipe


@pytest.mark.parametrize("to", ["yaml", "dsl"])
@pytest.mark.parametrize("number", [0.0, 1e-300, 1e-7, 0.1, 1 / 3, 5e6, 1e22])
def test_numbers_keep_every_bit(number: float, to: str) -> None:
    forest = (Component(learner=LEARNERS["extra-spn"]()),)
    data = DataOptions(source="builtin:asia")
    recipe = Recipe(model="m", data=data, forest=forest, smoothing=Smoothing.of(number))
    assert read(write(recipe, to), to) == recipe


def test_options_stay_in_the_order_in_which_they_were_written() -> None:
    text = "seed 3\nmodel late\nforest {\n  extra-spn\n}\ndata builtin:asia\n"
    assert write(read(text, "dsl"), "dsl") == text


def test_a_comment_stays_above_its_option() -> None:
    text = "model m\ndata builtin:asia\nforest {\n  extra-spn\n}\nseed 3\n# why\nsmoothing 0.2\n"
    assert "# why\nsmoothing: 0.2\n" in write(read(text, "dsl"), "yaml")


def test_the_command_writes_the_other_notation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quickstart = SPECS / "quickstart.yaml"
    target = tmp_path / "quickstart.spn"
    assert main(["format", str(quickstart), "--to", "dsl", "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text("utf-8") == quickstart.with_suffix(".spn").read_text("utf-8")
    assert main(["format", str(target), "--to", "yaml"]) == 0
    assert capsys.readouterr().out == quickstart.read_text("utf-8")


MIXED = SPECS.parent / "tests/golden/good/circuits/mixed.spn"


@pytest.mark.parametrize(
    "circuit",
    [SPECS / "circuits/asia.spn", SPECS / "circuits/tea.spn", MIXED],
    ids=lambda p: p.stem,
)
def test_a_circuit_goes_to_json_and_back(
    circuit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, there, back = (tmp_path / f for f in ("plain.spn", "there.json", "back.spn"))
    assert main(["format", str(circuit), "-o", str(plain)]) == 0
    assert main(["format", str(circuit), "--to", "json", "-o", str(there)]) == 0
    assert main(["format", str(there), "--to", "dsl", "-o", str(back)]) == 0
    definitions = [p.read_text("utf-8").split("\n", 1)[1] for p in (plain, back)]
    assert sorted(definitions[0].splitlines()) == sorted(definitions[1].splitlines())


def _without(text: str, parts: list[str]) -> str:
    for part in parts:
        text = text.replace(part, "")
    return text


BASE = "model: a\ndata: builtin:asia\nforest:\n  - learner: extra-spn\n"


@pytest.mark.parametrize("key", ["search", "prune", "lock"])
def test_none_in_yaml_is_no_statement_in_the_language(key: str) -> None:
    recipe = read(f"{BASE}{key}: none  # a remark\n", "yaml")
    there = write(recipe, "dsl")
    assert read(there, "dsl") == recipe
    assert "# a remark" in there


@pytest.mark.parametrize("code", [0, 7, 0x1B, 0x85, 0x2028, 0x202E, 0xFFFE])
def test_comments_with_control_characters_can_be_read_back(code: int) -> None:
    own = write(read(BASE, "yaml"), "dsl")
    recipe = read(f"# one{chr(code)}two\n{own}seed 3  # three{chr(code)}four\n", "dsl")
    there = write(recipe, "yaml")
    assert read(there, "yaml") == recipe
    back = write(read(there, "yaml"), "dsl")
    assert read(back, "dsl") == recipe
    assert write(read(back, "dsl"), "yaml") == there
    assert "# one" in there
    assert "four" in there


@pytest.mark.parametrize("word", ["two\nlines", "017", "1:30", "none", 'a"b', "²"])
def test_labels_of_any_text_come_back(word: str) -> None:
    text = write(read(BASE, "yaml"), "dsl")
    escaped = json.dumps(word).replace('\\"', "\\u0022")
    labels = f"columns = (smoker = (labels = [e{escaped}, b]))"
    recipe = read(text.replace("builtin:asia", f"builtin:asia({labels})"), "dsl")
    assert recipe.data.columns[0].labels == (word, "b")
    for to in SUFFIX:
        assert read(write(recipe, to), to) == recipe


def test_a_source_that_ends_in_a_line_break_is_written_and_read_again() -> None:
    spec = "model: weather\ndata:\n  |\n rows.csv\nforest: [extra-spn]\n"
    written = write(read(spec, "yaml"), "dsl")
    assert 'data e"rows.csv\\n"' in written
    assert read(written, "dsl") == read(spec, "yaml")
