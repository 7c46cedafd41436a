"""`spnc train`: from a spec to a run folder with a trained model."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_json, add_quiet, add_settings, command, settings_of


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "train", run, "train a spec's forest and keep it in a run folder")
    parser.add_argument("spec", help="a .yaml or .spn spec")
    parser.add_argument("--out", metavar="RUN", help="the run folder (default: runs/NAME)")
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
    from spnc.api import read_recipe_only
    from spnc.cli.output import complain, writing
    from spnc.cli.progress import watching
    from spnc.diagnostics import Sink
    from spnc.pipeline import compile_recipe, train_compiled
    from spnc.run import RunFolder, default_folder

    sink = Sink()
    recipe = read_recipe_only(arguments.spec, sink, settings_of(arguments))
    if arguments.out is None and arguments.resume:
        path = Path("runs") / recipe.model
    else:
        path = Path(arguments.out) if arguments.out is not None else default_folder(recipe)
    folder = RunFolder(path)
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
            folder.begin(compiled)
        try:
            trained = train_compiled(compiled, sink, watch, resume=resume, keep=folder.keep)
        except KeyboardInterrupt:
            folder.write_checkpoint()
            if folder.latest is None:
                raise
            done = folder.latest.history[-1].iteration
            print(
                f"interrupted after iteration {done}; saved in {folder.checkpoint}\n"
                f"go on with: spnc train {arguments.spec} --out {path} --resume",
                file=sys.stderr,
            )
            return 130
        with writing(path):
            folder.finish(trained)
    complain(sink.diagnostics)
    if arguments.json:
        print(json.dumps({"ok": True, "run": str(path), **trained.metrics}, indent=2))
    else:
        print(summary(recipe.model, trained.metrics, path))
    return 0


def summary(name: str, metrics: dict[str, Any], path: Path) -> str:
    """What a training came to, for people."""
    from spnc.cli.output import duration, table

    model, fit, seconds = metrics["model"], metrics["optimizer"], metrics["seconds"]
    splits = table(
        ["split", "rows", "avg log-likelihood", "impossible rows"],
        [(s, m["rows"], m["avg_ll"], m["impossible_rows"]) for s, m in metrics["splits"].items()],
    )
    lines = [
        f"{name}: {model['nodes']:,} nodes, {model['edges']:,} edges, {model['layers']} layers, "
        f"{model['parameters']:,} parameters",
        "",
        splits,
        "",
        f"{fit['method']} stopped by {fit['stopped']} after {fit['iterations']} iterations; "
        f"kept: {fit['kept']}, iteration {fit['kept_iteration']}",
        f"{duration(seconds['total'])} on {metrics['backend']}, seed {metrics['seed']}; "
        f"written to {path}",
    ]
    return "\n".join(lines)
