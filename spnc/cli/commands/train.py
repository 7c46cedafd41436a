"""`spnc train`: from a spec to a run folder with a trained model."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_json, add_quiet, add_settings, command, settings_of


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "train", run, "train a spec's forest and keep it in a run folder")
    parser.add_argument("spec", help="a .yaml or .spn spec")
    parser.add_argument(
        "--out",
        metavar="RUN",
        help="the run folder (default: runs/NAME, or runs/NAME-2 if taken)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the files of an earlier run in --out"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint in --out, to the same bits"
    )
    add_settings(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train, write the run folder, show the result."""
    from spnc.cli.output import complain, writing
    from spnc.cli.progress import watching
    from spnc.diagnostics import Sink
    from spnc.pipeline import compile_recipe, train_compiled
    from spnc.run import RunFolder, default_folder
    from spnc.spec.read import read_recipe

    sink = Sink()
    recipe = read_recipe(Path(arguments.spec), sink, settings_of(arguments))
    sink.stop()
    assert recipe is not None
    if arguments.out is not None:
        path = Path(arguments.out)
    else:
        path = default_folder(recipe, resume=arguments.resume)
    folder = RunFolder(path, sink)
    taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
    if taken and not (path.is_dir() and (arguments.resume or arguments.overwrite)):
        sink.error(
            "E506",
            f"`{path}` holds something already" if path.is_dir() else f"`{path}` is not a folder",
            where=str(path),
            help="choose another folder, or give --overwrite, or --resume to go on"
            if path.is_dir()
            else "give the name of a folder, which may be new",
        )
        sink.stop()
    with watching(arguments.quiet) as watch:
        compiled = compile_recipe(recipe, sink, watch)
        resume = folder.read_checkpoint(compiled, sink) if arguments.resume else None
        sink.stop()
        with writing(path):
            folder.begin(compiled, resuming=resume is not None)
        try:
            with _termination_interrupts():
                trained = train_compiled(compiled, sink, watch, resume=resume, keep=folder.keep)
        except KeyboardInterrupt:
            saved = folder.write_checkpoint()
            complain(sink.diagnostics)
            if folder.latest is None or not saved:
                raise
            done = folder.latest.history[-1].iteration
            go_on = ["spnc", "train", str(folder.lock), "--out", str(path), "--resume"]
            print(
                f"interrupted after iteration {done}; saved in {folder.checkpoint}\n"
                f"go on with: {shlex.join(go_on)}",
                file=sys.stderr,
            )
            return 130
        with writing(path):
            folder.finish(trained)
    complain(sink.diagnostics)
    if arguments.json:
        found = [d.as_json() for d in sink.diagnostics]
        facts = {"ok": True, "run": str(path), **trained.metrics, "diagnostics": found}
        print(json.dumps(facts, indent=2))
    else:
        print(summary(recipe.model, trained.metrics, path))
    return 0


@contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Being told to end is like Ctrl-C: what there is gets saved. Signals reach the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def summary(name: str, metrics: dict[str, Any], path: Path) -> str:
    """What a training came to, for people."""
    from spnc.cli.output import duration, table

    model, fit, seconds = metrics["model"], metrics["optimizer"], metrics["seconds"]
    splits = table(
        ["split", "rows", "avg log-likelihood", "impossible rows"],
        [(s, m["rows"], m["avg_ll"], m["impossible_rows"]) for s, m in metrics["splits"].items()],
    )
    pruned = []
    if "prune" in metrics:
        edges, kept = metrics["prune"]["edges"], metrics["prune"]["kept"]
        pruned = [f"pruned from {edges['before']:,} to {edges['after']:,} edges; kept: {kept}"]
    lines = [
        f"{name}: {model['nodes']:,} nodes, {model['edges']:,} edges, {model['layers']} layers, "
        f"{model['parameters']:,} parameters",
        "",
        splits,
        "",
        f"{fit['method']} stopped by {fit['stopped']} after {fit['iterations']} iterations; "
        f"kept: {fit['kept']}, iteration {fit['kept_iteration']}",
        *pruned,
        f"{duration(seconds['total'])} on {metrics['backend']}, seed {metrics['seed']}; "
        f"written to {path}",
    ]
    return "\n".join(lines)
