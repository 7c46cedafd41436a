"""Circuits as node-link JSON and as GraphML."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

from networkx import DiGraph

import spnc
from spnc.api import read_thing
from spnc.diagnostics import Sink
from tests.fuzz.harness import GOLDEN, Harness, Input, stop
from tests.fuzz.mutation import mutated_bytes, mutated_json, mutated_text
from tests.fuzz.rewriting import check_circuit

_WORDS = (
    *(b'"id"', b'"kind"', b'"source"', b'"target"', b'"weight"', b'"variables"', b'"root"', b'"p"'),
    *(
        b'"leaf"',
        b'"sum"',
        b'"product"',
        b'"binary"',
        b'"gaussian"',
        b'"mean"',
        b'"rows"',
        b'"tie"',
    ),
    *(
        b"<node id='a'>",
        b"</node>",
        b"<data key='d0'>",
        b"&#0;",
        b"&amp;",
        b"<!DOCTYPE a>",
        b"<a/>",
    ),
)


class CircuitGraphs(Harness):
    """A circuit is read; if it is accepted, it is compiled, written and read again."""

    name = "node-link"
    endings = (".json", ".graphml")

    def seeds(self) -> Iterable[Input]:
        """Return circuits of the repository, and good ones from the language in both forms."""
        yield from self.files("tests/golden/*/circuits/*.json", "tests/golden/*/circuits/*.graphml")
        for path in sorted(GOLDEN.glob("good/circuits/*.spn")):
            model = spnc.compile(path)
            for ending, form in ((".json", "json"), (".graphml", "graphml")):
                file = self.folder / f"seed{ending}"
                model.export(file, form)
                yield Input(ending, file.read_bytes())

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the circuit with changed values or changed characters."""
        if given.ending == ".json" and random.random() < 0.7:
            try:
                value = json.loads(given.content)
                for _ in range(random.randint(1, 3)):
                    value = mutated_json(value, random)
                return json.dumps(value).encode()
            except (ValueError, RecursionError):
                pass
        if random.random() < 0.7:
            return mutated_text(given.content, random, _WORDS)
        return mutated_bytes(given.content, random, _WORDS)

    def read(self, path: Path) -> None:
        """Read a circuit, as `spnc check` does."""
        sink = Sink()
        found = read_thing(path, sink)
        stop(sink)
        assert isinstance(found, DiGraph)
        check_circuit(found)
