"""Declaring commands, and the arguments that several commands share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from spnc.backends import Backend
    from spnc.diagnostics import Sink

Run = Callable[[argparse.Namespace], int]


def command(
    subparsers: Any, name: str, run: Run | None, help: str, *, examples: Sequence[str]
) -> argparse.ArgumentParser:
    """Declare a command.

    `help` is its line in the overview and the first line of its own help, which ends with the
    `examples`: complete command lines that run in a checkout of the project. `run` is None for a
    command that has commands of its own (`add_commands`).
    """
    made: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=help,
        epilog="\n".join(["examples:", *(f"  {line}" for line in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,  # keeps the examples on their lines
    )
    made.set_defaults(run=run, examples=tuple(examples))
    return made


def add_commands(parser: argparse.ArgumentParser, metavar: str) -> Any:
    """Let a parser have commands. Without one of them, it prints its help and succeeds."""

    def show_help(arguments: argparse.Namespace) -> int:
        del arguments
        parser.print_help()
        return 0

    subparsers = parser.add_subparsers(title=f"{metavar.lower()}s", metavar=metavar)
    parser.set_defaults(run=show_help, commands=subparsers.choices)
    return subparsers


def commands_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the commands that were added to a parser by `add_commands`, by name."""
    found: Mapping[str, argparse.ArgumentParser] = parser.get_default("commands") or {}
    return found


def check_command(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """End with a usage error (exit code 2) if the words begin with an unknown command.

    argparse would list all commands; the error here suggests the nearest.
    """
    from spnc.common.wording import visible
    from spnc.diagnostics import did_you_mean

    commands = commands_of(parser)
    while commands and words and words[0].startswith("--plugin"):
        words = words[1 if "=" in words[0] else 2 :]
    if not commands or not words or words[0].startswith("-"):
        return
    if words[0] not in commands:
        hint = did_you_mean(words[0], commands)
        parser.error(f"there is no command `{visible(words[0])}`; {hint}")
    if any(word.split("=")[0] == "--plugin" for word in words[1:]):
        parser.error(f"--plugin goes before the command: spnc --plugin FILE {words[0]} …")
    check_command(commands[words[0]], words[1:])


def parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of a command line; questions may also stand after options.

    argparse gives a list of positional arguments only what stands before the first option.
    """
    found, rest = parser.parse_known_args(words)
    if rest and (not hasattr(found, "questions") or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        found.questions += rest
    return found


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`: facts for programs instead of text for people."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """`--quiet`: no progress display."""
    parser.add_argument("--quiet", action="store_true", help="do not display progress")


def add_settings(parser: argparse.ArgumentParser, *, computing: bool = True) -> None:
    """`--set`, `--seed` and, for commands that compute, `--backend`: they override the spec."""
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


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """`--jobs`: for commands that learn."""
    parser.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="compute this many components or tries at a time, with the same result; -1: one per "
        "core (default: 1)",
    )


def _jobs(text: str) -> int:
    """Parse a number of jobs."""
    if not re.fullmatch(r"-?[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text} is neither a number of jobs nor -1")
    return int(text)


def add_image(parser: argparse.ArgumentParser) -> None:
    """`--image`: the shape of rows that are pictures."""
    parser.add_argument(
        "--image",
        type=_image,
        metavar="LINESxCOLUMNS",
        help="show rows as pictures of this shape, or `none` (default: decided by column names)",
    )


def _image(text: str) -> tuple[int, int] | Literal["none"]:
    """Parse a shape such as 8x8, or `none`."""
    if text == "none":
        return "none"
    found = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is neither a shape such as 28x28 nor `none`")
    return int(found[1]), int(found[2])


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
    """Return all overrides of a command line in the form `PATH=VALUE`."""
    found = list(arguments.set)
    for name in short:
        value = getattr(arguments, name)
        if value is not None:
            found.append(f"{name}={value}")
    return found


def add_rows(parser: argparse.ArgumentParser, which: str) -> None:
    """DATA, `--split` and `--backend`: for commands that evaluate a model on rows."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a file, a folder or a name with * for several, builtin:NAME or debd:NAME",
    )
    parser.add_argument("--split", metavar="NAME", help=which)
    parser.add_argument(
        "--backend", metavar="NAME", default="auto", help="the backend (default: auto)"
    )


def backend_of(arguments: argparse.Namespace, sink: Sink) -> Backend | None:
    """Return the backend named by `--backend`; None after reporting an unknown name."""
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
    """Report a `--split` that the data does not have."""
    from spnc.diagnostics import did_you_mean

    name = arguments.split
    if name is not None and name not in known:
        hint = did_you_mean(name, known)
        sink.error("E318", f"`{arguments.data}` has no split `{name}`", help=hint)
