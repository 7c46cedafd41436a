"""`spnc data`: list, fetch and show datasets."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spnc.cli.arguments import add_commands, add_json, add_quiet, command

LINE = 100  # terminal columns of a line about a column
NAME = 28  # of its name


def add(subparsers: Any) -> None:
    """Declare the command and its three commands."""
    parser = command(
        subparsers,
        "data",
        None,
        "list, fetch and show datasets",
        examples=("spnc data list", "spnc data show builtin:asia"),
    )
    commands = add_commands(parser, "COMMAND")
    known = command(
        commands,
        "list",
        run_list,
        "list the datasets that spnc knows by name",
        examples=("spnc data list", "spnc data list --json"),
    )
    add_json(known)
    fetch = command(
        commands,
        "fetch",
        run_fetch,
        "download public datasets into the cache folder",
        examples=("spnc data fetch nltcs", "spnc data fetch plants jester"),
    )
    fetch.add_argument("names", nargs="+", help="names such as nltcs, or debd:nltcs")
    add_json(fetch)
    add_quiet(fetch)
    show = command(
        commands,
        "show",
        run_show,
        "show the splits and columns of a source",
        examples=("spnc data show builtin:asia", "spnc data show debd:nltcs"),
    )
    show.add_argument(
        "source",
        help="a file, a folder or a name with * for several, - for standard input, builtin:NAME or "
        "debd:NAME",
    )
    add_json(show)
    add_quiet(show)


def run_list(arguments: argparse.Namespace) -> int:
    """Print a line per dataset, and whether it is on this machine."""
    from spnc.cli.output import say, table
    from spnc.data.builtin import BUILTINS
    from spnc.data.debd import debd_entries

    rows = [(f"builtin:{b.name}", "built in", b.description) for b in BUILTINS.values()]
    for entry in debd_entries():
        place = str(entry.found) if entry.found is not None else "not fetched"
        rows.append((f"debd:{entry.name}", place, ""))
    if arguments.json:
        found = [{"source": s, "found": p, "description": d} for s, p, d in rows]
        print(json.dumps({"ok": True, "datasets": found}, indent=2))
    else:
        say(table(["source", "found", "description"], rows, left=3))
    return 0


def run_fetch(arguments: argparse.Namespace) -> int:
    """Download the datasets that are not on this machine."""
    from spnc.cli.output import complain, say
    from spnc.common.progress_display import observing
    from spnc.data.debd import fetch
    from spnc.diagnostics import Sink

    sink = Sink()
    names = [name.removeprefix("debd:") for name in arguments.names]
    with observing(arguments.quiet) as observer:
        observer.stage("fetching")
        for name in names:
            fetch(name, sink, progress=observer.progress)
    sink.stop()
    complain(sink.diagnostics)
    if arguments.json:
        print(json.dumps({"ok": True, "fetched": names}, indent=2))
    else:
        say(f"on this machine: {', '.join(f'debd:{name}' for name in names)}")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Print the splits, then the columns: kinds, missing cells, values and a histogram."""
    from spnc.cli.output import complain, say, table
    from spnc.common.progress_display import observing
    from spnc.data.load import load_table
    from spnc.data.summary import summarise
    from spnc.diagnostics import Sink

    sink = Sink()
    with observing(arguments.quiet) as observer:
        observer.stage("reading data")
        dataset = load_table(arguments.source, sink, progress=observer.progress)
    facts = summarise(sink.require(dataset))
    complain(sink.diagnostics)
    if arguments.json:
        print(json.dumps({"ok": True, "source": arguments.source, **facts}, indent=2))
        return 0
    splits = [(s["split"], s["rows"], s["distinct_rows"]) for s in facts["splits"]]
    say(table(["split", "rows", "distinct rows"], splits))
    say()
    say(_columns(facts))
    return 0


def _columns(facts: dict[str, Any]) -> str:
    """Return a line per column, of at most `LINE` terminal columns."""
    from spnc.cli.output import table
    from spnc.common.wording import clipped, width
    from spnc.data.summary import content_text, histogram_text

    head = ["column", "kind", "distinct", "missing", "histogram", "values"]
    rows = []
    for c in facts["columns"]:
        share = "–" if c["missing"] == 0 else f"{max(c['missing_share'], 0.001):.1%}"
        bars = histogram_text(c.get("counts", ()))
        name = clipped(c["name"], NAME)
        rows.append([name, c["kind"], f"{c['distinct']:,}", share, bars, content_text(c)])
    for c in facts["left_out"]:
        rows.append([clipped(c["name"], NAME), "ignore", "", "", "", c["why"]])
    used = sum(max(width(row[i]) for row in [head, *rows]) + 2 for i in range(len(head) - 1))
    for row in rows:
        row[-1] = clipped(row[-1], max(10, LINE - used - 2))
    return table(head, rows, left=(0, 1, len(head) - 2, len(head) - 1))
