"""Files of the language: specs and circuits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from spnc import checks
from spnc.api import read_thing
from spnc.diagnostics import Sink, Source, read_source
from spnc.graph.text import read_circuit_text, write_circuit_text
from spnc.language.parser import opens_circuit
from spnc.model import Model
from spnc.spec.recipe import Recipe
from tests.fuzz.harness import Harness, Input, stop
from tests.fuzz.mutation import mutated_text
from tests.fuzz.rewriting import check_circuit, check_recipe
from tests.fuzz.spec_words import SPEC_WORDS
from tests.plain_texts import is_plain

CIRCUIT_WORDS = (
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
    """A spec or a circuit is read; if it is accepted, it is written and read again.

    A circuit that is read without the grammar is read by the grammar as well.
    """

    name = "spn"
    endings = (".spn",)

    def seeds(self) -> Iterable[Input]:
        """Return the specs and circuits of the repository, good and bad, and written anew."""
        found = self.files("specs/*.spn", "specs/circuits/*.spn", "tests/golden/*/*/*.spn")
        return [*found, *_written(found)]

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the text with changed characters and changed words."""
        words = CIRCUIT_WORDS if random.random() < 0.3 else SPEC_WORDS
        return mutated_text(given.content, random, words)

    def read(self, path: Path) -> None:
        """Read a spec or a circuit, as `spnc check` does before it looks at the data."""
        sink = Sink()
        source = read_source(path, Sink())
        if source is not None and opens_circuit(source.text):
            is_plain(source)  # compares both ways to read it
        found = read_thing(path, sink)
        stop(sink)
        assert not isinstance(found, Model)
        if isinstance(found, Recipe):
            check_recipe(found)
        else:
            check_circuit(found)


def _written(inputs: Iterable[Input]) -> Iterator[Input]:
    """Yield the valid circuits among these inputs as spnc writes them."""
    for given in inputs:
        sink, text = Sink(), given.content.decode("utf-8", "replace")
        graph = read_circuit_text(Source("a.spn", text), sink) if opens_circuit(text) else None
        if graph is not None:
            checks.check(graph, sink)
            if not sink.failed:
                yield Input(given.ending, write_circuit_text(graph, "written").encode())
