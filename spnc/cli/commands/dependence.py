"""`spnc dependence`: how strongly do the columns of a model depend on each other?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_quiet, command
from spnc.cli.table_output import (
    add_output,
    column_names,
    opened_model,
    to_standard_output,
    whole,
    write_table,
)

if TYPE_CHECKING:
    from spnc.diagnostics import Sink
    from spnc.queries.dependence import Dependence

SHOWN = 20  # pairs printed if the table is written to a file


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "dependence",
        run,
        "measure how strongly every two columns of a model depend on each other",
        examples=(
            "spnc dependence runs/quickstart/model.spnc",
            "spnc dependence runs/quickstart/model.spnc -o pairs.csv --plot pairs.svg",
        ),
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    add_output(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw a heat map to this .svg or .png file")
    parser.add_argument(
        "--columns", metavar="A,B,…", help="only these columns, separated by commas"
    )
    parser.add_argument(
        "--bins",
        type=whole(2),
        default=16,
        metavar="N",
        help="bins of equal probability that a column of numbers is divided into (default: 16)",
    )
    parser.add_argument(
        "--backend", metavar="NAME", default="auto", help="the backend (default: auto)"
    )
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write a line for each pair, the strongest first, and the picture."""
    import pyarrow as pa

    from spnc.cli.output import complain
    from spnc.common.atomic import write_bytes
    from spnc.common.progress_display import observing
    from spnc.diagnostics import Sink, writing
    from spnc.queries.arguments import column_places
    from spnc.queries.dependence import dependence
    from spnc.reports.plots.dependence import picture

    sink = Sink()
    found_model = opened_model(arguments, sink)
    _check_plot(arguments, sink)
    places: list[int] = []
    if found_model is not None:
        names = column_names(arguments.columns, [c.name for c in found_model.columns])
        places = column_places(found_model.columns, names, sink)
    model = sink.require(found_model)
    with observing(arguments.quiet) as observer:
        observer.stage("computing pairs")
        sink.add(model.backend.prepare(model.program, observer.progress))
        found = dependence(
            model.program,
            model.parameters,
            model.opened,
            places,
            bins=arguments.bins,
            progress=observer.progress,
        )
    complain(sink.diagnostics)
    pairs = found.pairs()
    heads = ("first", "second", "nats", "share", "exact")
    columns = list(zip(*pairs, strict=True)) if pairs else [()] * len(heads)
    table = pa.table(dict(zip(heads, map(list, columns), strict=True)))
    if arguments.plot is not None:
        picture_file = Path(arguments.plot)
        content = picture(found, model.name, picture_file.suffix.lower())
        with writing(picture_file):
            write_bytes(picture_file, content)
    facts = {"model": model.name, "bins": arguments.bins, "pairs": len(pairs)}
    if arguments.plot is not None:
        facts["picture"] = arguments.plot
    write_table(arguments, table, facts, _lines(arguments, found))
    return 0


def _check_plot(arguments: argparse.Namespace, sink: Sink) -> None:
    if arguments.plot is None:
        return
    suffix = Path(arguments.plot).suffix.lower()
    if suffix not in (".svg", ".png"):
        kind = f"as `{suffix}`" if suffix else "without a suffix"
        help = "give a name that ends in .svg or .png"
        sink.error("E602", f"a picture cannot be written {kind}", where=arguments.plot, help=help)


def _lines(arguments: argparse.Namespace, found: Dependence) -> list[str]:
    """Return the strongest pairs for people, and what the numbers are."""
    from spnc.cli.output import table
    from spnc.diagnostics import counted

    pairs = found.pairs()
    lines = []
    if not to_standard_output(arguments):
        rows = [(a, b, f"{nats:.4f}", f"{part:.3f}") for a, b, nats, part, _ in pairs[:SHOWN]]
        lines.append(table(["first", "second", "nats", "share"], rows, [0, 1]))
        lines.append(f"\n{counted(len(pairs), 'pair')} written to {arguments.output}")
    if not all(exact for *_, exact in pairs):
        note = f"numbers are divided into {arguments.bins} bins of equal probability"
        lines.append(f"{note}: what they share is a lower bound")
    if arguments.plot is not None:
        lines.append(f"picture written to {arguments.plot}")
    return lines
