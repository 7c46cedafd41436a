"""`spnc impute`: fill the missing cells of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import command
from spnc.cli.table_output import (
    add_table,
    opened_model,
    quiet,
    read_rows,
    share,
    whole,
    write_table,
)

if TYPE_CHECKING:
    from spnc.tables.impute import Filled

METHODS = ("mean", "most-probable", "draw", "most-probable-row")


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "impute",
        run,
        "fill the missing cells of a table",
        examples=(
            "spnc impute runs/quickstart/model.spnc builtin:digits -o filled.csv",
            "spnc impute runs/quickstart/model.spnc builtin:digits --method draw --draws 5",
        ),
    )
    add_table(parser)
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="mean",
        help="mean of numbers and most probable label (default), the most probable value of each "
        "cell, a draw of all missing cells of a row, or their most probable values together",
    )
    parser.add_argument(
        "--draws",
        type=whole(1),
        metavar="M",
        help="with --method draw: write M tables below one another, numbered in a column .draw",
    )
    parser.add_argument(
        "--threshold",
        type=share,
        default=0.0,
        metavar="P",
        help="leave cells empty whose value has a lower probability than this; for numbers, that "
        "of lying within half a standard deviation of the column",
    )
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="add columns with the probability of each filled value, and the standard deviation "
        "of numbers",
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="S", help="of draws")


def run(arguments: argparse.Namespace) -> int:
    """Write the filled table, and print how many cells were filled in each column."""
    from spnc.cli.output import complain, say
    from spnc.common.progress_display import observing
    from spnc.diagnostics import Sink
    from spnc.tables.impute import added_names, fill

    if arguments.draws is not None and arguments.method != "draw":
        say("spnc impute: --draws needs --method draw", aside=True)
        return 2
    sink = Sink()
    model = sink.require(opened_model(arguments, sink))
    new = added_names(model.columns, arguments.probabilities, arguments.draws)
    with observing(quiet(arguments)) as observer:
        rows = read_rows(arguments, model, new, sink, observer)
        observer.stage("filling cells")
        found = fill(
            model,
            rows.table,
            rows.carried,
            method=arguments.method,
            threshold=arguments.threshold,
            probabilities=arguments.probabilities,
            draws=arguments.draws,
            seed=arguments.seed,
            texts=rows.texts,
            progress=observer.progress,
        )
    complain(sink.diagnostics)
    facts = {
        "model": model.name,
        "method": arguments.method,
        "rows": rows.table.rows,
        "draws": arguments.draws,
        "filled": found.filled,
        "left": found.left,
        "impossible_rows": found.impossible_rows,
        "searched_rows": found.searched_rows,
    }
    write_table(arguments, found.table.data, facts, _lines(arguments, found))
    return 0


def _lines(arguments: argparse.Namespace, found: Filled) -> list[str]:
    """Return what was filled, for people."""
    from spnc.cli.output import table
    from spnc.diagnostics import counted

    if not found.filled:
        return ["no cell of the model's columns is missing"]
    rows = [(name, count, found.left[name]) for name, count in found.filled.items()]
    lines = [table(["column", "filled", "left empty"], rows)]
    total = counted(sum(found.filled.values()), "cell")
    where = "" if arguments.output in (None, "-") else f"; written to {arguments.output}"
    lines.append(f"\n{total} filled by {arguments.method}{where}")
    if found.impossible_rows:
        count = counted(found.impossible_rows, "row")
        lines.append(f"{count} not filled: their known cells have probability zero in the model")
    if found.searched_rows:
        count = counted(found.searched_rows, "row")
        lines.append(f"{count} filled by a search that does not prove its result to be the best")
    return lines
