"""`spnc eval`: how well does a model explain data?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from spnc.cli.arguments import add_json, add_quiet, add_rows, backend_of, check_split, command

STANDARD_OUTPUT = "-"


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "eval",
        run,
        "compute the average log-likelihood of data under a model",
        examples=(
            "spnc eval runs/quickstart/model.spnc builtin:digits",
            "spnc eval runs/quickstart/model.spnc builtin:digits --per-row -",
        ),
    )
    parser.add_argument("model", help="a .spnc model")
    add_rows(parser, "only this split of the data")
    parser.add_argument(
        "--per-row",
        metavar="FILE",
        help="write the log-likelihood of each row as CSV to this file, or to standard output "
        "for -",
    )
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate piece by piece, equal rows only once, and print a line per split."""
    from spnc.cli.output import complain, say, table
    from spnc.common.progress_display import observing
    from spnc.data.stream import stream_table
    from spnc.diagnostics import Sink
    from spnc.model import read_model
    from spnc.program.score import Score

    to_output = arguments.per_row == STANDARD_OUTPUT
    if to_output and arguments.json:
        say("spnc eval: --json and --per-row - both write to standard output", aside=True)
        return 2
    sink = Sink()
    read = read_model(Path(arguments.model), sink)
    backend = backend_of(arguments, sink)
    model = sink.require(read)
    model.backend = sink.require(backend)
    scores: dict[str, Score] = {}
    rows: dict[str, int] = {}
    # A progress display would be drawn over the rows.
    quiet = arguments.quiet or (to_output and sys.stdout is not None and sys.stdout.isatty())
    with ExitStack() as files, observing(quiet) as observer:
        observer.stage("evaluating")
        sink.add(model.backend.prepare(model.program, observer.progress))
        per_row = None if arguments.per_row is None else _PerRow(arguments.per_row, files)
        for split, piece in stream_table(
            arguments.data,
            sink,
            columns=model.columns,
            rules=model.rules,
            progress=observer.progress,
        ):
            begin = rows.setdefault(split, 0)
            rows[split] += piece.rows
            if arguments.split not in (None, split):
                continue
            distinct, inverse = piece.distinct_with_inverse()
            batch = model.engine.load(distinct, once=True)
            found = model.engine.log_likelihood(model.parameters, batch)
            scores[split] = scores.get(split, Score()) + Score.of(found, distinct.weights)
            if per_row is not None:
                per_row.write(split, begin, found.tolist(), inverse.tolist())
        sink.stop()
        check_split(arguments, rows, sink)
        sink.stop()
        if per_row is not None:
            per_row.close()
    complain(sink.diagnostics)
    results = {split: score.as_json(rows[split]) for split, score in scores.items()}
    if arguments.json:
        print(json.dumps({"ok": True, "model": model.name, "splits": results}, indent=2))
    else:
        rows_of = [(n, r["rows"], r["avg_ll"], r["impossible_rows"]) for n, r in results.items()]
        head = ["split", "rows", "avg log-likelihood", "impossible rows"]
        say(table(head, rows_of), aside=to_output)
    return 0


class _PerRow:
    """Writes the log-likelihood of each row as CSV to standard output, or to a file.

    The file appears when `close` is called, complete. If the run fails before, `files` discards
    what was written, and an earlier file of that name stays.
    """

    def __init__(self, name: str, files: ExitStack) -> None:
        self._name, self._files = name, files
        self._file: BinaryIO | None = None
        self._begun = False

    def write(
        self, split: str, rows_before: int, values: Sequence[float], which: Sequence[int]
    ) -> None:
        """Write a line per row; its log-likelihood is `values[i]` for the next i in `which`."""
        texts = list(map(repr, values))
        lines = (f"{split},{row},{texts[i]}\n" for row, i in enumerate(which, rows_before + 1))
        head = [] if self._begun else ["split,row,log_likelihood\n"]
        self._begun = True
        from spnc.common.atomic import replacing
        from spnc.diagnostics import writing

        if self._name == STANDARD_OUTPUT:
            if sys.stdout is not None:  # it was closed
                with writing("standard output"):
                    sys.stdout.writelines(chain(head, lines))
                    sys.stdout.flush()
            return
        with writing(self._name):
            if self._file is None:
                self._file = self._files.enter_context(replacing(Path(self._name)))
            self._file.writelines(map(str.encode, chain(head, lines)))

    def close(self) -> None:
        """Put the complete file in place."""
        from spnc.diagnostics import writing

        with writing(self._name):
            self._files.close()
