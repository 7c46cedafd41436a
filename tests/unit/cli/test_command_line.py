"""The command line as such: help, examples, unknown commands, bugs of ours, old terminals."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spnc.cli import COMMANDS, main, parser
from spnc.cli.arguments import commands_of
from tests.places import ROOT


def declared(
    top: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser, those of commands like `data` as well."""
    for name, found in commands_of(top).items():
        yield " ".join([*words, name]), found
        yield from declared(found, (*words, name))


DECLARED = dict(declared(parser()))


def usage_error(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command line that cannot be parsed prints on the error stream."""
    with pytest.raises(SystemExit) as end:
        main(line)
    assert end.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize("line", [[], ["data"], ["plot"]], ids=str)
def test_without_a_command_the_help_is_shown(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith(" ".join(["usage: spnc", *line]))
    assert "COMMAND ..." in said.out or "PICTURE ..." in said.out


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (["tarin", "spec.yaml"], "there is no command `tarin`; did you mean `train`?"),
        (["evaluate"], "there is no command `evaluate`; did you mean `eval`?"),
        (["data", "lits"], "there is no command `lits`; did you mean `list`?"),
        (["xyz"], "there is no command `xyz`; known here: anomalies, check, compile, data"),
    ],
)
def test_an_unknown_command_suggests_the_nearest_or_lists_all(
    line: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hint in usage_error(line, capsys)


def test_options_before_a_command_are_left_to_argparse(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unrecognized arguments: --tarin" in usage_error(["--tarin", "schema"], capsys)


@pytest.mark.parametrize("name", DECLARED)
def test_the_help_of_a_command_ends_with_two_examples_that_parse(name: str) -> None:
    examples = DECLARED[name].get_default("examples")
    assert len(set(examples)) == 2
    shown = DECLARED[name].format_help().rstrip().splitlines()[-3:]
    assert shown == ["examples:", *(f"  {line}" for line in examples)]
    for line in examples:
        program, *words = shlex.split(line)
        assert program == "spnc"
        top = parser()
        assert callable(top.parse_args(words).run)
        assert words[0] == name.split()[0]
        if not commands_of(DECLARED[name]):
            assert " ".join(words).startswith(name)


def test_every_command_file_declares_a_command() -> None:
    folder = ROOT / "spnc/cli/commands"
    assert sorted(COMMANDS) == sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")
    assert len([name for name in DECLARED if " " not in name]) == len(COMMANDS)


# What a test leaves out: a network, and a minute.
NOT_RUN = ("spnc data fetch", "spnc data show debd:", "spnc train --auto")


def test_the_examples_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder with the specs of the project, after the training that the others refer to."""
    monkeypatch.chdir(tmp_path)
    Path("specs").symlink_to(ROOT / "specs", target_is_directory=True)
    lines = {line for found in DECLARED.values() for line in found.get_default("examples")}
    train = "spnc train specs/quickstart.yaml"
    assert train in lines
    short = "--set optimizer.max_iterations=2 --backend numpy"
    for line in [f"{train} {short}", *sorted(lines - {train})]:
        if not line.startswith(NOT_RUN):
            assert main(shlex.split(line)[1:]) == 0, line
            assert capsys.readouterr().out != "", line


def test_a_bug_of_ours_exits_with_70_and_says_how_to_report_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spnc.diagnostics.codes", lambda: 1 / 0)
    assert main(["explain"]) == 70
    assert "bug in spnc" in capsys.readouterr().err


def test_an_old_terminal_shows_question_marks_and_no_traceback() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    env["PYTHONPATH"] = str(ROOT)
    line = [sys.executable, "-m", "spnc", "data", "list"]
    done = subprocess.run(line, env=env, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"??????" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "line", [["schema"], ["check", "specs/tiny.yaml"], ["check", "none.yaml", "--json"]]
)
def test_a_full_device_is_not_a_bug(line: list[str]) -> None:
    command = [sys.executable, "-m", "spnc", *line]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert "error[E120]: cannot write to standard output: No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_not_an_error() -> None:
    command = [sys.executable, "-m", "spnc", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0
