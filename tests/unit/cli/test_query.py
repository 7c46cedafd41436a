"""`spnc query`: questions from the command line, files and standard input; tables; the prompt."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.cli.prompt import converse, line_editing
from spnc.model import Model
from tests.places import ROOT


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("model") / "penguins.spnc"
    spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn").save(found)
    return found


def printed(line: list[object], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["query", *map(str, line)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_questions_are_answered_in_order_wherever_they_stand(path, capsys) -> None:
    before = printed([path, "H[sex]", "E[age]", "--seed", "3"], capsys)
    assert before.splitlines() == ["H[sex] = 0.693147 nats", "E[age] = 3.3"]
    assert printed([path, "--seed", "3", "H[sex]", "E[age]"], capsys) == before
    assert printed([path, "H[sex]", "--seed", "3", "E[age]"], capsys) == before


def test_files_and_standard_input_are_read(path, capsys, monkeypatch, tmp_path) -> None:
    text = "# two questions\nH[sex]\n\nE[age]\n"
    file = tmp_path / "questions.txt"
    file.write_text(text, encoding="utf-8")
    expected = printed([path, "H[sex]; E[age]"], capsys)
    assert printed([path, "--file", file], capsys) == expected
    for more in ([], ["--file", "-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert printed([path, *more], capsys) == expected


def test_answers_as_json_are_those_of_python(path, capsys) -> None:
    text = "P(sex = male by species)"
    found = json.loads(printed([path, text, "--json"], capsys))
    answer = spnc.load(path).query(text)
    assert not isinstance(answer, list)
    assert found == {"ok": True, "model": "penguins", "answers": [answer.to_json()]}


def test_wrong_questions_are_json_too(path, capsys) -> None:
    assert main(["query", str(path), "H[sexx]", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [d["code"] for d in found["diagnostics"]] == ["E803"]


@pytest.mark.parametrize(
    "text",
    [
        "density of body_mass",
        "density of seen_on by sex",
        "density of species by sex",
        "density of eggs",
        "E[body_mass by species, island]",
        "median[seen_on by sex]",
        "P(sex = male by species)",
    ],
)
def test_a_picture_is_drawn_and_is_the_same_every_time(text, path, capsys, tmp_path) -> None:
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        assert printed([path, text, "H[sex]", "--plot", file], capsys).endswith(f"{file}\n")
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith(b"<?xml")


def test_a_table_gets_a_column_for_each_question(path, capsys, tmp_path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "species,flag,body_mass\nAdelie,007,3700\n,,5100\nGentoo,12,\n", encoding="utf-8"
    )
    texts = ["P(species = Gentoo | *)", "E[body_mass | *]", "P(sex = male)"]
    out = printed([path, "--table", rows, *texts], capsys)
    found = list(csv.DictReader(io.StringIO(out)))
    model = spnc.load(path)

    def value(question: str) -> float:
        answer = model.query(question)
        assert not isinstance(answer, list)
        return float(answer)

    gentoo = [float(row[texts[0]]) for row in found]
    both, mass = (
        model.log_likelihood([{"body_mass": m, **more} for m in (3700, 5100)])
        for more in ({"species": "Gentoo"}, {})
    )
    expected = [*np.exp(both - mass), value("P(species = Gentoo)")]
    assert gentoo == pytest.approx(expected, rel=1e-9)
    means = [float(row[texts[1]]) for row in found]
    known = ["| species = Adelie", "", "| species = Gentoo"]
    assert means == pytest.approx([value(f"E[body_mass {given}]") for given in known], rel=1e-9)
    assert [float(row[texts[2]]) for row in found] == pytest.approx([0.5] * 3)
    assert [row["species"] for row in found] == ["Adelie", "", "Gentoo"]
    assert [row["flag"] for row in found] == ["007", "", "12"]  # as it was, though not modelled
    file = tmp_path / "answers.csv"
    said = printed([path, "--table", rows, *texts, "-o", file], capsys)
    assert said == f"{file}: 3 rows, 3 columns added\n"
    assert file.read_text(encoding="utf-8") == out


def test_impossible_rows_have_an_empty_cell(path, capsys, tmp_path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("species\nAdelie\nGentoo\n", encoding="utf-8")
    text = "P(sex = male | *, species = Gentoo)"
    found = list(csv.DictReader(io.StringIO(printed([path, "--table", rows, text], capsys))))
    assert found[0][text] == ""
    assert float(found[1][text]) == pytest.approx(0.5)


# ---- the prompt ----------------------------------------------------------------------------


def talk(path: Path, lines: Iterable[str | BaseException]) -> list[str]:
    """The prompts of a conversation, in which lines are typed until they end."""
    prompts: list[str] = []
    typed = iter(lines)

    def read(prompt: str) -> str:
        prompts.append(prompt)
        line = next(typed, EOFError())
        if isinstance(line, BaseException):
            raise line
        return line

    converse(spnc.load(path), 0, read)
    return prompts


def test_the_prompt_answers_until_the_end_of_the_input(path, capsys) -> None:
    prompts = talk(path, ["H[sex]", "", "# nothing", "E[age]; E[eggs]"])
    assert prompts == ["penguins> "] * 5
    out = capsys.readouterr().out
    for line in ("H[sex] = 0.693147 nats", "E[age] = 3.3", "E[eggs] = 1.5"):
        assert line in out


def test_mistakes_and_interruptions_do_not_end_the_conversation(path, capsys) -> None:
    prompts = talk(
        path, ["H[sexx]", KeyboardInterrupt(), "P(sex = ", KeyboardInterrupt(), "H[sex]"]
    )
    assert prompts == ["penguins> ", "penguins> ", "penguins> ", "... ", "penguins> ", "penguins> "]
    said = capsys.readouterr()
    assert "did you mean `sex`?" in said.err
    assert "H[sex] = 0.693147 nats" in said.out


def test_an_answer_can_be_interrupted(path, capsys, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Model, "query", interrupted)
    assert len(talk(path, ["H[sex]"])) == 2
    assert capsys.readouterr().err == "interrupted\n"


def test_a_question_goes_on_while_a_bracket_is_open(path, capsys) -> None:
    assert talk(path, ["P(sex = male |", "  age = 1)"]) == ["penguins> ", "... ", "penguins> "]
    assert "= 0.5 " in capsys.readouterr().out
    talk(path, ["P(sex = male", ""])
    assert "`(` is not closed" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["exit", "quit", "quit()"])
def test_words_that_end_the_conversation(word: str, path, capsys) -> None:
    assert talk(path, [word, "H[sex]"]) == ["penguins> "]


def test_help_and_columns(path, capsys) -> None:
    talk(path, ["help", "columns"])
    out = capsys.readouterr().out
    assert "most likely age, income | sex = F" in out
    assert "Adelie, Chinstrap, Gentoo" in out


def test_line_editing_completes_and_keeps_its_history(path, monkeypatch, tmp_path) -> None:
    readline = pytest.importorskip("readline")
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path))
    line = 'P(species = Adelie, "two'
    monkeypatch.setattr(readline, "get_line_buffer", lambda: line)
    monkeypatch.setattr(readline, "get_endidx", lambda: len("P(species = A"))
    with line_editing(spnc.load(path)):
        complete = readline.get_completer()
        assert [complete("A", 0), complete("A", 1)] == ["Adelie", None]
    assert readline.get_completer() is None
    assert (tmp_path / "query_history").is_file()


def test_a_terminal_opens_the_prompt(path, capsys, monkeypatch, tmp_path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("SPNC_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", Terminal("H[sex]\n"))
    assert main(["query", str(path)]) == 0
    assert "H[sex] = 0.693147 nats" in capsys.readouterr().out
