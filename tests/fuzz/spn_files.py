"""Files of the language: specs and circuits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from spnc.api import read_thing
from spnc.diagnostics import Sink
from spnc.model import Model
from spnc.spec.recipe import Recipe
from tests.fuzz.harness import Harness, Input, stop
from tests.fuzz.mutation import mutated_text
from tests.fuzz.rewriting import check_circuit, check_recipe
from tests.fuzz.spec_words import SPEC_WORDS

_CIRCUIT_WORDS = (
    b"~",
    b"inf",
    b"-inf",
    b'e"\\u0000"',
    b'e"\\ud800"',
    b'"a""b"',
    b"a",
    b"0.3",
    b"p =",
)


class SpnFiles(Harness):
    """A spec or a circuit is read; if it is accepted, it is written and read again."""

    name = "spn"
    endings = (".spn",)

    def seeds(self) -> Iterable[Input]:
        """Return the specs and circuits of the repository, good and bad."""
        return self.files("specs/*.spn", "specs/circuits/*.spn", "tests/golden/*/*/*.spn")

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the text with changed characters and changed words."""
        words = _CIRCUIT_WORDS if random.random() < 0.3 else SPEC_WORDS
        return mutated_text(given.content, random, words)

    def read(self, path: Path) -> None:
        """Read a spec or a circuit, as `spnc check` does before it looks at the data."""
        sink = Sink()
        found = read_thing(path, sink)
        stop(sink)
        assert not isinstance(found, Model)
        if isinstance(found, Recipe):
            check_recipe(found)
        else:
            check_circuit(found)
