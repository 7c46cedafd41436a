"""`spnc train`: from a spec to a run folder with a trained model."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import (
    add_jobs,
    add_json,
    add_plugins,
    add_quiet,
    add_settings,
    command,
    settings_of,
)

if TYPE_CHECKING:
    from spnc.runs.metrics import Metrics, SearchMetrics
    from spnc.trained import Trained

_ENDED = {"objective": "fit to the objective", "pruning": "fit after pruning"}
_MOST_SHOWN = 40  # tries in the table on the screen


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "train",
        run,
        "train a spec's forest and keep it in a run folder",
        examples=(
            "spnc train specs/quickstart.yaml",
            "spnc train --auto builtin:asia --budget 1min",
        ),
    )
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
        help="the time to spend, then the best so far is kept: 90s, 10min, 2h, 1h30m (default: "
        "with --auto 10min, else the spec's limits)",
    )
    parser.add_argument(
        "--log", metavar="FILE", help="append what happens to this file, a line of JSON each"
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
        "--resume",
        action="store_true",
        help="continue the run in --out to the same bits; if it is finished, show it",
    )
    add_jobs(parser)
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="compute on a Dask cluster: its scheduler, tcp://HOST:PORT, or local:N for N worker "
        "processes on this machine (sets `cluster.address` of the spec)",
    )
    add_settings(parser)
    add_plugins(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train, write the run folder, show the result."""
    began = time.monotonic()  # before anything heavy is imported: a budget includes that
    from spnc.api import train, train_auto
    from spnc.cli.output import complain, say
    from spnc.common.progress_display import observing
    from spnc.runs.interruption import Interrupted
    from spnc.search.auto.start import DEFAULT_BUDGET

    settings = settings_of(arguments)
    if arguments.cluster is not None:
        settings = [*settings, f"cluster.address={arguments.cluster}"]
    folder: dict[str, Any] = {
        "out": True if arguments.out is None else arguments.out,
        "resume": arguments.resume,
        "overwrite": arguments.overwrite,
        "log": arguments.log,
        "n_jobs": arguments.jobs,
        "began": began,
    }
    if arguments.auto is not None and arguments.allow_plugins:
        _no_plugins()
    try:
        with observing(arguments.quiet) as observer:
            if arguments.auto is None:
                trained = train(
                    arguments.spec,
                    settings,
                    **folder,
                    progress=observer,
                    allow_plugins=arguments.allow_plugins,
                    budget=arguments.budget,
                )
            else:
                budget = DEFAULT_BUDGET if arguments.budget is None else arguments.budget
                trained = train_auto(arguments.auto, budget, settings, **folder, progress=observer)
    except Interrupted as interruption:
        complain(interruption.diagnostics)
        say(str(interruption), aside=True)
        return 130
    complain(trained.diagnostics)
    if arguments.json:
        diagnostics = [d.as_json() for d in trained.diagnostics]
        facts = {"ok": True, "run": str(trained.run), **trained.metrics.to_json()}
        print(json.dumps({**facts, "diagnostics": diagnostics}, indent=2))
    else:
        say(summary(trained))
    return 0


def _no_plugins() -> None:
    """Refuse --allow-plugins with --auto, which reads no spec."""
    from spnc.diagnostics import Sink, Source
    from spnc.spec.override import COMMAND_LINE

    sink = Sink()
    line = Source(COMMAND_LINE, "--allow-plugins")
    sink.error(
        "E136",
        "--allow-plugins is for specs, and --auto reads none",
        line.span_at(0, len(line.text)),
        help="name the file before the command: spnc --plugin FILE train --auto …",
    )
    sink.stop()


