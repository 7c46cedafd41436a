"""`spnc plot`: draw models and runs."""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import (
    add_commands,
    add_json,
    add_quiet,
    add_rows,
    backend_of,
    check_split,
    command,
)

if TYPE_CHECKING:
    from spnc.backends import Backend
    from spnc.common.arrays import Floats
    from spnc.common.observer import Observer
    from spnc.data.pairs import PairCounts
    from spnc.diagnostics import Sink
    from spnc.model import Model
    from spnc.queries.discretise import Cuts
    from spnc.runs.history import History

FORMS = (".png", ".svg")


def add(subparsers: Any) -> None:
    """Declare the command, which has a command per picture."""
    parser = command(
        subparsers,
        "plot",
        None,
        "draw a picture of models or runs, PNG or SVG",
        examples=(
            "spnc plot history runs/quickstart",
            "spnc plot mi runs/quickstart/model.spnc builtin:digits",
        ),
    )
    pictures = add_commands(parser, "PICTURE")
    mi = command(
        pictures,
        "mi",
        run_mi,
        "mutual information of every pair of columns, in the data and in models",
        examples=(
            "spnc plot mi runs/quickstart/model.spnc builtin:digits",
            "spnc plot mi runs/quickstart/model.spnc builtin:digits -o mi.svg",
        ),
    )
    mi.add_argument("models", nargs="+", metavar="MODEL", help=".spnc models of the same columns")
    add_rows(mi, "this split of the data (default: train, if there is one)")
    add_output(mi, "MODEL.mi.png; of several models, mi.png beside the first")
    add_json(mi)
    add_quiet(mi)
    history = command(
        pictures,
        "history",
        run_history,
        "learning curves of finished or running runs",
        examples=(
            "spnc plot history runs/quickstart",
            "spnc plot history runs/quickstart -o curves.svg",
        ),
    )
    history.add_argument("runs", nargs="+", metavar="RUN", help="run folders of `spnc train`")
    add_output(history, "history.png in the run folder; of several runs, beside the first")
    add_json(history)


def add_output(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option `-o`, the file of the picture."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"a .png or .svg file (default: {default})"
    )


# ---- mutual information ------------------------------------------------------------------------


def run_mi(arguments: argparse.Namespace) -> int:
    """Compute mutual information of the models and of the data, and draw both."""
    from spnc.cli.output import complain, say, table
    from spnc.common.progress_display import observing
    from spnc.data.pairs import mutual_information
    from spnc.diagnostics import Sink
    from spnc.queries.discretise import cuts_by_scale
    from spnc.reports.plots.mutual_information import Comparison, picture

    sink = Sink()
    paths = [Path(name) for name in arguments.models]
    beside = paths[0].parent / (f"{paths[0].stem}.mi.png" if len(paths) == 1 else "mi.png")
    output = output_of(arguments, beside, sink)
    models = _read_models(paths, sink)
    backend = sink.require(backend_of(arguments, sink))
    with observing(arguments.quiet) as observer:
        cuts = cuts_by_scale(models[0].columns)
        split, rows, counts = _count(arguments, models[0], cuts, sink, observer)
        empirical = mutual_information(counts)
        names = distinct([m.name for m in models], paths)
        comparisons = [
            Comparison(name, empirical, _model_information(model, backend, cuts, observer))
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
            if _meanings(model) != _meanings(models[0]):
                sink.error(
                    "E307",
                    f"the columns of `{path}` differ from those of `{paths[0]}`",
                    where=str(path),
                    notes=[f"`{paths[0]}` has {shown(models[0])}", f"`{path}` has {shown(model)}"],
                    help="give models of the same data",
                )
    return models


def _meanings(model: Model) -> list[tuple[object, ...]]:
    """Return what the values of each column mean; scales differ from training to training."""
    return [(c.name, c.kind, c.states, c.labels, c.unit) for c in model.columns]


def _count(
    arguments: argparse.Namespace, model: Model, cuts: Cuts, sink: Sink, observer: Observer
) -> tuple[str, int, PairCounts]:
    """Return the chosen split, the number of its rows, and its joint counts."""
    from spnc.data.pairs import pair_counts
    from spnc.data.stream import stream_table
    from spnc.queries.discretise import discretised_columns, discretised_table

    columns = discretised_columns(model.columns, cuts)
    observer.stage("reading data")
    rows: dict[str, int] = {}
    counts: PairCounts | None = None
    for split, piece in stream_table(
        arguments.data,
        sink,
        columns=model.columns,
        rules=model.rules,
        progress=observer.progress,
    ):
        rows[split] = rows.get(split, 0) + piece.rows
        if split == (arguments.split or next(iter(rows))):  # the first is `train` or `all`
            binned = discretised_table(piece, model.columns, cuts)
            found = pair_counts(columns, binned.distinct())
            counts = found if counts is None else counts + found
    sink.stop()
    check_split(arguments, rows, sink)
    counts = sink.require(counts)
    split = arguments.split or next(iter(rows))
    return split, rows[split], counts


def _model_information(model: Model, backend: Backend, cuts: Cuts, observer: Observer) -> Floats:
    """Return the mutual information of every pair of columns of a model."""
    observer.stage(f"evaluating {model.name}")
    model.backend = backend
    backend.prepare(model.program, observer.progress)
    return model.mutual_information(observer.progress, cuts)


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
    histories = [sink.require(history) for history in found]
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
    """Return facts about a learning curve, at the kept iteration or else at the last."""
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


# ---- output files ------------------------------------------------------------------------------


def output_of(arguments: argparse.Namespace, default: Path, sink: Sink) -> Path:
    """Return the file to write; report a name that is not that of a picture."""
    return picture_file(default if arguments.output is None else arguments.output, sink)


def picture_file(name: str | Path, sink: Sink) -> Path:
    """Return the file of a picture; report a name that is not that of one (E602)."""
    output = Path(name)
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
    """Return the names; those that occur more than once get the end of their path added."""
    often = Counter(names)
    return [
        f"{name} ({'/'.join(path.parts[-2:])})" if often[name] > 1 else name
        for name, path in zip(names, paths, strict=True)
    ]


def _write(output: Path, content: bytes) -> None:
    from spnc.common.atomic import write_bytes
    from spnc.diagnostics import writing

    with writing(output):
        write_bytes(output, content)
