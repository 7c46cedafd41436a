"""Words for people: nothing hidden in them reaches a terminal, tables line up, times are said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc.cli.commands
from spnc.cli import main
from spnc.cli.output import table
from spnc.common.wording import clipped, duration, visible, width, with_article
from spnc.diagnostics import Diagnostic, render

EVIL = ["a\x1b[31mEVIL", "b\u202e41", "c\x9b2J", "d\u2066x", "e\rover"]
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(st.text())
def test_what_is_visible_does_not_act_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert not ACTING.search(shown)
    assert visible(shown) == shown
    assert "\n" not in shown


def test_what_is_hidden_is_named_and_what_people_write_stays() -> None:
    assert visible("weird\u202ename") == "weird<U+202E>name"
    assert visible("\x1b[31mred\x1b[0m") == "<U+001B>[31mred<U+001B>[0m"
    assert visible("a\tb\ud800") == "a b<U+D800>"
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL} é ñ שלום 漢字 41\u202f%"
    assert visible(family) == family


@given(st.text(), st.integers(2, 20))
def test_a_clipped_text_has_room(text: str, limit: int) -> None:
    assert width(clipped(text, limit)) <= limit
    if width(visible(text)) <= limit:
        assert clipped(text, limit) == visible(text)


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    assert [width(t) for t in ("abc", "漢字", "🦊", "e\u0301", "✈\ufe0f")] == [3, 4, 2, 1, 1]
    lines = table(["name", "n"], [("漢字", 1), ("abcd", 22)]).splitlines()
    assert [width(line) for line in lines] == [width(lines[0])] * 4


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0.0 s"),
        (0.0421, "42 ms"),
        (59.94, "59.9 s"),
        (59.97, "1 min 00 s"),
        (61.6, "1 min 02 s"),
        (3599.7, "1 h 0 min"),
        (7265.0, "2 h 1 min"),
        (7199.0, "2 h 0 min"),
        (100 * 3600.0, "100 h 0 min"),
    ],
)
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_names_do_not_command_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 2},{i % 3 % 2},{i % 5 % 2},{i % 7 % 2},{i % 11 % 2}\n" for i in range(80))
    names = ",".join(f'"{name}"' for name in EVIL)
    Path("rows.csv").write_text(f"{names}\n{rows}", encoding="utf-8")
    Path("spec.yaml").write_text(
        'model: "m\\e[31m"\ndata: {source: rows.csv, split: [0.8, 0.1, 0.1], header: yes}\n'
        "forest: [{learner: extra-spn, count: 2}]\noptimizer: {max_iterations: 2}\n"
        "backend: numpy\n",
        encoding="utf-8",
    )
    for line in (
        ["data", "show", "rows.csv"],
        ["train", "spec.yaml", "--out", "run"],
        ["report", "run", "--backend", "numpy"],
        ["inspect", "run/model.spnc"],
        ["eval", "run/model.spnc", "rows.csv"],
        ["eval", "run/model.spnc", "\x1b[31mnone.csv"],
        ["plot", "history", "run"],
    ):
        main(line)
        said = capsys.readouterr()
        assert said.out + said.err, line
        assert not ACTING.search(said.out + said.err), line
    assert "<U+001B>[31mEVIL" in Path("run/report.html").read_text().replace("&lt;", "<").replace(
        "&gt;", ">"
    )


def test_a_diagnostic_shows_what_is_hidden_in_its_place() -> None:
    text = render([Diagnostic("E1", "a\x1bb", where="c\u202ed", notes=("e\x9bf",), help="g\rh")])
    assert not ACTING.search(text)
    assert "--> c<U+202E>d" in text


def test_commands_print_for_people_through_one_place_only() -> None:
    """What is printed otherwise is JSON, or a text that was asked for as it is."""
    (folder,) = spnc.cli.commands.__path__
    for file in Path(folder).glob("*.py"):
        if file.name in ("explain.py", "format.py", "schema.py"):
            continue
        for call in re.findall(r"print\((.*)", file.read_text(encoding="utf-8")):
            assert re.match(r"json\.dumps|texts\.get", call), f"{file.name}: print({call}"


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("indicator", "an indicator"),
        ("bernoulli", "a bernoulli"),
        ("Axes", "an Axes"),
    ],
)
def test_the_article_fits_the_noun(noun: str, expected: str) -> None:
    assert with_article(noun) == expected