def summary(trained: Trained) -> str:
    """Return what a training came to, for people."""
    from spnc.cli.output import table
    from spnc.common.wording import duration
    from spnc.diagnostics import counted
    from spnc.runs.fit_metrics import ALONE

    metrics = trained.metrics
    model, fit = metrics.model, metrics.optimizer
    objective = metrics.objective
    named = f"of {', '.join(objective.target)} given the rest" if objective is not None else ""
    splits = table(
        ["split", "rows", "avg log-likelihood", *([named] if named else []), "impossible rows"],
        [
            (n, s.rows, s.avg_ll, *([s.conditional_ll] if named else []), s.impossible_rows)
            for n, s in metrics.splits.items()
        ],
    )
    refined = []
    if objective is not None and objective.stopped == ALONE:
        refined = [f"each component was fitted to the {objective.kind} objective on its own"]
    elif objective is not None:
        refined = [
            f"of these, {objective.iterations} iterations fitted it to the {objective.kind} "
            f"objective, and {objective.kept_iteration} were kept"
        ]
        if objective.start is not None and objective.reached is not None:
            refined[0] += (
                f": {objective.start:.4f} to {objective.reached:.4f} on {objective.judged_on}"
            )
    pruned = []
    if (prune := metrics.prune) is not None:
        before, after = prune.edges_before, prune.edges_after
        pruned = [f"pruned from {before:,} to {after:,} edges; kept: {prune.kept}"]
        if before == after:
            pruned = ["nothing to prune"]
    took = f"{duration(metrics.seconds['total'])} on {metrics.backend}"
    if (planning := metrics.seconds.get("plan")) is not None:
        took += f", {planning / max(metrics.seconds['total'], 1e-9):.0%} of it planning"
    if (search := metrics.search) is not None:
        took = f"{counted(len(search.tries), 'try', 'tries')} in {duration(search.seconds)}"
        took += f" on {metrics.backend}"
    lines = [
        f"{trained.model.name}: {model['nodes']:,} nodes, {model['edges']:,} edges, "
        f"{model['layers']} layers, {model['parameters']:,} parameters",
        "",
        splits,
        "",
        *([tries_table(search), ""] if search is not None else []),
        f"{fit.method} stopped by {fit.stopped} after {fit.iterations} iterations; "
        f"kept: {fit.kept}, iteration {fit.kept_iteration}",
        *refined,
        *pruned,
        *([limit_line(metrics)] if metrics.limits is not None else []),
        *([f"no GPU: {metrics.passed_over}"] if metrics.passed_over is not None else []),
        f"{took}, seed {metrics.seed}; written to {trained.run}",
        *(["it was finished already, and nothing was trained"] if trained.was_finished else []),
    ]
    return "\n".join(lines)


def limit_line(metrics: Metrics) -> str:
    """Return what the limits did, in a line."""
    from spnc.common.quantities import about, size_text
    from spnc.common.wording import duration

    limits = metrics.limits
    assert limits is not None
    found = []
    if limits.time is not None:
        text = f"the time limit of {duration(limits.time)} "
        if limits.ended is None:
            found.append(text + "was not reached")
        else:
            unfinished = {"pruning": "; the circuit is not pruned"}.get(limits.ended, "")
            found.append(text + f"ended the {_ENDED.get(limits.ended, limits.ended)}{unfinished}")
    if limits.memory is not None:
        most = f" of {about(limits.peak_memory)}" if limits.peak_memory is not None else ""
        found.append(f"peak memory{most}, limit {size_text(limits.memory)}")
    return "; ".join(found)


def tries_table(search: SearchMetrics) -> str:
    """Return the tries of a search as a table, the chosen one marked; of very many, the best."""
    from spnc.cli.output import table
    from spnc.common.wording import duration
    from spnc.spec.search_section import value_text
    from spnc.spec.space import short_names

    tries = shown = search.tries
    if len(tries) > _MOST_SHOWN:
        worst = float("-inf")
        by_rank = sorted(
            tries,
            key=lambda t: (
                -t.valid_impossible,
                worst if t.valid is None else t.valid,
                -t.number,
            ),
        )
        best = {t.number for t in by_rank[-_MOST_SHOWN:]}
        shown = tuple(t for t in tries if t.number in best)
    names = list(search.choices)
    impossible = any(t.valid_impossible for t in shown)  # these count before the average
    head = ["", "try", *short_names(names), "valid", *(["impossible"] if impossible else [])]
    lines = table(
        [*head, "train", "edges", "iterations", "time"],
        [
            (
                "→" if t.chosen else "",
                t.number,
                *(value_text(t.values[name]) for name in names),
                t.valid,
                *([t.valid_impossible] if impossible else []),
                t.train,
                t.edges,
                t.iterations,
                duration(t.seconds),
            )
            for t in shown
        ],
    )
    if len(shown) < len(tries):
        lines += f"\n  the best {len(shown)} of {len(tries):,} tries; all are in tries.csv"
    return lines
