"""The command line: arguments in, text out, exit codes.

It is the only room that prints, apart from the progress display (`common/progress_display.py`).
Exit codes: 0 success, 1 the input is wrong, 2 wrong usage, 70 a bug in spnc or in a plug-in,
130 interrupted.
`spnc` without a command, and `spnc data` or `spnc plot` without theirs, print help and succeed.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from spnc.cli.arguments import add_commands, check_command, parsed
from spnc.cli.output import complain
from spnc.diagnostics import Diagnostic, InputError

COMMANDS = (
    "check",
    "compile",
    "train",
    "evaluate",
    "query",
    "sample",
    "impute",
    "predict",
    "anomalies",
    "dependence",
    "inspect",
    "plot",
    "report",
    "explore",
    "format",
    "export",
    "data",
    "explain",
    "schema",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line. Building it imports nothing heavy."""
    top = argparse.ArgumentParser(
        prog="spnc",
        description="A compiler for tractable density models: specs in, trained forests out.",
        epilog="`spnc COMMAND --help` shows the options of a command, and examples.",
    )
    top.add_argument("--version", action="version", version=f"spnc {version('spnc-forest')}")
    top.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="import this Python file of plug-ins first, as for a model with leaves from it",
    )
    commands = add_commands(top, "COMMAND")
    for name in COMMANDS:
        importlib.import_module(f"spnc.cli.commands.{name}").add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: that of the process). Return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # `?` for what the terminal cannot show
    try:
        try:
            code = _run(sys.argv[1:] if argv is None else argv)
        finally:  # also if argparse exits after printing help
            if sys.stdout is not None:  # it was closed
                sys.stdout.flush()  # here a failure can still be handled
        return code
    except BrokenPipeError:  # the reader of our output is gone, which is not a mistake
        _discard_output()
        return 0
    except OSError as error:
        if not _is_of_output(error):
            raise
        _discard_output()
        reason = error.strerror or str(error)
        complain([Diagnostic("E120", f"cannot write to standard output: {reason}", "error")])
        return 1


def _run(words: Sequence[str]) -> int:
    """Run one command line. Return the exit code, or raise what standard output raises."""
    top = parser()
    check_command(top, words)
    arguments = parsed(top, words)
    try:
        return _run_with_plugins(arguments) if arguments.plugin else int(arguments.run(arguments))
    except InputError as error:
        complain(error.diagnostics)
        if getattr(arguments, "json", False):
            found = [d.as_json() for d in error.diagnostics]
            print(json.dumps({"ok": False, "diagnostics": found}, indent=2))
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and _is_of_output(error):
            raise
        traceback.print_exc()
        print(f"\n{_whose_bug(error)}", file=sys.stderr)
        return 70


def _is_of_output(error: OSError) -> bool:
    """Whether an error was raised by printing, for example because the device is full.

    Only this room prints, and it opens no files: those are read and written by others.
    """
    found = traceback.extract_tb(error.__traceback__)[-1].filename
    return error.filename is None and Path(found).is_relative_to(Path(__file__).parent)


def _discard_output() -> None:
    """Keep the interpreter from writing the rest of the output when it exits, and failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_with_plugins(arguments: argparse.Namespace) -> int:
    """Import the plug-in files that the command line names, then run the command."""
    from spnc.diagnostics import Sink, Source
    from spnc.registry.files import given_on_the_command_line, load_file
    from spnc.spec.override import COMMAND_LINE

    sink = Sink()
    for file in arguments.plugin:
        line = Source(COMMAND_LINE, f"--plugin {file}")
        load_file(Path(file), line.span_at(len("--plugin "), len(line.text)), sink)
    sink.stop()
    with given_on_the_command_line(arguments.plugin):
        return int(arguments.run(arguments))


def _whose_bug(error: Exception) -> str:
    """Say who should hear of an unexpected exception, below its traceback."""
    from spnc.registry.blame import plugin_at_fault

    plugin = plugin_at_fault(error)
    if plugin is not None:
        return (
            f"This is a bug in the {plugin.kind} `{plugin.name}` of {plugin.supplier}, a plug-in, "
            "not in spnc. Please report it to its authors with the text above."
        )
    return (
        f"This is a bug in spnc {version('spnc-forest')}, not in your input. Please report it with "
        "the text above and the files that led to it."
    )
