"""Questions to a model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

import spnc
from spnc.diagnostics import Sink, read_source
from spnc.questions.answering import answer
from spnc.questions.binder import read_questions
from spnc.questions.question import Sample
from tests.fuzz.harness import GOLDEN, Harness, Input, stop
from tests.fuzz.mutation import grammar_words, mutated_text

_MOST_ROWS = 1000  # that are drawn; more only take time
_WORDS = grammar_words("questions.lark")


class Questions(Harness):
    """Questions are read, for a model and for rows of a table; a model answers good ones."""

    name = "questions"
    endings = (".txt",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.model = spnc.compile(GOLDEN / "good/circuits/mixed.spn")
        names = [column.name for column in self.model.columns]
        labels = [label for column in self.model.columns for label in column.labels or ()]
        own = [str(word).encode() for word in (*names, *labels)]
        self.words = (*_WORDS, *own, b"E", b"SD", b"Var", b"median", b"not", b"..", b"*", b"==")

    def seeds(self) -> Iterable[Input]:
        """Return every line of the golden files: a question or a few, or a part of one."""
        for given in self.files("tests/golden/*/questions/*.txt"):
            yield from (Input(given.ending, line) for line in given.content.splitlines())

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return questions with changed characters, and words of the grammar and of the model."""
        return mutated_text(given.content, random, self.words)

    def read(self, path: Path) -> None:
        """Read questions and answer them, as `spnc query` does."""
        for_rows = Sink()
        source = read_source(path, Sink())
        if source is not None:
            read_questions(source, self.model.columns, for_rows, with_rows=True)
        sink = Sink()
        source = read_source(path, sink)
        found = read_questions(source, self.model.columns, sink) if source is not None else []
        stop(sink)
        for question in found:
            if isinstance(question, Sample) and question.rows > _MOST_ROWS:
                continue
            given = answer(self.model.program, self.model.parameters, question)
            repr(given).encode()
            json.dumps(given.to_json())
