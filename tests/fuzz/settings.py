"""`--set` overrides of specs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from spnc.diagnostics import Sink, Source
from spnc.spec.read import recipe_from
from tests.fuzz.harness import ROOT, Harness, Input, stop
from tests.fuzz.mutation import mutated_text
from tests.fuzz.rewriting import check_recipe
from tests.fuzz.spec_words import SPEC_WORDS

_BETWEEN = "\0"  # settings; none can hold it, since arguments of a process cannot
_SETTINGS = (
    "optimizer.max_iterations=50",
    "seed=3",
    "forest.0.count=4",
    "forest.1.learner=chow-liu",
    "forest.0.count={search: [1, 2]}",
    "optimizer={method: sgd, learning_rate: 0.1, stop: {rule: variance}}",
    "smoothing=none",
    "data.source=builtin:asia\0data.split=[0.5, 0.25, 0.25]",
    "data.columns={a: {kind: categorical, labels: [x, 'y']}}",
    "search.time=1min\0search=none",
    "residual=greedy-bfs\0residual.bfs=live",
    "forest.0.fit.max_iterations=2",
)
_WORDS = (b".", b"=", b".0.", b".1.", b"\0", b"=none", b"={search: [1, 2]}", b"=[", b"=&a [*a]")


class Settings(Harness):
    """Overrides are laid over a spec, which the ending names; the result is written and read."""

    name = "set"
    endings = (".tiny", ".search", ".mixed", ".conditional")

    def seeds(self) -> Iterable[Input]:
        """Return overrides of every kind for each of the specs."""
        return [Input(e, s.encode()) for e in self.endings for s in _SETTINGS]

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return overrides with changed characters, options and values."""
        words = _WORDS if random.random() < 0.3 else SPEC_WORDS
        return mutated_text(given.content, random, words)

    def read(self, path: Path) -> None:
        """Read a spec with overrides, as they arrive from a command line."""
        spec = ROOT / "specs" / f"{path.suffix[1:]}.spn"  # read faster than YAML
        settings = path.read_bytes().decode("utf-8", "surrogateescape").split(_BETWEEN)
        sink = Sink()
        recipe = recipe_from(Source(str(spec), spec.read_text("utf-8")), sink, settings)
        stop(sink)
        check_recipe(sink.require(recipe))
