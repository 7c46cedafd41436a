"""What all fuzzing harnesses share: inputs, seeds, and what counts as a failure.

A harness reads one kind of file, and does what a user would do next with what was read. It may
refuse an input with `InputError`; everything else that it raises is a failure. So are inputs that
take longer than `SLOWEST` or make the process larger by `LARGEST`.
"""

from __future__ import annotations

import re
import resource
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import ClassVar

from spnc.diagnostics import InputError, Sink, render

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
LONGEST = 1 << 16  # bytes of an input; what is wrong with a reader shows in small files
SLOWEST = 10.0  # seconds of computing for one input; an ordinary one takes milliseconds
LARGEST = 2 << 30  # bytes by which one input may enlarge the process
_PACKAGE = ROOT / "spnc"
_NUMBER = re.compile(r"\d+")
_CLIPPED = 120  # characters of a message that tell its cause


@dataclass(frozen=True)
class Input:
    """The content of a file, and the ending of its name, which tells its type."""

    ending: str
    content: bytes


@dataclass(frozen=True)
class Finding:
    """An input that a reader does not cope with; `place` is the same for findings of one cause."""

    input: Input
    place: str
    report: str


class Harness(ABC):
    """A reader under test. One instance reads all inputs of a run."""

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]  # of the files it reads

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # for the input, and what else is needed

    @abstractmethod
    def seeds(self) -> Iterable[Input]:
        """Return the inputs that others are made from: files of this repository, mostly."""

    @cached_property
    def corpus(self) -> list[Input]:
        """The seeds, made once."""
        return list(self.seeds())

    @abstractmethod
    def mutated(self, given: Input, random: Random) -> bytes:
        """Return other content for a file with the same ending."""

    @abstractmethod
    def read(self, path: Path) -> None:
        """Read a file, and use what was read. Raises `InputError` for bad input."""

    def files(self, *patterns: str) -> list[Input]:
        """Return those files of the repository that the reader is for and that are small."""
        found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        longest_first = sorted(self.endings, key=len, reverse=True)
        inputs = []
        for path in found:
            ending = next((e for e in longest_first if path.name.endswith(e)), None)
            if ending is not None and path.stat().st_size <= LONGEST:
                inputs.append(Input(ending, path.read_bytes()))
        return inputs

    def path_of(self, given: Input) -> Path:
        """Return the file that an input is written to."""
        return self.folder / f"input{given.ending}"

    def decoded(self, data: bytes) -> Input:
        """Return the input that a fuzzer's bytes stand for: the first one chooses the ending."""
        return Input(self.endings[data[0] % len(self.endings) if data else 0], data[1:])

    def encoded(self, given: Input) -> bytes:
        """Return an input as bytes for a fuzzer."""
        return bytes([self.endings.index(given.ending)]) + given.content

    def failure(self, given: Input) -> Finding | None:
        """Read an input; return what is wrong with how it was handled."""
        path = self.path_of(given)
        path.write_bytes(given.content)
        began, size = time.process_time(), _peak()
        try:
            self.read(path)
        except InputError as error:
            said = str(error)
            try:
                said.encode()
            except UnicodeEncodeError:
                return Finding(given, "a message that is not valid text", ascii(said))
        except Exception as error:
            return Finding(given, _place(error), traceback.format_exc())
        if (seconds := time.process_time() - began) > SLOWEST:
            return Finding(given, "slow", f"it took {seconds:.1f} s")
        if (growth := _peak() - size) > LARGEST:
            return Finding(given, "large", f"the process grew by {growth / 2**20:,.0f} MiB")
        return None


def stop(sink: Sink) -> None:
    """Render what was reported, as a user would see it, and stop if any of it is an error."""
    render(sink.diagnostics).encode()
    sink.stop()


def _peak() -> int:
    """Return the largest size that the process has had, in bytes."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def _place(error: Exception) -> str:
    """Return the type of an exception and the last place in spnc that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if _PACKAGE in Path(f.filename).parents]
    last = (ours or frames)[-1]
    place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
    if isinstance(error, AssertionError):  # different causes fail at one place
        place += f": {_NUMBER.sub('0', str(error))[:_CLIPPED]}"
    return place
