"""`spnc report`: one page about a run, to look at and to pass on."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_quiet, backend_of, command

if TYPE_CHECKING:
    from spnc.diagnostics import Sink
    from spnc.report.facts.images import Shape
    from spnc.report.facts.reading import Run

FORMS = (".html", ".htm")


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
    parser.add_argument(
        "--image",
        type=_image,
        metavar="LINESxCOLUMNS",
        help="show rows as pictures of this shape, or `none` (default: as the columns' names say)",
    )
    parser.add_argument(
        "--no-data", action="store_true", help="leave out all that needs the data of the run"
    )
    parser.add_argument("--backend", metavar="NAME", default="auto", help="what computes")
    add_json(parser)
    add_quiet(parser)


def _image(text: str) -> tuple[int, int] | None:
    """A shape such as 8x8; (0, 0) is none at all."""
    if text == "none":
        return (0, 0)
    found = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is no shape such as 28x28, nor `none`")
    return int(found[1]), int(found[2])


def run(arguments: argparse.Namespace) -> int:
    """Read the run, ask its model, write the page, say what was found."""
    from spnc.cli.output import complain, say
    from spnc.common.atomic import write_text
    from spnc.common.progress_display import observing
    from spnc.common.wording import visible
    from spnc.diagnostics import Sink, writing
    from spnc.report.facts.gather import gather
    from spnc.report.facts.reading import read_run
    from spnc.report.page.assemble import page, sections
    from spnc.runs.folder import RunFolder

    sink = Sink()
    path = Path(arguments.run_folder)
    output = RunFolder(path, sink).report if arguments.output is None else Path(arguments.output)
    _check_name(output, sink)
    backend = backend_of(arguments, sink)
    with observing(arguments.quiet) as observer:
        found = read_run(path, sink, observer, with_data=not arguments.no_data)
        shape = _shape(arguments, found, sink) if found is not None else None
        sink.stop()
        assert found is not None
        assert backend is not None
        found.model.backend = backend
        facts = gather(found, shape, observer)
        observer.stage("writing the page")
        said = sections(facts)
        text = page(facts, said)
        with writing(output):
            write_text(output, text)
    complain(sink.diagnostics)
    size = len(text.encode())
    if arguments.json:
        about = {
            "page": str(output),
            "bytes": size,
            "run": str(path),
            "data": found.dataset is not None,
            "sections": [{"id": s.id, "title": s.title, "finding": s.finding} for s in said],
            "diagnostics": [d.as_json() for d in sink.diagnostics],
        }
        print(json.dumps({"ok": True, **about}, indent=2))
        return 0
    for section in said:
        say(f"{section.title}\n    {visible(section.finding)}\n")
    say(f"{size / 1000:,.0f} kB; written to {output}")
    return 0


def _check_name(output: Path, sink: Sink) -> None:
    """Report a name that is not of a page."""
    if output.suffix.lower() not in FORMS:
        kind = f"as `{output.suffix}`" if output.suffix else "without a suffix"
        sink.error(
            "E602",
            f"a page is not written {kind}",
            where=str(output),
            help=f"give a name that ends in {FORMS[0]}",
        )


def _shape(arguments: argparse.Namespace, found: Run, sink: Sink) -> Shape | None:
    from spnc.report.facts.images import asked_shape, shape_of

    if arguments.image is None:
        return shape_of(found.model.columns)
    height, width = arguments.image
    return asked_shape(height, width, found.model.columns, sink) if height else None
