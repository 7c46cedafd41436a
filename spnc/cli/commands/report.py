"""`spnc report`: write one HTML page about a run, to read and to pass on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_image, add_json, add_plugins, add_quiet, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "report",
        run,
        "write one HTML page about a finished run",
        examples=(
            "spnc report runs/quickstart",
            "spnc report runs/quickstart --no-data -o digits.html",
        ),
    )
    parser.add_argument("run_folder", metavar="RUN", help="a folder that `spnc train` wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="an .html file (default: report.html in RUN)"
    )
    add_image(parser)
    parser.add_argument(
        "--no-data", action="store_true", help="leave out the parts that need the data of the run"
    )
    parser.add_argument(
        "--backend", metavar="NAME", default="auto", help="the backend (default: auto)"
    )
    add_plugins(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page, then print what each of its sections found."""
    from spnc.cli.output import complain, say
    from spnc.common.progress_display import observing
    from spnc.common.wording import visible
    from spnc.diagnostics import Sink
    from spnc.reports.build import write_report

    sink = Sink()
    with observing(arguments.quiet) as observer:
        page = write_report(
            arguments.run_folder,
            arguments.output,
            sink,
            observer,
            image=arguments.image,
            with_data=not arguments.no_data,
            backend=arguments.backend,
            allow_plugins=arguments.allow_plugins,
        )
    complain(sink.diagnostics)
    if arguments.json:
        about = {
            "page": str(page.path),
            "bytes": page.size,
            "run": str(Path(arguments.run_folder)),
            "data": page.with_data,
            "sections": [
                {"id": s.id, "title": s.title, "finding": s.finding} for s in page.sections
            ],
            "diagnostics": [d.as_json() for d in sink.diagnostics],
        }
        print(json.dumps({"ok": True, **about}, indent=2))
        return 0
    for section in page.sections:
        say(f"{section.title}\n    {visible(section.finding)}\n")
    say(f"{page.size / 1000:,.0f} kB; written to {page.path}")
    return 0
