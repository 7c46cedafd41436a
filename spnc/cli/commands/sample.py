"""`spnc sample`: draw rows from a model."""

from __future__ import annotations

import argparse
from typing import Any

from spnc.cli.arguments import add_json, command
from spnc.cli.table_output import add_output, column_names, whole, write_table


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "sample",
        run,
        "draw rows from a model, in the words of its table",
        examples=(
            "spnc sample runs/quickstart/model.spnc -n 5",
            'spnc sample runs/quickstart/model.spnc -n 1000 --given "pixel_0_3 = 1" -o drawn.csv',
        ),
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "-n", "--rows", type=whole(0), default=10, metavar="N", help="how many rows (default: 10)"
    )
    parser.add_argument(
        "--seed", type=whole(0), default=0, metavar="S", help="which rows are drawn (default: 0)"
    )
    parser.add_argument(
        "--columns", metavar="A,B,…", help="only these columns, separated by commas"
    )
    parser.add_argument(
        "--given",
        metavar="EVENT",
        help='only rows for which this is true, for example "age > 40, sex = F"',
    )
    add_output(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the rows as a table, or as JSON with their column names."""
    from pathlib import Path

    import pyarrow as pa

    from spnc.diagnostics import Sink, counted
    from spnc.model import read_model
    from spnc.queries.arguments import column_places
    from spnc.tables.source_rows import is_typed
    from spnc.tables.table_files import arrow_column, check_form

    sink = Sink()
    check_form(arguments.output, sink)
    found = read_model(Path(arguments.model), sink)
    names: list[str] = []
    if found is not None:
        names = column_names(arguments.columns, [column.name for column in found.columns])
        column_places(found.columns, names, sink)
    model = sink.require(found)
    rows = model.sample(arguments.rows, arguments.seed, given=arguments.given, columns=names)
    if is_typed(arguments.output) or arguments.json:
        table = pa.table({name: arrow_column(cells) for name, cells in rows.to_dict().items()})
    else:
        head, *lines = rows.lines()
        cells = zip(*lines, strict=True) if lines else ((),) * len(head)
        table = pa.table(
            [pa.array(list(own), pa.string()) for own in cells],
            names=head,
        )
    where = "" if arguments.output in (None, "-") else f"{arguments.output}: "
    lines_after = [f"{where}{counted(len(rows), 'row')} drawn from {model.name}"] if where else []
    facts = {"model": model.name, "seed": arguments.seed}
    write_table(arguments, table, facts, lines_after)
    return 0
