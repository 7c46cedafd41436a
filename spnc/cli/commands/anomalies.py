"""`spnc anomalies`: which rows of a table are odd, and why."""

from __future__ import annotations

import argparse
from typing import Any

from spnc.cli.arguments import command
from spnc.cli.table_output import (
    add_table,
    opened_model,
    quiet,
    read_rows,
    whole,
    write_table,
)


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "anomalies",
        run,
        "score the rows of a table, and name the cells that make a row odd",
        examples=(
            "spnc anomalies runs/quickstart/model.spnc builtin:digits --top 5",
            "spnc anomalies runs/quickstart/model.spnc builtin:digits --top 100 -o odd.csv",
        ),
    )
    add_table(parser)
    parser.add_argument(
        "--top",
        type=whole(1),
        metavar="K",
        help="only the K oddest rows, the oddest first (default: all rows, in their order)",
    )
    parser.add_argument(
        "--samples",
        type=whole(1),
        default=10_000,
        metavar="N",
        help="rows drawn from the model that a row is compared with (default: 10000)",
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="S", help="of these rows")


def run(arguments: argparse.Namespace) -> int:
    """Write the table with a score, a p-value and the odd cells of each row."""
    from spnc.cli.output import complain
    from spnc.common.progress_display import observing
    from spnc.diagnostics import Sink, counted
    from spnc.tables.anomalies import ADDED, judge

    sink = Sink()
    model = sink.require(opened_model(arguments, sink))
    with observing(quiet(arguments)) as observer:
        rows = read_rows(arguments, model, ADDED, sink, observer)
        observer.stage("judging rows")
        found = judge(
            model,
            rows.table,
            rows.carried,
            top=arguments.top,
            samples=arguments.samples,
            seed=arguments.seed,
            progress=observer.progress,
        )
    complain(sink.diagnostics)
    facts = {
        "model": model.name,
        "rows": rows.table.rows,
        "impossible_rows": found.impossible_rows,
        "compared_with": found.compared,
    }
    where = "" if arguments.output in (None, "-") else f"; written to {arguments.output}"
    drawn = counted(found.compared, "drawn row")
    lines = [f"{counted(rows.table.rows, 'row')} compared with {drawn}{where}"]
    if found.impossible_rows:
        count = counted(found.impossible_rows, "row")
        lines.append(f"{count} impossible: probability zero in the model")
    write_table(arguments, found.table.data, facts, lines)
    return 0
