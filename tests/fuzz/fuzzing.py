"""Two ways to make inputs: coverage-guided with atheris, or by plain mutation of the seeds."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages
from random import Random

from tests.fuzz.harness import LONGEST, ROOT, Finding, Harness, Input

# The file and class of each reader's harness, in the order in which they run.
READERS = {
    "yaml": ("yaml_specs", "YamlSpecs"),
    "spn": ("spn_files", "SpnFiles"),
    "questions": ("questions", "Questions"),
    "node-link": ("circuit_graphs", "CircuitGraphs"),
    "csv": ("text_tables", "TextTables"),
    "parquet": ("arrow_tables", "ArrowTables"),
    "npz": ("array_files", "ArrayFiles"),
    "model": ("model_files", "ModelFiles"),
    "checkpoint": ("checkpoints", "Checkpoints"),
    "set": ("settings", "Settings"),
}
# Parts of spnc without readers; Numba cannot compile what atheris adds to the first two.
_NOT_INSTRUMENTED = ("backends", "queries", "reports", "explore", "exports", "learners", "search")
_AS_THEY_ARE = 0.1  # share of plain inputs that are seeds
_OWN_CHANGES = 0.7  # share of inputs changed by the harness; libFuzzer changes the others
_NEVER = 10**6  # seconds; the harness itself measures how long an input takes


class Run(ABC):
    """One run of a harness: counts inputs, and keeps the first finding of each cause."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.tried = 0
        self.places: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Count the time from now on."""
        self.began, self._cpu_began = time.monotonic(), time.process_time()

    @property
    def cpu_spent(self) -> float:
        """The seconds of computing since the run began."""
        return time.process_time() - self._cpu_began

    @property
    def spent(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self.began

    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.spent >= self.seconds

    def attempt(self, harness: Harness, given: Input) -> None:
        """Let the harness read an input."""
        found = harness.failure(given)
        self.tried += 1
        if found is not None and found.place not in self.places:
            self.places.add(found.place)
            self.keep(found)

    @abstractmethod
    def keep(self, found: Finding) -> None:
        """Record a finding of a new cause."""

    @abstractmethod
    def finish(self) -> None:
        """Record the numbers of the run."""


def open_harness(reader: str, folder: Path) -> Harness:
    """Return the harness of a reader, which may write into the folder."""
    module, name = READERS[reader]
    found: Harness = getattr(importlib.import_module(f"tests.fuzz.{module}"), name)(folder)
    return found


def has_atheris() -> bool:
    """Whether inputs can be guided by coverage."""
    return importlib.util.find_spec("atheris") is not None


def mutate(harness: Harness, seed: int, run: Run) -> None:
    """Try seeds and mutations of them until the run is over."""
    inputs = plain_inputs(harness, seed)
    first = next(inputs)  # makes the seeds, which is not a part of the time
    run.begin()
    for given in chain([first], inputs):
        if run.is_over():
            break
        run.attempt(harness, given)
    run.finish()


def plain_inputs(harness: Harness, seed: int) -> Iterator[Input]:
    """Yield mutated seeds, and some as they are, without end; the same ones for the same number."""
    random = Random(seed)
    while True:
        given = random.choice(harness.corpus)
        if random.random() > _AS_THEY_ARE:
            given = Input(given.ending, harness.mutated(given, random)[:LONGEST])
        yield given


def guide(reader: str, folder: Path, seed: int, run: Run) -> None:
    """Let atheris choose inputs by what they cover in spnc. Ends only if `run.finish` exits."""
    import atheris

    packages = [str(ROOT / "spnc" / name) for name in _NOT_INSTRUMENTED]
    excluded = [f"spnc.{name}" for name in _NOT_INSTRUMENTED]
    for name, package in zip(tuple(excluded), packages, strict=True):
        excluded += [m.name for m in walk_packages([package], f"{name}.")]
    with atheris.instrument_imports(include=["spnc"], exclude=excluded):
        harness = open_harness(reader, folder)
        corpus = folder / "corpus"
        corpus.mkdir()
        for i, given in enumerate(harness.corpus):
            (corpus / f"{i:05}").write_bytes(harness.encoded(given))
            run.attempt(harness, given)  # instruments modules that are imported on first use
    run.begin()

    def try_one(data: bytes) -> None:
        if run.is_over():
            run.finish()
        run.attempt(harness, harness.decoded(data))

    def change(data: bytes, most: int, number: int) -> bytes:
        random = Random(number)
        if not data or random.random() > _OWN_CHANGES:
            return bytes(atheris.Mutate(data, most))
        given = harness.decoded(data)
        return harness.encoded(Input(given.ending, harness.mutated(given, random)))[:most]

    options = [f"-seed={seed + 1}", f"-max_len={LONGEST}", f"-timeout={_NEVER}", "-rss_limit_mb=0"]
    options.append(f"-artifact_prefix={folder}/")
    atheris.Setup([sys.argv[0], *options, str(corpus)], try_one, custom_mutator=change)
    atheris.Fuzz()
