"""`spnc sample`: draw rows from a model."""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import io
import json
import sys
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_json, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "sample",
        run,
        "draw rows from a model, as CSV in the words of its table",
        examples=(
            "spnc sample runs/quickstart/model.spnc -n 5",
            "spnc sample runs/quickstart/model.spnc -n 1000 --seed 1 -o drawn.csv",
        ),
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "-n", "--rows", type=_whole, default=10, metavar="N", help="how many rows (default: 10)"
    )
    parser.add_argument(
        "--seed", type=_whole, default=0, metavar="S", help="which rows are drawn (default: 0)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")
    add_json(parser)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 0")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Write the rows as CSV, or as JSON with their column names."""
    from spnc.api import load
    from spnc.cli.output import say
    from spnc.common.atomic import write_text
    from spnc.common.wording import visible
    from spnc.diagnostics import counted, writing

    model = load(arguments.model)
    rows = model.sample(arguments.rows, arguments.seed)
    if arguments.json:
        found = {
            "ok": True,
            "model": model.name,
            "seed": arguments.seed,
            "columns": [column.name for column in model.columns],
            "rows": [[_plain(cell) for cell in row.values()] for row in rows],
        }
        text = json.dumps(found, indent=2) + "\n"
    else:
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows(rows.lines())
        text = lines.getvalue()
    if arguments.output is None:
        # A file gets labels as they are; on a terminal, hidden characters are made visible.
        sys.stdout.write(visible(text, keep="\n") if sys.stdout.isatty() else text)
    else:
        with writing(arguments.output):
            write_text(Path(arguments.output), text)
        say(f"{arguments.output}: {counted(len(rows), 'row')} drawn from {model.name}")
    return 0


def _plain(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, dt.date) else cell
