"""`spnc plot`: pictures of models and runs."""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_quiet, add_rows, backend_of, check_split, command

if TYPE_CHECKING:
    from spnc.backends import Backend
    from spnc.common.observer import Observer
    from spnc.data.pairs import PairCounts
    from spnc.diagnostics import Sink
    from spnc.model import Model
    from spnc.runs.history import History

FORMS = (".png", ".svg")


def add(subparsers: Any) -> None:
    """Declare the command and its pictures."""
    parser = command(subparsers, "plot", run_mi, "draw a picture of models or runs, PNG or SVG")
    parts = parser.add_subparsers(dest="picture", metavar="PICTURE", required=True)
    mi = command(parts, "mi", run_mi, "mutual information of every two columns, data and model")
    mi.add_argument("models", nargs="+", metavar="MODEL", help=".spnc models of the same columns")
    add_rows(mi, "this split of the data (default: train, if there is one)")
    add_output(mi, "MODEL.mi.png; of several models, mi.png beside the first")
    add_json(mi)
    add_quiet(mi)
    history = command(parts, "history", run_history, "learning curves of finished or running runs")
    history.add_argument("runs", nargs="+", metavar="RUN", help="folders of `spnc train`")
    add_output(history, "history.png in the run folder; of several runs, beside the first")
    add_json(history)


def add_output(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option `-o`, the file of the picture."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"a .png or .svg file (default: {default})"
    )


# ---- mutual information ------------------------------------------------------------------------


def run_mi(arguments: argparse.Namespace) -> int:
    """Query the models, count the data, draw both."""
    from spnc.cli.output import complain, say, table
    from spnc.cli.progress import observing
    from spnc.data.pairs import mutual_information
    from spnc.diagnostics import Sink
    from spnc.reports.plots.mutual_information import Comparison, picture

    sink = Sink()
    paths = [Path(name) for name in arguments.models]
    beside = paths[0].parent / (f"{paths[0].stem}.mi.png" if len(paths) == 1 else "mi.png")
    output = output_of(arguments, beside, sink)
    models = _read_models(paths, sink)
    backend = backend_of(arguments, sink)
    sink.stop()
    assert backend is not None
    with observing(arguments.quiet) as observer:
        split, rows, counts = _count(arguments, models[0], sink, observer)
        empirical = mutual_information(counts)
        names = distinct([m.name for m in models], paths)
        comparisons = [
            Comparison(name, empirical, _ask(model, backend, observer))
            for name, model in zip(names, models, strict=True)
        ]
        observer.stage("drawing")
        data = f"{Path(arguments.data).name}, {rows:,} rows"
        data += f" of {split}" if split != "all" else ""
        columns = [column.name for column in models[0].columns]
        _write(output, picture(comparisons, columns, data, output.suffix.lower()))
    complain(sink.diagnostics)
    if arguments.json:
        found = [
            {"model": str(path), "name": model.name, **comparison.facts()}
            for path, model, comparison in zip(paths, models, comparisons, strict=True)
        ]
        facts = {"picture": str(output), "data": arguments.data, "split": split, "rows": rows}
        print(json.dumps({"ok": True, **facts, "models": found}, indent=2))
        return 0
    lines = []
    for comparison in comparisons:
        f = comparison.facts()
        numbers = ("mean_empirical", "mean_model", "mean_absolute_difference", "correlation")
        shown = (None if f[name] is None else f"{f[name]:.4g}" for name in numbers)
        lines.append((comparison.name, f["pairs"], *shown))
    say(table(["model", "pairs", "data", "model", "|difference|", "correlation"], lines))
    say(f"\nmeans over pairs of columns, in nats; written to {output}")
    return 0


def _read_models(paths: Sequence[Path], sink: Sink) -> list[Model]:
    from spnc.diagnostics import listed
    from spnc.model import read_model

    def shown(model: Model) -> str:
        return listed([f"{column.name}: {column}" for column in model.columns])

    models = [model for path in paths if (model := read_model(path, sink)) is not None]
    if len(models) == len(paths):
        for path, model in zip(paths, models, strict=True):
            if model.columns != models[0].columns:
                sink.error(
                    "E307",
                    f"the columns of `{path}` are not those of `{paths[0]}`",
                    where=str(path),
                    notes=[f"`{paths[0]}` has {shown(models[0])}", f"`{path}` has {shown(model)}"],
                    help="give models of the same data",
                )
    return models


