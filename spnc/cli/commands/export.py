"""`spnc export`: write a circuit for other programs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_json, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "export",
        run,
        "write a model or a circuit as a picture, a graph or an ONNX file",
        examples=(
            "spnc export specs/circuits/asia.spn -o asia.svg",
            "spnc export runs/quickstart/model.spnc -o quickstart.dot --depth 1",
        ),
    )
    parser.add_argument("file", metavar="MODEL", help="a model (.spnc) or a circuit")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file (default: standard output, with --format)",
    )
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="dot, svg, graphml, json, spn or onnx (default: the suffix of FILE)",
    )
    parser.add_argument(
        "--depth", type=_depth, metavar="N", help="dot, svg: draw this many layers below the root"
    )
    parser.add_argument(
        "--force", action="store_true", help="dot, svg: draw also what is too large to be read"
    )
    add_json(parser)


def _depth(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Write the file; say what it holds."""
    from spnc.api import read_thing
    from spnc.cli.output import complain, say
    from spnc.common.atomic import write_bytes
    from spnc.diagnostics import Sink, counted, writing
    from spnc.exports.formats import Request, exported, find_format
    from spnc.model import Model
    from spnc.spec.recipe import Recipe

    path = None if arguments.output is None else Path(arguments.output)
    if path is None and (arguments.format is None or arguments.json):
        say("spnc export: -o FILE says where to write; --format NAME prints a text", aside=True)
        return 2
    sink = Sink()
    format = find_format(arguments.format, path, sink)
    drawn = arguments.depth is not None or arguments.force
    if format is not None and drawn and not format.is_drawing:
        say(f"spnc export: --depth and --force are for drawings, not {format.name}", aside=True)
        return 2
    if format is not None and path is None and not format.is_text:
        say(f"spnc export: {format.name} is not a text; name a file with -o", aside=True)
        return 2
    thing = read_thing(arguments.file, sink)
    if isinstance(thing, Recipe):
        sink.error(
            "E116",
            f"`{arguments.file}` is a spec; only models and circuits can be exported",
            where=arguments.file,
            help="train it, and export model.spnc of its run folder",
        )
    format = sink.require(format)
    assert not isinstance(thing, Recipe)
    graph = thing.graph() if isinstance(thing, Model) else thing
    name = str(graph.graph.get("name", "circuit"))
    name = thing.name if isinstance(thing, Model) else Path(name).stem
    request = Request(graph=graph, name=name, depth=arguments.depth, force=arguments.force)
    content = exported(request, format, sink)
    complain(sink.diagnostics)
    if path is None:
        sys.stdout.write(content.decode())
        return 0
    with writing(path):
        write_bytes(path, content)
    nodes, edges = graph.number_of_nodes(), graph.number_of_edges()
    if arguments.json:
        about = {"file": str(path), "format": format.name, "bytes": len(content)}
        diagnostics = [d.as_json() for d in sink.diagnostics]
        facts = {"ok": True, **about, "nodes": nodes, "edges": edges, "diagnostics": diagnostics}
        print(json.dumps(facts, indent=2))
        return 0
    size = f"{counted(nodes, 'node')}, {counted(edges, 'edge')}"
    say(f"{format.about}: {size}; {len(content) / 1000:,.1f} kB; written to {path}")
    return 0
