"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

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


def add_settings(parser: argparse.ArgumentParser) -> None:
    """`--set`, `--seed` and `--backend`: values laid over the spec's."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="override a value, for example optimizer.max_iterations=50 or forest.0.beta=0.5",
    )
    parser.add_argument("--seed", metavar="N", help="short for --set seed=N")
    parser.add_argument("--backend", metavar="NAME", help="short for --set backend=NAME")


def settings_of(arguments: argparse.Namespace) -> list[str]:
    """The overrides that a command line asks for, in one form."""
    found = list(arguments.set)
    for name in ("seed", "backend"):
        value = getattr(arguments, name)
        if value is not None:
            found.append(f"{name}={value}")
    return found
