"""The fuzzing harnesses: each reads mutated inputs without a finding, and finds planted bugs."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from spnc.diagnostics import InputError
from tests.fuzz import __main__ as command_line
from tests.fuzz import checkpoints, harness, model_files
from tests.fuzz.fuzzing import READERS, Run, mutate, open_harness, plain_inputs
from tests.fuzz.harness import Finding, Harness, Input
from tests.fuzz.tensor_files import parts_of, resealed

INPUTS = {"checkpoint": 20, "csv": 100, "questions": 100}  # of slow readers; of others, 250


class Listed(Run):
    """A run of a number of inputs, which keeps its findings."""

    def __init__(self, inputs: int) -> None:
        super().__init__(seconds=0.0)
        self.inputs = inputs
        self.found: list[Finding] = []

    def is_over(self) -> bool:
        return self.tried >= self.inputs

    def keep(self, found: Finding) -> None:
        self.found.append(found)

    def finish(self) -> None:
        pass


@pytest.fixture(scope="module", params=READERS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    return open_harness(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.filterwarnings("ignore")
def test_mutated_inputs_are_accepted_or_refused(opened: Harness) -> None:
    run = Listed(INPUTS.get(opened.name, 250))
    mutate(opened, 0, run)
    assert [(found.place, found.report) for found in run.found] == []


def test_inputs_are_the_same_for_the_same_number(opened: Harness) -> None:
    first, again = (list(islice(plain_inputs(opened, 7), 50)) for _ in range(2))
    assert first == again
    assert list(islice(plain_inputs(opened, 8), 50)) != first
    assert all(opened.decoded(opened.encoded(given)) == given for given in first)


def test_some_inputs_are_accepted_and_some_refused(opened: Harness) -> None:
    """A reader that refuses everything, or nothing, would not be tested."""
    verdicts = set()
    for given in islice(plain_inputs(opened, 3), 60):
        path = opened.path_of(given)
        path.write_bytes(given.content)
        try:
            opened.read(path)
            verdicts.add("accepted")
        except InputError:
            verdicts.add("refused")
        except Exception:
            verdicts.add("failed")
        if verdicts >= {"accepted", "refused"}:
            return
    pytest.fail(f"only {verdicts}")


# What each reader calls deep inside: the module that calls it, and its name there.
INSIDE = {
    "yaml": ("spnc.spec.search_section", "bind"),
    "spn": ("spnc.graph.parsed_text", "assemble"),
    "questions": ("spnc.questions.binder", "columns_of"),
    "node-link": ("spnc.graph.interchange", "assemble"),
    "csv": ("spnc.data.load", "warn_of_columns"),
    "parquet": ("spnc.data.arrow_files", "header_of"),
    "npz": ("spnc.data.array_files", "number_columns"),
    "model": ("spnc.program.model_file", "program_problems"),
    "checkpoint": ("spnc.runs.folder", "read_state"),
    "set": ("spnc.spec.override", "_moved"),
}


class PlantedError(Exception):
    """An exception that no reader expects."""


def test_a_planted_bug_is_found(opened: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name = INSIDE[opened.name]
    inside: ModuleType = importlib.import_module(module)
    right = getattr(inside, name)
    calls = 0

    def wrong(*arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            raise PlantedError
        return right(*arguments, **options)

    monkeypatch.setattr(inside, name, wrong)
    run = Listed(40)
    mutate(opened, 0, run)
    assert any(found.place.startswith("PlantedError at ") for found in run.found)


class Broken(Harness):
    """A reader with a failure of every kind; the content says which."""

    name = "broken"
    endings = (".txt",)

    def seeds(self) -> list[Input]:
        return []

    def mutated(self, given: Input, random: Random) -> bytes:
        return given.content

    def read(self, path: Path) -> None:
        match path.read_bytes():
            case b"raise":
                raise KeyError("a")
            case b"wait":
                began = time.process_time()
                while time.process_time() < began + 0.02:
                    pass
            case b"words":
                error = InputError([])
                error.args = ("\ud800",)
                raise error


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"raise", "KeyError at test_harnesses.py"),
        (b"wait", "slow"),
        (b"words", "a message that is not valid text"),
        (b"", None),
    ],
)
def test_every_kind_of_failure_is_found(
    content: bytes, place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "SLOWEST", 0.01)
    found = Broken(tmp_path).failure(Input(".txt", content))
    assert (found is None) == (place is None)
    assert found is None or found.place.startswith(place or "")


def test_an_input_that_needs_much_memory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = iter([0, 3 << 30])
    monkeypatch.setattr(harness, "_peak", lambda: next(peaks))
    found = Broken(tmp_path).failure(Input(".txt", b""))
    assert found is not None
    assert found.place == "large"


@pytest.mark.parametrize("reader", ["model", "checkpoint"])
def test_files_put_together_again_are_accepted(reader: str, tmp_path: Path) -> None:
    """Otherwise the checksum would refuse every mutation, and nothing behind it be reached."""
    made: ModuleType = {"model": model_files, "checkpoint": checkpoints}[reader]
    opened = open_harness(reader, tmp_path)
    for given in opened.corpus:
        path = opened.path_of(given)
        parts = parts_of(given.content, made.FORMAT)
        path.write_bytes(given.content)
        try:
            opened.read(path)
        except InputError:
            continue
        assert parts is not None
        path.write_bytes(resealed(made.FORMAT, *parts))
        opened.read(path)


def test_the_command_prints_a_line_and_succeeds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--plain", "--seconds", "0.5"]
    command += ["--reader", "npz", "--out", str(tmp_path / "found")]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=True)
    first, line = done.stdout.splitlines()
    assert first == "inputs: random mutations of seeds; 0.5 s each"
    assert re.fullmatch(r"npz +[1-9][\d,]* inputs +[\d,]+/s  no findings", line)
    assert not (tmp_path / "found").exists()


def test_a_process_that_dies_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    options = ["--plain", "--seconds", "1", "--reader", "npz", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["tests.fuzz", *options])
    assert command_line.main() == 1
    assert "1 finding in" in capsys.readouterr().out
    (report,) = tmp_path.glob("*.report.txt")
    assert report.read_text().startswith("ended by 1\n")
