"""Model files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import spnc
from spnc.api import read_thing
from spnc.diagnostics import Sink
from spnc.model import Model, to_bytes
from spnc.program.model_file import FORMAT
from tests.fuzz.harness import GOLDEN, LONGEST, Harness, Input, stop
from tests.fuzz.rewriting import check_total
from tests.fuzz.tensor_files import mutated_tensors


class ModelFiles(Harness):
    """A model is read and checked; an accepted one adds up to one, and is saved and read again."""

    name = "model"
    endings = (".spnc",)

    def seeds(self) -> Iterable[Input]:
        """Return models of the good circuits, and the damaged ones of the golden files."""
        yield from self.files("tests/golden/bad/models/*.spnc")
        for path in sorted(GOLDEN.glob("good/circuits/*.spn")):
            content = to_bytes(spnc.compile(path))
            if len(content) <= LONGEST:
                yield Input(".spnc", content)

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return a model with another description or other arrays, mostly with its checksum."""
        return mutated_tensors(given.content, FORMAT, random)

    def read(self, path: Path) -> None:
        """Read a model, as `spnc check` does, compute with it and save it."""
        sink = Sink()
        model = read_thing(path, sink)
        stop(sink)
        assert isinstance(model, Model)
        repr(model)
        assert model.rules is not None
        check_total(model.program, model.parameters)
        model.save(path)
        again = spnc.load(path)
        assert to_bytes(again) == path.read_bytes(), "saved again, it has other bytes"
