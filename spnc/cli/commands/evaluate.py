"""`spnc eval`: how well does a model explain data?"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from spnc.cli.arguments import add_json, add_quiet, add_rows, backend_of, check_split, command


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(subparsers, "eval", run, "average log-likelihood of data under a model")
    parser.add_argument("model", help="a .spnc model")
    add_rows(parser, "only this split of the data")
    parser.add_argument(
        "--per-row", metavar="FILE", help="write each row's log-likelihood to a CSV file"
    )
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate piece by piece, equal rows once, and show a line per split."""
    from spnc.cli.output import complain, say, table, writing
    from spnc.common.atomic import replacing
    from spnc.common.progress_display import observing
    from spnc.data.stream import stream_table
    from spnc.diagnostics import Sink
    from spnc.model import read_model
    from spnc.program.score import Score

    sink = Sink()
    model = read_model(Path(arguments.model), sink)
    backend = backend_of(arguments, sink)
    sink.stop()
    assert model is not None
    assert backend is not None
    model.backend = backend
    scores: dict[str, Score] = {}
    rows: dict[str, int] = {}
    with ExitStack() as files, observing(arguments.quiet) as observer:
        observer.stage("evaluating")
        model.backend.prepare(model.program, observer.progress)
        per_row: BinaryIO | None = None
        for split, piece in stream_table(
            arguments.data, sink, columns=model.columns, progress=observer.progress
        ):
            begin = rows.setdefault(split, 0)
            rows[split] += piece.rows
            if arguments.split not in (None, split):
                continue
            distinct, inverse = piece.distinct_with_inverse()
            batch = model.engine.load(distinct, once=True)
            found = model.engine.log_likelihood(model.parameters, batch)
            scores[split] = scores.get(split, Score()) + Score.of(found, distinct.weights)
            if arguments.per_row is not None:
                with writing(arguments.per_row):
                    if per_row is None:
                        per_row = files.enter_context(replacing(Path(arguments.per_row)))
                        per_row.write(b"split,row,log_likelihood\n")
                    texts = list(map(repr, found.tolist()))
                    per_row.writelines(
                        f"{split},{row},{texts[which]}\n".encode()
                        for row, which in enumerate(inverse.tolist(), begin + 1)
                    )
        sink.stop()
        check_split(arguments, rows, sink)
        sink.stop()
        with writing(arguments.per_row):
            files.close()
    complain(sink.diagnostics)
    results = {split: score.as_json(rows[split]) for split, score in scores.items()}
    if arguments.json:
        print(json.dumps({"ok": True, "model": model.name, "splits": results}, indent=2))
    else:
        rows_of = [(n, r["rows"], r["avg_ll"], r["impossible_rows"]) for n, r in results.items()]
        say(table(["split", "rows", "avg log-likelihood", "impossible rows"], rows_of))
    return 0
