"""`spnc check`: is this a valid spec, circuit or model?"""

from __future__ import annotations

import argparse
import json
from typing import Any

from spnc.cli.arguments import add_json, add_plugins, add_settings, command, settings_of


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "check",
        run,
        "validate a spec, a circuit or a model",
        examples=("spnc check specs/quickstart.yaml", "spnc check runs/quickstart/model.spnc"),
    )
    parser.add_argument("file", help=".yaml or .spn spec, .spn or .json circuit, .spnc model")
    add_settings(parser)
    add_plugins(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Report every problem; say what was found to be fine."""
    from spnc.api import check_thing
    from spnc.cli.output import complain, say
    from spnc.diagnostics import Sink, counted
    from spnc.model import Model
    from spnc.spec.recipe import Recipe

    sink = Sink()
    thing, notes = check_thing(
        arguments.file, sink, settings_of(arguments), allow_plugins=arguments.allow_plugins
    )
    if isinstance(thing, Recipe):
        what = "a valid spec"
    elif isinstance(thing, Model):
        what = f"a valid model of {counted(thing.program.edges, 'edge')}"
    else:
        edges = counted(thing.number_of_edges(), "edge")
        what = f"a valid circuit of {counted(len(thing), 'node')} and {edges}"
    if arguments.json:
        found = [d.as_json() for d in sink.diagnostics]
        print(json.dumps({"ok": True, "diagnostics": found}, indent=2))
    else:
        complain(sink.diagnostics)
        say(f"{arguments.file}: {what}")
        for note in notes:
            say(f"  {note}")
    return 0
