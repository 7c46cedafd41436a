"""`spnc schema`: the JSON Schema of YAML specs, or the spec reference in Markdown."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spnc.cli.arguments import command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "schema",
        run,
        "print the JSON Schema of YAML specs, for editors",
        examples=("spnc schema", "spnc schema --markdown"),
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print the spec reference of the docs instead"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the schema or the reference."""
    from spnc.spec.reference import reference
    from spnc.spec.schema import schema

    print(reference() if arguments.markdown else json.dumps(schema(), indent=2))
    return 0