def _count(
    arguments: argparse.Namespace, model: Model, sink: Sink, observer: Observer
) -> tuple[str, int, PairCounts]:
    """Return the split, its number of rows, and the counts of all pairs of states in it."""
    from spnc.data.pairs import pair_counts
    from spnc.data.stream import stream_table

    observer.stage("reading data")
    rows: dict[str, int] = {}
    counts: PairCounts | None = None
    for split, piece in stream_table(
        arguments.data, sink, columns=model.columns, progress=observer.progress
    ):
        rows[split] = rows.get(split, 0) + piece.rows
        if split == (arguments.split or next(iter(rows))):  # default: the first
            found = pair_counts(model.columns, piece.distinct())
            counts = found if counts is None else counts + found
    sink.stop()
    check_split(arguments, rows, sink)
    sink.stop()
    assert counts is not None
    split = arguments.split or next(iter(rows))
    return split, rows[split], counts


def _ask(model: Model, backend: Backend, observer: Observer) -> Any:
    observer.stage(f"querying {model.name}")
    model.backend = backend
    backend.prepare(model.program, observer.progress)
    return model.mutual_information(observer.progress)


# ---- history -----------------------------------------------------------------------------------


def run_history(arguments: argparse.Namespace) -> int:
    """Read the curves and draw them together."""
    from dataclasses import replace

    from spnc.cli.output import say, table
    from spnc.diagnostics import Sink
    from spnc.reports.plots.learning_curve import picture
    from spnc.runs.history import read_history

    sink = Sink()
    paths = [Path(name) for name in arguments.runs]
    beside = (paths[0] if len(paths) == 1 else paths[0].parent) / "history.png"
    output = output_of(arguments, beside, sink)
    found = [read_history(path, sink) for path in paths]
    sink.stop()
    histories = [history for history in found if history is not None]
    names = distinct([history.name for history in histories], paths)
    named = [replace(h, name=name) for h, name in zip(histories, names, strict=True)]
    _write(output, picture(named, output.suffix.lower()))
    facts = [_facts(path, history) for path, history in zip(paths, histories, strict=True)]
    if arguments.json:
        print(json.dumps({"ok": True, "picture": str(output), "runs": facts}, indent=2))
        return 0
    lines = [
        (n, f["iterations"], f["kept_iteration"], f["train"], f["valid"])
        for n, f in zip(names, facts, strict=True)
    ]
    say(table(["run", "iterations", "kept", "train", "valid"], lines))
    running = [name for name, history in zip(names, histories, strict=True) if not history.finished]
    more = f"; not finished: {', '.join(running)}" if running else ""
    say(f"\nlog-likelihoods of the kept iteration, or the last{more}; written to {output}")
    return 0


def _facts(path: Path, history: History) -> dict[str, Any]:
    """Return the result of a run: at the kept iteration, or at the last if none was kept."""
    at = -1 if history.kept is None else history.kept

    def value(curve: tuple[float, ...]) -> float | None:
        return curve[at] if curve and math.isfinite(curve[at]) else None

    return {
        "run": str(path),
        "finished": history.finished,
        "iterations": history.iterations[-1],
        "kept_iteration": None if history.kept is None else history.iterations[history.kept],
        "train": value(history.train),
        "valid": value(history.valid),
    }


# ---- helpers of both ----------------------------------------------------------------------------


def output_of(arguments: argparse.Namespace, default: Path, sink: Sink) -> Path:
    """Return the file of the picture; report a name with another suffix (E602)."""
    output = default if arguments.output is None else Path(arguments.output)
    if output.suffix.lower() not in FORMS:
        kind = f"as `{output.suffix}`" if output.suffix else "without a suffix"
        sink.error(
            "E602",
            f"a picture cannot be written {kind}",
            where=str(output),
            help=f"give a name that ends in {' or '.join(FORMS)}",
        )
    return output


def distinct(names: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Return the names; add the ends of their paths to those that occur more than once."""
    often = Counter(names)
    return [
        f"{name} ({'/'.join(path.parts[-2:])})" if often[name] > 1 else name
        for name, path in zip(names, paths, strict=True)
    ]


def _write(output: Path, content: bytes) -> None:
    from spnc.cli.output import writing
    from spnc.common.atomic import write_bytes

    with writing(output):
        write_bytes(output, content)
