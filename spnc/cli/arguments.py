"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spnc.backends import Backend
    from spnc.diagnostics import Sink

Run = Callable[[argparse.Namespace], int]


def command(subparsers: Any, name: str, run: Run, help: str) -> argparse.ArgumentParser:
    """A new command; `help` is its line in the overview and the head of its own help."""
    made: argparse.ArgumentParser = subparsers.add_parser(name, help=help, description=help)
    made.set_defaults(run=run)
    return made


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`: facts for programs in place of text for people."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """`--quiet`: no progress display."""
    parser.add_argument("--quiet", action="store_true", help="no progress display")


def add_settings(parser: argparse.ArgumentParser, *, computing: bool = True) -> None:
    """`--set`, `--seed` and, if something is computed, `--backend`: laid over the spec's values."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="override a value, for example optimizer.max_iterations=50 or forest.0.beta=0.5",
    )
    parser.add_argument("--seed", metavar="N", help="short for --set seed=N")
    if computing:
        parser.add_argument("--backend", metavar="NAME", help="short for --set backend=NAME")


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """`--allow-plugins`: for commands that read specs."""
    parser.add_argument(
        "--allow-plugins",
        action="store_true",
        help="import the Python files that the spec names under `plugins`",
    )


def settings_of(
    arguments: argparse.Namespace, short: Sequence[str] = ("seed", "backend")
) -> list[str]:
    """The overrides that a command line asks for, in one form."""
    found = list(arguments.set)
    for name in short:
        value = getattr(arguments, name)
        if value is not None:
            found.append(f"{name}={value}")
    return found


def add_rows(parser: argparse.ArgumentParser, which: str) -> None:
    """DATA, `--split` and `--backend`: for commands that ask a model about rows."""
    parser.add_argument("data", metavar="DATA", help="a file, builtin:NAME or debd:NAME")
    parser.add_argument("--split", metavar="NAME", help=which)
    parser.add_argument("--backend", metavar="NAME", default="auto", help="what computes")


def backend_of(arguments: argparse.Namespace, sink: Sink) -> Backend | None:
    """The backend that `add_rows` let the user name, or None after reporting that it is none."""
    from spnc.diagnostics import did_you_mean
    from spnc.registry import BACKENDS

    name = arguments.backend
    if name not in BACKENDS:
        hint = did_you_mean(name, BACKENDS)
        sink.error("E109", f"no backend is named `{name}`", help=hint)
        return None
    found: Backend = BACKENDS[name]()
    return found


def check_split(arguments: argparse.Namespace, known: Collection[str], sink: Sink) -> None:
    """Report a split that the data does not have."""
    from spnc.diagnostics import did_you_mean

    name = arguments.split
    if name is not None and name not in known:
        hint = did_you_mean(name, known)
        sink.error("E318", f"`{arguments.data}` has no split `{name}`", help=hint)
