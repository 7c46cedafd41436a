"""`spnc inspect`: nodes, edges, layers, scopes and parameters of whatever is given."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spnc.cli.arguments import add_json, add_quiet, add_settings, command, settings_of


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "inspect", run, "show the structure of a spec, circuit or model")
    parser.add_argument("file", help="a spec (compiled first), a circuit or a model")
    add_settings(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the structure."""
    from spnc.api import read_thing
    from spnc.cli.output import complain, table
    from spnc.cli.progress import watching
    from spnc.diagnostics import Sink
    from spnc.inspection import inspect_program
    from spnc.lower import lower
    from spnc.model import Model
    from spnc.pipeline import compile_recipe
    from spnc.spec.recipe import Recipe

    sink = Sink()
    thing = read_thing(arguments.file, sink, settings_of(arguments))
    if isinstance(thing, Recipe):
        with watching(arguments.quiet) as watch:
            compiled = compile_recipe(thing, sink, watch)
        name, program = thing.model, compiled.program
    elif isinstance(thing, Model):
        name, program = thing.name, thing.program
    else:
        name, program = str(thing.graph.get("name", "circuit")), lower(thing)[0]
    found = inspect_program(program)
    complain(sink.diagnostics)
    if arguments.json:
        print(json.dumps({"ok": True, "name": name, **found}, indent=2))
        return 0
    print(table([name, ""], list(found["model"].items())))
    layers = [
        (str(r["layer"]), r["sums"], r["products"], r["leaves"], r["edges"])
        for r in found["layers"]
    ]
    print()
    print(table(["layer", "sums", "products", "leaves", "edges down"], layers))
    print()
    scopes = [(str(r["columns"]), r["sums"], r["products"], r["leaves"]) for r in found["scopes"]]
    print(table(["columns in scope", "sums", "products", "leaves"], scopes))
    return 0
