"""`spnc explore`: write one HTML page with a model inside that answers questions."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_image, add_json, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "explore",
        run,
        "write one HTML page in which a model answers questions",
        examples=(
            "spnc explore runs/quickstart/model.spnc",
            "spnc explore runs/quickstart/model.spnc -o digits.html",
        ),
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="an .html file (default: explore.html beside MODEL)"
    )
    add_image(parser)
    parser.add_argument(
        "--max-edges",
        type=_count,
        metavar="N",
        help="the largest circuit that a page may hold (default: 400,000 edges)",
    )
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    add_json(parser)


def _count(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text} is not a number of edges")
    return int(digits)


def run(arguments: argparse.Namespace) -> int:
    """Write the page, and open it if asked to."""
    from spnc.cli.output import say
    from spnc.model import load

    model = load(arguments.model)
    path = arguments.output or Path(arguments.model).with_name("explore.html")
    limit = {} if arguments.max_edges is None else {"max_edges": arguments.max_edges}
    written = model.explore(path, image=arguments.image, **limit)
    size = written.stat().st_size
    if arguments.json:
        facts = model.program.facts()
        about = {"page": str(written), "bytes": size, "model": model.name, "edges": facts["edges"]}
        print(json.dumps({"ok": True, **about}, indent=2))
    else:
        say(f"{size / 1000:,.0f} kB; written to {written}")
    if arguments.open:
        import webbrowser

        webbrowser.open(written.resolve().as_uri())
    return 0
