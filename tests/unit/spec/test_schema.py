"""The JSON Schema of the YAML form, and the reference page: both made from the code."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from spnc.cli import main
from spnc.registry import BACKENDS, LEARNERS, OPTIMIZERS, RESIDUALS, STOPS
from spnc.spec.reference import reference
from spnc.spec.schema import schema
from tests.places import ROOT

RECIPES = sorted((ROOT / "specs").rglob("*.yaml"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


@pytest.fixture
def good() -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load((ROOT / "specs/quickstart.yaml").read_text("utf-8"))
    return spec


def test_the_schema_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(schema())


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_spec_of_the_zoo_fits_the_schema(path: Path, validator: Draft202012Validator) -> None:
    spec = yaml.safe_load(path.read_text("utf-8"))
    assert [e.message for e in validator.iter_errors(spec)] == []


def _unknown_key(spec: dict[str, Any]) -> None:
    spec["sed"] = 7


def _unknown_option(spec: dict[str, Any]) -> None:
    spec["forest"][0]["betta"] = 0.5


def _out_of_range(spec: dict[str, Any]) -> None:
    spec["forest"][0]["beta"] = 1


def _negative_seed(spec: dict[str, Any]) -> None:
    spec["seed"] = -1


def _unknown_learner(spec: dict[str, Any]) -> None:
    spec["forest"][0]["learner"] = "extra-spm"


def _unknown_word(spec: dict[str, Any]) -> None:
    spec["forest"][0]["rows"] = "randomly"


def _missing_model(spec: dict[str, Any]) -> None:
    del spec["model"]


def _missing_file(spec: dict[str, Any]) -> None:
    spec["forest"][0] = {"learner": "circuit"}


def _split_of_two(spec: dict[str, Any]) -> None:
    spec["data"]["split"] = [0.5, 0.5]


def _text_for_number(spec: dict[str, Any]) -> None:
    spec["optimizer"]["max_iterations"] = "many"


def _another_ones_option(spec: dict[str, Any]) -> None:
    spec["backend"] = {"name": "auto", "chunk_mb": 8}


@pytest.mark.parametrize(
    "spoil",
    [
        _unknown_key,
        _unknown_option,
        _out_of_range,
        _negative_seed,
        _unknown_learner,
        _unknown_word,
        _missing_model,
        _missing_file,
        _split_of_two,
        _text_for_number,
        _another_ones_option,
    ],
    ids=lambda f: f.__name__.strip("_"),
)
def test_a_wrong_spec_does_not_fit_the_schema(
    spoil: Callable[[dict[str, Any]], None],
    good: dict[str, Any],
    validator: Draft202012Validator,
) -> None:
    assert validator.is_valid(good)
    wrong = copy.deepcopy(good)
    spoil(wrong)
    assert not validator.is_valid(wrong)


def test_every_plug_in_and_option_has_a_line_of_text() -> None:
    for registry in (LEARNERS, RESIDUALS, OPTIMIZERS, STOPS, BACKENDS):
        for name in registry:
            assert registry[name].summary(), f"{registry.kind} {name} has no docstring"

    def missing(node: Any, path: str) -> list[str]:
        if isinstance(node, list):
            return [m for i, each in enumerate(node) for m in missing(each, f"{path}/{i}")]
        if not isinstance(node, dict):
            return []
        found = []
        for name, option in node.get("properties", {}).items():
            if not option.get("description"):
                found.append(f"{path}/{name}")
        return found + [m for key, each in node.items() for m in missing(each, f"{path}/{key}")]

    assert missing(schema(), "") == []


def test_the_reference_names_every_plug_in() -> None:
    page = reference()
    for registry in (LEARNERS, RESIDUALS, OPTIMIZERS, STOPS, BACKENDS):
        for name in registry:
            assert f"### `{name}`" in page


def test_the_reference_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed == reference() + "\n"
    page = ROOT / "docs/spec-reference.md"
    command = "spnc schema --markdown > docs/spec-reference.md"
    assert page.is_file(), f"the page is missing; run: {command}"
    assert page.read_text("utf-8") == printed, f"the page is out of date; run: {command}"
