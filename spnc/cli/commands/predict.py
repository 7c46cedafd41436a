"""`spnc predict`: predict a column from the other cells of each row."""

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
    write_table,
)

if TYPE_CHECKING:
    from spnc.tables.predict import Predicted


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "predict",
        run,
        "predict a column of a table: probabilities of labels, mean and interval of numbers",
        examples=(
            "spnc predict runs/quickstart/model.spnc builtin:digits --target pixel_3_3 -o out.csv",
            "spnc predict runs/quickstart/model.spnc builtin:digits --target pixel_0_3",
        ),
    )
    add_table(parser)
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        required=True,
        help="the column to predict; its own cells, if the table has it, are only compared with",
    )
    parser.add_argument(
        "--interval",
        type=_inside,
        default=0.9,
        metavar="P",
        help="the probability of the interval of a number (default: 0.9)",
    )


def _inside(text: str) -> float:
    found = share(text)
    if not 0.0 < found < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not a number between 0 and 1")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Write the table with predictions, and print how good they are where the truth is known."""
    from spnc.cli.output import complain
    from spnc.common.progress_display import observing
    from spnc.diagnostics import Sink
    from spnc.queries.arguments import column_places
    from spnc.tables.predict import added_names, predict

    sink = Sink()
    found_model = opened_model(arguments, sink)
    known = () if found_model is None else found_model.columns
    places = column_places(known, [arguments.target], sink) if known else []
    model = sink.require(found_model)
    target = model.columns[places[0]]
    with observing(quiet(arguments)) as observer:
        rows = read_rows(arguments, model, added_names(target), sink, observer)
        observer.stage("predicting")
        found = predict(
            model,
            rows.table,
            rows.carried,
            places[0],
            interval=arguments.interval,
            texts=rows.texts,
            progress=observer.progress,
        )
    complain(sink.diagnostics)
    facts = {
        "model": model.name,
        "target": arguments.target,
        "rows": rows.table.rows,
        "impossible_rows": found.impossible_rows,
        "scores": {n: _finite(s) for n, s in found.scores.items()} or None,
    }
    write_table(arguments, found.table.data, facts, _lines(arguments, rows.table.rows, found))
    return 0


def _finite(number: float) -> float | None:
    return number if abs(number) < float("inf") else None


def _lines(arguments: argparse.Namespace, rows: int, found: Predicted) -> list[str]:
    """Return how good the prediction is, for people."""
    from spnc.diagnostics import counted

    where = "" if arguments.output in (None, "-") else f"; written to {arguments.output}"
    lines = [f"{arguments.target} predicted in {counted(rows, 'row')}{where}"]
    words = {
        "accuracy": "accuracy",
        "log_loss": "log-loss",
        "rmse": "root mean squared error",
        "log_density": "mean log density",
    }
    if found.scores:
        shown = [f"{words[n]} {found.scores[n]:.4g}" for n in words if n in found.scores]
        known = counted(int(found.scores["rows"]), "row")
        lines.append(f"{', '.join(shown)} on {known} in which it is known")
    if found.impossible_rows:
        count = counted(found.impossible_rows, "row")
        lines.append(f"{count} without a prediction: the known cells have probability zero")
    return lines
