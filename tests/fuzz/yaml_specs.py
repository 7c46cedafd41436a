"""Specs in YAML."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from spnc.api import read_thing
from spnc.diagnostics import Sink
from spnc.spec.recipe import Recipe
from tests.fuzz.harness import Harness, Input, stop
from tests.fuzz.mutation import mutated_text
from tests.fuzz.rewriting import check_recipe
from tests.fuzz.spec_words import SPEC_WORDS

# Signs of YAML that specs seldom have.
_YAML_WORDS = (
    *(b"!!int ''", b"!!bool x", b"!!float ''", b"!!set", b"!!binary x", b"!x", b"&a ", b"*a"),
    *(
        b"<<: *a",
        b"? [a]",
        b"---",
        b"...",
        b"%YAML 1.1",
        b"|\n ",
        b">-\n ",
        b": ",
        b"- ",
        b"{a: b}",
    ),
    *(b"0o17", b"0b1", b".inf", b".nan", b"~", b"yes", b"=", b"\\x00"),
)


class YamlSpecs(Harness):
    """A spec is read; if it is accepted, it is written in both notations and read again."""

    name = "yaml"
    endings = (".yaml",)

    def seeds(self) -> Iterable[Input]:
        """Return the specs of the repository, good and bad."""
        return self.files(
            "specs/*.yaml", "tests/golden/*/specs/*.yaml", "tests/golden/bad/cases/*.yaml"
        )

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the spec with changed characters, words, options and signs of YAML."""
        words = _YAML_WORDS if random.random() < 0.3 else SPEC_WORDS
        return mutated_text(given.content, random, words)

    def read(self, path: Path) -> None:
        """Read a spec, as `spnc check` does before it looks at the data."""
        sink = Sink()
        found = read_thing(path, sink)
        stop(sink)
        assert isinstance(found, Recipe)
        check_recipe(found)
