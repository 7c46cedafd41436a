"""Words of specs: keywords of the language, names of plug-ins, and names of their options."""

from __future__ import annotations

from dataclasses import fields

from spnc.data.options import DataOptions
from spnc.registry import BACKENDS, LEARNERS, LEAVES, OBJECTIVES, OPTIMIZERS, RESIDUALS, STOPS
from spnc.spec.recipe import Recipe
from tests.fuzz.mutation import grammar_words

_REGISTRIES = (LEARNERS, LEAVES, RESIDUALS, OPTIMIZERS, OBJECTIVES, STOPS, BACKENDS)


def _words() -> set[str]:
    found = {"learner", "count", "method", "strategy", "rule", "kind", "file", "search", "fit"}
    for kind in (Recipe, DataOptions):
        found |= {field.name for field in fields(kind)}
    for registry in _REGISTRIES:
        for name, plugin in registry.builtin.items():
            found |= {name, *(field.name for field in fields(plugin))}
    return found


SPEC_WORDS: tuple[bytes, ...] = (
    *(word.encode() for word in sorted(_words())),
    *grammar_words("spnc.lark"),
)
