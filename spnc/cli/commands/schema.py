"""`spnc schema`: the JSON Schema of the YAML form, or the spec reference in Markdown."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spnc.cli.arguments import command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "schema", run, "JSON Schema of the YAML form, for editors")
    parser.add_argument(
        "--markdown", action="store_true", help="the spec reference of the docs instead"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    from spnc.spec.reference import reference
    from spnc.spec.schema import schema

    print(reference() if arguments.markdown else json.dumps(schema(), indent=2))
    return 0
