"""`spnc eval`: how well does a model explain data?"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from spnc.cli.arguments import add_json, add_quiet, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "eval", run, "average log-likelihood of data under a model")
    parser.add_argument("model", help="a .spnc model")
    parser.add_argument("data", help="a file, builtin:NAME or debd:NAME")
    parser.add_argument("--split", metavar="NAME", help="only this split of the data")
    parser.add_argument(
        "--per-row", metavar="FILE", help="write each row's log-likelihood to a CSV file"
    )
    parser.add_argument("--backend", metavar="NAME", default="auto", help="what computes")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, and show a line per split."""
    from spnc.atomic import write_text
    from spnc.backends import Score
    from spnc.cli.output import complain, table, writing
    from spnc.cli.progress import watching
    from spnc.data.load import load_table
    from spnc.diagnostics import Sink, did_you_mean
    from spnc.model import read_model
    from spnc.registry import BACKENDS

    sink = Sink()
    model = read_model(Path(arguments.model), sink)
    if arguments.backend not in BACKENDS:
        sink.error(
            "E109",
            f"no backend is named `{arguments.backend}`",
            help=did_you_mean(arguments.backend, BACKENDS),
        )
    sink.stop()
    assert model is not None
    model.backend = BACKENDS[arguments.backend]()
    with watching(arguments.quiet) as watch:
        watch.stage("reading data")
        dataset = load_table(arguments.data, sink, columns=model.columns, progress=watch.progress)
        sink.stop()
        assert dataset is not None
        splits = dict(dataset.splits)
        if arguments.split is not None:
            if arguments.split not in splits:
                sink.error(
                    "E318",
                    f"`{arguments.data}` has no split `{arguments.split}`",
                    help=did_you_mean(arguments.split, splits),
                )
                sink.stop()
            splits = {arguments.split: splits[arguments.split]}
        watch.stage("evaluating")
        results, lines = {}, ["split,row,log_likelihood"]
        for name, rows in splits.items():
            found = model.engine.log_likelihood(model.parameters, model.engine.load(rows))
            score = Score.of(found, rows.weights)
            results[name] = score.as_json(rows.rows)
            if arguments.per_row is None:
                continue
            lines += [f"{name},{i},{value!r}" for i, value in enumerate(found.tolist(), 1)]
    if arguments.per_row is not None:
        with writing(arguments.per_row):
            write_text(Path(arguments.per_row), "\n".join([*lines, ""]))
    complain(sink.diagnostics)
    if arguments.json:
        print(json.dumps({"ok": True, "model": model.name, "splits": results}, indent=2))
    else:
        rows_of = [(n, r["rows"], r["avg_ll"], r["impossible_rows"]) for n, r in results.items()]
        print(table(["split", "rows", "avg log-likelihood", "impossible rows"], rows_of))
    return 0
