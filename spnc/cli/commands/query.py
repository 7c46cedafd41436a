"""`spnc query`: ask a model questions."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, command
from spnc.cli.table_output import to_standard_output, write_table

if TYPE_CHECKING:
    from spnc.diagnostics import Sink, Source
    from spnc.model import Model
    from spnc.questions.answers import Answer
    from spnc.questions.question import Question

STANDARD_INPUT = "-"


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "query",
        run,
        "ask a model questions: probabilities, means, the most likely values, …",
        examples=(
            'spnc query runs/quickstart/model.spnc "P(pixel_3_3 = 1 | pixel_3_4 = 0)"',
            'spnc query runs/quickstart/model.spnc "H[pixel_3_3]" "H[pixel_3_4]" --json',
        ),
    )
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "questions",
        metavar="QUESTION",
        nargs="*",
        help="questions (see docs/questions.md); without any, a prompt or standard input",
    )
    parser.add_argument(
        "--file", metavar="FILE", help="read questions from this file; - is standard input"
    )
    parser.add_argument(
        "--seed", type=_whole, default=0, metavar="S", help="which rows are drawn (default: 0)"
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw a density or a table by groups, as .png or .svg"
    )
    parser.add_argument(
        "--table",
        metavar="DATA",
        help="ask for every row of this table; `*` in the evidence is the row's other cells",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the table with its answers to this .csv, .tsv, .parquet or .arrow file",
    )
    add_json(parser)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 0")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Answer the questions of the command line, of a file, or of a prompt."""
    from spnc.diagnostics import Sink
    from spnc.model import load

    sink = Sink()
    _check_options(arguments, sink)
    sink.stop()
    model = load(arguments.model)
    asked = bool(arguments.questions) or arguments.file is not None
    special = arguments.json or arguments.plot is not None or arguments.table is not None
    if not asked and not special and sys.stdin is not None and sys.stdin.isatty():
        from spnc.cli.prompt import converse, line_editing

        with line_editing(model):
            converse(model, arguments.seed)
        return 0
    questions = _questions(arguments, model, sink)
    if arguments.table is not None:
        return _answer_table(arguments, model, questions, sink)
    if arguments.plot is not None:
        _check_plot(questions, sink)
    sink.stop()
    _show(arguments, model, questions)
    return 0


def _check_options(arguments: argparse.Namespace, sink: Sink) -> None:
    """Report options that do not go together (E816), and a picture that cannot be written."""
    from spnc.cli.commands.plot import picture_file

    if arguments.output is not None and arguments.table is None:
        help = "give --table DATA, or redirect the output: > FILE"
        sink.error("E816", "--output is where a table is written, but there is none", help=help)
    if arguments.table is not None:
        for name in ("plot", "json"):
            if getattr(arguments, name):
                message = f"--{name} does not go with --table, whose answers are a CSV file"
                sink.error("E816", message, help=f"leave out --{name}")
    if arguments.plot is not None:
        picture_file(arguments.plot, sink)


def _questions(arguments: argparse.Namespace, model: Model, sink: Sink) -> list[Question]:
    """Return all questions, after reporting every mistake in them."""
    from spnc.questions.binder import read_questions

    with_rows = arguments.table is not None
    found: list[Question] = []
    for source in _sources(arguments, sink):
        found += read_questions(source, model.columns, sink, with_rows=with_rows)
    sink.stop()
    return found


def _sources(arguments: argparse.Namespace, sink: Sink) -> list[Source]:
    from spnc.diagnostics import Source, read_source

    many = len(arguments.questions) > 1
    found = [
        Source(f"question {i}" if many else "question", text)
        for i, text in enumerate(arguments.questions, 1)
    ]
    if arguments.file == STANDARD_INPUT or (arguments.file is None and not found):
        text = "" if sys.stdin is None else sys.stdin.read()
        found.append(Source("standard input", text))
    elif arguments.file is not None:
        source = read_source(Path(arguments.file), sink)
        found += [] if source is None else [source]
    return found


def _check_plot(questions: list[Question], sink: Sink) -> None:
    """Report questions that do not make one picture (E814)."""
    from spnc.questions.question import has_picture

    drawn = sum(map(has_picture, questions))
    if drawn != 1:
        which = f"{drawn} of these questions have" if drawn else "none of these questions has"
        message = f"--plot draws one answer, but {which} a picture"
        help = "ask one question such as `density of income` or `E[income by region]`"
        sink.error("E814", message, help=help)


def _show(arguments: argparse.Namespace, model: Model, questions: list[Question]) -> None:
    """Print the answers, each as soon as it is known; as JSON, all together."""
    from spnc.cli.output import say
    from spnc.questions.answering import answer

    found: list[Answer] = []
    for question in questions:
        found.append(answer(model.program, model.parameters, question, arguments.seed))
        if not arguments.json:
            say(repr(found[-1]))
    if arguments.plot is not None:
        _draw(found, arguments.plot)
    if arguments.json:
        answers = [one.to_json() for one in found]
        print(json.dumps({"ok": True, "model": model.name, "answers": answers}, indent=2))
    elif arguments.plot is not None:
        say(f"\npicture written to {arguments.plot}")


def _draw(answers: list[Answer], file: str) -> None:
    from spnc.common.atomic import write_bytes
    from spnc.diagnostics import writing
    from spnc.reports.plots.answers import can_be_drawn, picture

    path = Path(file)
    for one in answers:
        if can_be_drawn(one):  # an impossible one has no picture
            with writing(path):
                write_bytes(path, picture(one, path.suffix.lower()))


def _answer_table(
    arguments: argparse.Namespace, model: Model, questions: list[Question], sink: Sink
) -> int:
    """Write a table as it is, with the answers to the questions as further columns."""
    from spnc.cli.output import complain
    from spnc.diagnostics import counted
    from spnc.questions.row_answers import answer_rows, check_for_rows
    from spnc.tables.source_rows import is_typed, read_rows
    from spnc.tables.table_files import check_form

    check_form(arguments.output, sink)
    check_for_rows(questions, sink)
    sink.stop()
    names = [question.text for question in questions]
    found = read_rows(
        arguments.table,
        sink,
        columns=model.columns,
        rules=model.rules,
        new=names,
        typed=is_typed(arguments.output),
    )
    rows = sink.require(found)
    complain(sink.diagnostics)
    answers = [answer_rows(model.engine, model.parameters, q, rows.table) for q in questions]
    table = rows.carried.added(dict(zip(names, answers, strict=True)))
    added = counted(len(names), "column")
    line = f"{arguments.output}: {counted(rows.table.rows, 'row')}, {added} added"
    write_table(arguments, table.data, {}, [] if to_standard_output(arguments) else [line])
    return 0
