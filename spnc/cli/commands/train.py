"""`spnc train`: from a spec to a run folder with a trained model."""

from __future__ import annotations

import argparse
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_plugins, add_quiet, add_settings, command, settings_of

if TYPE_CHECKING:
    from spnc.common.observer import Observer
    from spnc.diagnostics import Sink
    from spnc.pipeline import Trained
    from spnc.runs.folder import RunFolder
    from spnc.search.journal import SearchFolder
    from spnc.spec.recipe import Recipe

    _Work = Callable[[Recipe, RunFolder, Sink, Observer, bool], Trained | None]

_MOST_SHOWN = 40  # tries in the table on the screen


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "train", run, "train a spec's forest and keep it in a run folder")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("spec", nargs="?", help="a .yaml or .spn spec")
    what.add_argument(
        "--auto",
        metavar="TABLE",
        help="choose a recipe for this table: a file, builtin:NAME or debd:NAME",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        help="with --auto, the time to spend: 90s, 10min, 2h, 1h30m (default: 10min)",
    )
    parser.add_argument(
        "-o",
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
    add_plugins(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train, write the run folder, show the result."""
    began = time.monotonic()  # before anything heavy is imported: a budget includes that
    from spnc.cli.output import complain, say
    from spnc.cli.progress import observing
    from spnc.diagnostics import Sink
    from spnc.pipeline import need_backend
    from spnc.spec.read import read_recipe

    sink = Sink()
    if arguments.auto is not None:
        recipe, work = _prepare_auto(arguments, began, sink)
    else:
        _no_budget(arguments, sink)
        found = read_recipe(
            Path(arguments.spec),
            sink,
            settings_of(arguments),
            allow_plugins=arguments.allow_plugins,
        )
        sink.stop()
        assert found is not None
        recipe, work = found, _train if found.space is None else _search
    need_backend(recipe, sink)
    folder = _folder(arguments, recipe, sink)
    with observing(arguments.quiet) as observer:
        trained = work(recipe, folder, sink, observer, arguments.resume)
    if trained is None:
        return 130
    complain(sink.diagnostics)
    if arguments.json:
        diagnostics = [d.as_json() for d in sink.diagnostics]
        facts = {"ok": True, "run": str(folder.path), **trained.metrics, "diagnostics": diagnostics}
        print(json.dumps(facts, indent=2))
    else:
        say(summary(recipe.model, trained.metrics, folder.path))
    return 0


def _folder(arguments: argparse.Namespace, recipe: Recipe, sink: Sink) -> RunFolder:
    """The run folder; stops if it holds what must not be lost."""
    from spnc.diagnostics import listed
    from spnc.runs.folder import RunFolder, default_folder
    from spnc.spec.relocate import files_of

    if arguments.out is not None:
        path = Path(arguments.out)
    else:
        path = default_folder(recipe, resume=arguments.resume)
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
    inside = [f for f in sorted(files_of(recipe)) if path.resolve() in f.resolve().parents]
    if taken and arguments.overwrite and inside:
        sink.error(
            "E506",
            f"`{path}` holds what this spec is made from",
            where=str(path),
            notes=[f"it names {listed([str(file) for file in inside])}"],
            help="choose another folder for the run",
        )
    sink.stop()
    return RunFolder(path, sink)


def _no_budget(arguments: argparse.Namespace, sink: Sink) -> None:
    """A spec says itself how long it trains."""
    from spnc.diagnostics import Source
    from spnc.spec.override import COMMAND_LINE

    if arguments.budget is not None:
        line = Source(COMMAND_LINE, f"--budget {arguments.budget}")
        sink.error(
            "E137",
            "a budget is for --auto; a spec says itself how long it trains",
            line.span_at(0, 8),
            help="give a table with --auto, or set optimizer.max_iterations",
        )
        sink.stop()


def _prepare_auto(arguments: argparse.Namespace, began: float, sink: Sink) -> tuple[Recipe, _Work]:
    """The recipe that all tries begin from, and what chooses among them."""
    from spnc.search.auto.budget import DEFAULT, Budget, read_budget
    from spnc.search.auto.start import read_start

    budget = DEFAULT if arguments.budget is None else arguments.budget
    seconds = read_budget(budget, sink)
    settings = settings_of(arguments)
    start = read_start(arguments.auto, settings, sink)
    sink.stop()
    assert seconds is not None
    assert start is not None

    def work(
        recipe: Recipe, folder: RunFolder, sink: Sink, observer: Observer, resuming: bool
    ) -> Trained | None:
        from spnc.search.auto.loop import auto

        del recipe
        words = ["--auto", arguments.auto, "--budget", budget]
        words += [word for setting in settings for word in ("--set", setting)]
        with _keeping_tries(folder, sink, resuming, words) as journal:
            return auto(start, Budget(seconds, began=began), sink, observer, journal)
        return None

    return start.recipe, work


def _train(
    recipe: Recipe, folder: RunFolder, sink: Sink, observer: Observer, resuming: bool
) -> Trained | None:
    """One training; None after an interruption, of which was told."""
    from spnc.cli.output import complain, writing
    from spnc.pipeline import compile_recipe, train_compiled

    compiled = compile_recipe(recipe, sink, observer)
    resume = folder.read_checkpoint(compiled, sink) if resuming else None
    sink.stop()
    with writing(folder.path):
        folder.begin(compiled, resuming=resume is not None)
    try:
        with _termination_interrupts():
            trained = train_compiled(compiled, sink, observer, resume=resume, keep=folder.keep)
    except KeyboardInterrupt:
        saved = folder.write_checkpoint()
        if folder.latest is None or not saved:
            complain(sink.diagnostics)
            raise
        done = folder.latest.history[-1].iteration
        what = f"interrupted after iteration {done}; saved in {folder.checkpoint}"
        _tell(folder, sink, what)
        return None
    with writing(folder.path):
        folder.finish(trained)
    return trained


def _search(
    recipe: Recipe, folder: RunFolder, sink: Sink, observer: Observer, resuming: bool
) -> Trained | None:
    """One training for every try; None after an interruption, of which was told."""
    from spnc.search.grid import search

    with _keeping_tries(folder, sink, resuming, [str(folder.lock)]) as journal:
        return search(recipe, sink, observer, journal)
    return None


@contextmanager
def _keeping_tries(
    folder: RunFolder, sink: Sink, resuming: bool, words: list[str]
) -> Iterator[SearchFolder]:
    """A journal in the run folder. An interruption ends the block, after telling what is kept.

    `words` are what `spnc train` has to be given to go on.
    """
    from spnc.cli.output import writing
    from spnc.diagnostics import counted
    from spnc.search.journal import SearchFolder

    journal = SearchFolder(folder, resuming, words)
    try:
        with _termination_interrupts(), writing(folder.path):
            yield journal
    except KeyboardInterrupt:
        if journal.trying == 0 or not journal.established:
            raise
        folder.write_checkpoint()
        done = {outcome.number for outcome in journal.outcomes}
        finished = counted(len(done), "finished try", "finished tries")
        at = "between tries" if journal.trying in done else f"in try {journal.trying}"
        _tell(folder, sink, f"interrupted {at}; {finished} kept in {folder.path}")


def _tell(folder: RunFolder, sink: Sink, what: str) -> None:
    """Say what an interruption left, and how to go on."""
    from spnc.cli.output import complain, say

    complain(sink.diagnostics)
    if folder.recipe.is_file():
        model = next(iter(sorted(folder.path.glob("best-*.spnc"))), folder.path)
        what += f"\nthe best so far: {model}, from {folder.recipe}"
    say(f"{what}\ngo on with: {folder.go_on()}", aside=True)


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
    from spnc.cli.output import table
    from spnc.common.wording import duration
    from spnc.diagnostics import counted

    model, fit, seconds = metrics["model"], metrics["optimizer"], metrics["seconds"]
    splits = table(
        ["split", "rows", "avg log-likelihood", "impossible rows"],
        [(s, m["rows"], m["avg_ll"], m["impossible_rows"]) for s, m in metrics["splits"].items()],
    )
    pruned = []
    if "prune" in metrics:
        edges, kept = metrics["prune"]["edges"], metrics["prune"]["kept"]
        pruned = [f"pruned from {edges['before']:,} to {edges['after']:,} edges; kept: {kept}"]
        if edges["before"] == edges["after"]:
            pruned = ["nothing to prune"]
    took = duration(seconds["total"])
    if "search" in metrics:
        took = f"{counted(len(metrics['search']['tries']), 'try', 'tries')} in "
        took += duration(metrics["search"]["seconds"])
    lines = [
        f"{name}: {model['nodes']:,} nodes, {model['edges']:,} edges, {model['layers']} layers, "
        f"{model['parameters']:,} parameters",
        "",
        splits,
        "",
        *([tries_table(metrics["search"]), ""] if "search" in metrics else []),
        f"{fit['method']} stopped by {fit['stopped']} after {fit['iterations']} iterations; "
        f"kept: {fit['kept']}, iteration {fit['kept_iteration']}",
        *pruned,
        *([f"no GPU: {metrics['passed_over']}"] if "passed_over" in metrics else []),
        f"{took} on {metrics['backend']}, seed {metrics['seed']}; written to {path}",
    ]
    return "\n".join(lines)


def tries_table(found: dict[str, Any]) -> str:
    """The tries of a search, the chosen one marked; of very many, the best."""
    from spnc.cli.output import table
    from spnc.common.wording import duration
    from spnc.spec.search_section import value_text
    from spnc.spec.space import short_names

    tries = found["tries"]
    shown = tries
    if len(tries) > _MOST_SHOWN:
        worst = float("-inf")
        by_rank = sorted(
            tries,
            key=lambda t: (
                -t["valid_impossible"],
                worst if t["valid"] is None else t["valid"],
                -t["try"],
            ),
        )
        best = {t["try"] for t in by_rank[-_MOST_SHOWN:]}
        shown = [t for t in tries if t["try"] in best]
    names = list(found["choices"])
    impossible = any(t["valid_impossible"] for t in shown)  # these count before the average
    head = ["", "try", *short_names(names), "valid", *(["impossible"] if impossible else [])]
    lines = table(
        [*head, "train", "edges", "iterations", "time"],
        [
            (
                "→" if t["chosen"] else "",
                t["try"],
                *(value_text(t["values"][name]) for name in names),
                t["valid"],
                *([int(t["valid_impossible"])] if impossible else []),
                t["train"],
                t["edges"],
                t["iterations"],
                duration(t["seconds"]),
            )
            for t in shown
        ],
    )
    if len(shown) < len(tries):
        lines += f"\n  the best {len(shown)} of {len(tries):,} tries; all are in tries.csv"
    return lines
