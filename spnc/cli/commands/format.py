"""`spnc format`: convert specs and circuits to another notation, or lay them out anew."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_plugins, command

if TYPE_CHECKING:
    from spnc.diagnostics import Sink


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "format",
        run,
        "convert a spec or a circuit to another notation",
        examples=(
            "spnc format specs/quickstart.yaml --to dsl",
            "spnc format specs/quickstart.yaml --full",
        ),
    )
    parser.add_argument("file", help="a spec or a circuit")
    parser.add_argument(
        "--to",
        choices=["yaml", "dsl", "json"],
        help="specs: yaml or dsl; circuits: dsl or json (default: the notation of the file)",
    )
    parser.add_argument("--full", action="store_true", help="write out every default")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write to this file (default: standard output)"
    )
    add_plugins(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file in the chosen notation."""
    import json
    from dataclasses import replace

    from spnc.api import read_thing
    from spnc.cli.output import complain
    from spnc.common.atomic import write_text
    from spnc.diagnostics import Sink, writing
    from spnc.graph.interchange import to_node_link
    from spnc.graph.text import write_circuit_text
    from spnc.model import Model
    from spnc.spec.locked import NO_DIGEST
    from spnc.spec.recipe import Recipe
    from spnc.spec.write_dsl import write_dsl
    from spnc.spec.write_yaml import write_yaml

    sink = Sink()
    thing = read_thing(arguments.file, sink, allow_plugins=arguments.allow_plugins)
    suffix = Path(arguments.file).suffix.lower()
    own = {".spn": "dsl", ".json": "json"}.get(suffix, "yaml")
    to = arguments.to or own
    text = None
    if isinstance(thing, Recipe):
        if thing.lock is not None:  # the digest is of the file as it was
            thing = replace(thing, lock=replace(thing.lock, spec=NO_DIGEST))
        if to != "json":
            text = (write_yaml if to == "yaml" else write_dsl)(thing, full=arguments.full)
    elif not isinstance(thing, Model) and to != "yaml":
        name = Path(str(thing.graph.get("name", "circuit"))).stem
        if to == "dsl":
            text = write_circuit_text(thing, name)
        else:
            text = json.dumps(to_node_link(thing), indent=1) + "\n"
    if text is None:
        sink.error(
            "E118",
            f"`{arguments.file}` has no form `{to}`",
            where=arguments.file,
            help="specs are written as yaml or dsl, circuits as dsl or json",
        )
    text = sink.require(text)
    if not isinstance(thing, Recipe):
        _check_comments(arguments, sink)
        sink.stop()
    complain(sink.diagnostics)
    if arguments.output is not None:
        with writing(arguments.output):
            write_text(Path(arguments.output), text)
    else:
        print(text, end="")
    return 0


def _check_comments(arguments: argparse.Namespace, sink: Sink) -> None:
    """Warn that a circuit's comments are not kept, and refuse to overwrite them."""
    from spnc.spec.comments import dsl_comments

    source = Path(arguments.file)
    if source.suffix.lower() != ".spn" or not any(dsl_comments(source.read_text("utf-8"))):
        return
    if arguments.output is not None and Path(arguments.output).resolve() == source.resolve():
        sink.error(
            "E121",
            f"formatting would lose the comments of `{source}`",
            where=str(source),
            help="write to another file with -o",
        )
    else:
        sink.warning("W101", f"the comments of `{source}` are not in the result", where=str(source))
