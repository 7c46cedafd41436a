"""`spnc explain`: the long text about the code of a diagnostic."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spnc.cli.arguments import add_json, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "explain",
        run,
        "explain a diagnostic, such as E204",
        examples=("spnc explain E204", "spnc explain"),
    )
    parser.add_argument("code", nargs="?", help="the code (default: list all codes)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation, or the list of codes."""
    from spnc.diagnostics import Sink, codes, explanation

    titles = {code: _title(explanation(code) or "") for code in codes()}
    if arguments.code is None:
        if arguments.json:
            print(json.dumps(titles, indent=2))
        else:
            print("\n".join(f"{code}  {title}" for code, title in titles.items()))
        return 0
    code = arguments.code.upper()
    sink = Sink()
    found = explanation(code) if code in titles else None
    if found is None:
        sink.error(
            "E119",
            f"there is no diagnostic `{arguments.code}`",
            help="`spnc explain` lists all of them",
        )
    text = sink.require(found)
    if arguments.json:
        print(json.dumps({"code": code, "title": titles[code], "text": text}, indent=2))
    else:
        print(f"{code}: {titles[code]}\n\n{_body(text)}")
    return 0


def _title(text: str) -> str:
    return text.split("\n", 1)[0].lstrip("# ").strip()


def _body(text: str) -> str:
    return text.split("\n", 1)[1].strip() if "\n" in text else ""
