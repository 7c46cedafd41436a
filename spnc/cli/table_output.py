"""What commands that work on tables share: arguments, reading and writing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_quiet, add_rows, backend_of

if TYPE_CHECKING:
    from spnc.common.observer import Observer
    from spnc.diagnostics import Sink
    from spnc.model import Model
    from spnc.tables.source_rows import SourceRows

STANDARD_OUTPUT = "-"


def add_table(parser: argparse.ArgumentParser) -> None:
    """MODEL, DATA, `--split`, `--backend`, `-o`, `--json` and `--quiet`."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    add_rows(parser, "this split of the data")
    add_output(parser)
    add_json(parser)
    add_quiet(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """`-o`: the file that a table is written to."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the table to this .csv, .tsv, .parquet or .arrow file (default: as CSV to "
        "standard output)",
    )


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are at least this large, for argparse."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least {least}")
        return int(text)

    return read


def share(text: str) -> float:
    """Return a number from 0 to 1, for argparse."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 1")
    return found


def column_names(text: str | None, known: Sequence[str]) -> list[str]:
    """Return the names in `--columns A,B`, or all; a name with a comma may be given alone."""
    if text is None:
        return list(known)
    return [text] if text in known else [name.strip() for name in text.split(",")]


def to_standard_output(arguments: argparse.Namespace) -> bool:
    """Whether the table goes to standard output."""
    return arguments.output in (None, STANDARD_OUTPUT)


def opened_model(arguments: argparse.Namespace, sink: Sink) -> Model | None:
    """Return the model on its backend; report what is wrong with either, and with the output."""
    from spnc.model import read_model
    from spnc.tables.table_files import check_form

    check_form(arguments.output, sink)
    model = read_model(Path(arguments.model), sink)
    backend = backend_of(arguments, sink)
    if model is not None and backend is not None:
        model.backend = backend
    return model


def read_rows(
    arguments: argparse.Namespace,
    model: Model,
    new: Sequence[str],
    sink: Sink,
    observer: Observer,
) -> SourceRows:
    """Return the rows of DATA; stop after reporting all problems."""
    from spnc.tables.source_rows import is_typed
    from spnc.tables.source_rows import read_rows as read

    observer.stage("reading data")
    sink.add(model.backend.prepare(model.program, observer.progress))
    found = read(
        arguments.data,
        sink,
        columns=model.columns,
        rules=model.rules,
        new=new,
        split=arguments.split,
        typed=is_typed(arguments.output),
        progress=observer.progress,
    )
    return sink.require(found)


def quiet(arguments: argparse.Namespace) -> bool:
    """Whether progress is not displayed: also where it would be drawn over the table."""
    over = to_standard_output(arguments) and sys.stdout is not None and sys.stdout.isatty()
    return bool(arguments.quiet or over)


def write_table(
    arguments: argparse.Namespace, table: Any, facts: dict[str, Any], lines: Sequence[str]
) -> None:
    """Write an Arrow table, and print facts about it: as JSON, or as lines for people.

    With `--json` and without `-o`, the rows are part of the JSON. Lines go to standard error if
    the table goes to standard output.
    """
    from spnc.cli.output import say
    from spnc.common.atomic import write_bytes
    from spnc.common.wording import visible
    from spnc.diagnostics import writing
    from spnc.tables.table_files import csv_text, json_rows, table_bytes

    direct = to_standard_output(arguments)
    if not direct:
        output = Path(arguments.output)
        with writing(output):
            write_bytes(output, table_bytes(table, output.suffix.lower()))
    if arguments.json:
        rows = {"columns": table.column_names, "rows": json_rows(table)} if direct else {}
        written = {} if direct else {"output": arguments.output}
        print(json.dumps({"ok": True, **facts, **written, **rows}, indent=2))
        return
    if direct and sys.stdout is not None:
        text = csv_text(table)
        # A file gets labels as they are; on a terminal, hidden characters are made visible.
        sys.stdout.write(visible(text, keep="\n") if sys.stdout.isatty() else text)
        sys.stdout.flush()
    for line in lines:
        say(line, aside=direct)
