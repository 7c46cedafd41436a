"""Specs written in the other notation, or in their own: still the same recipe."""

from __future__ import annotations

import time

import pytest

from spnc.diagnostics import Sink, Source
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml

SPEC = "model: m\ndata: builtin:asia\nforest: chow-liu\n"


def recipe_of(text: str, ending: str) -> Recipe:
    sink = Sink()
    found = recipe_from(Source(f"spec.{ending}", text), sink)
    assert found is not None, sink.diagnostics
    return found


def check_written(recipe: Recipe) -> None:
    assert recipe_of(write_yaml(recipe), "yaml") == recipe
    assert recipe_of(write_dsl(recipe), "spn") == recipe


@pytest.mark.parametrize("key", ["search", "prune", "lock", "plugins"])
def test_an_option_that_is_given_as_none_is_left_out_of_the_language(key: str) -> None:
    recipe = recipe_of(f"{key}: none  # a comment\n{SPEC}", "yaml")
    check_written(recipe)
    assert "# a comment" in write_dsl(recipe)


@pytest.mark.parametrize("sign", "\x00\x0c\x1b\x7f\x85\u2028\u2029\ufffe")
def test_comments_may_hold_what_yaml_does_not_allow(sign: str) -> None:
    recipe = recipe_of(f"# a{sign}b: c\nmodel m\ndata builtin:asia\nforest {{ chow-liu }}\n", "spn")
    check_written(recipe)
    assert f"# a<U+{ord(sign):04X}>b: c" in write_yaml(recipe)


def test_a_long_number_is_read_in_time() -> None:
    began = time.monotonic()
    sink = Sink()
    assert recipe_from(Source("spec.yaml", f"{SPEC}seed: {'9' * 60_000}\n"), sink) is None
    assert time.monotonic() - began < 5  # it was a minute
