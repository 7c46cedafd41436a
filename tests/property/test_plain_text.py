"""Texts that are read without the grammar give the graphs that the grammar gives."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spnc.diagnostics import Source
from spnc.graph.nodes import Graph
from spnc.graph.text import write_circuit_text
from tests.circuits import random_circuit
from tests.fuzz.mutation import mutated_text
from tests.fuzz.spn_files import CIRCUIT_WORDS
from tests.mixed_circuits import mixed_circuits
from tests.plain_texts import is_plain

ROOT = Path(__file__).resolve().parents[2]
CIRCUITS = sorted(
    path for folder in ("specs/circuits", "tests/golden") for path in (ROOT / folder).rglob("*.spn")
)
SEEDS = st.integers(0, 10**6)
GAPS = ("", " ", "\t", "\n", "\r\n", " # a = b * c\n", "#\n", '#"\n', " # it's }\n  ")
HEAD = "circuit a\nvariables { x: binary y: binary e: binary }\n"
SCRAPS = (
    *(*"abe=*+/~(),'\"#.", "\n", " ", '"a"', "'a'", "1", ".5", "1e5", "inf", "root", "circuit"),
    *(
        "e'",
        'e"',
        "p",
        "c = ",
        "c = 1 b",
        "c = a",
        "x ~ bernoulli(",
        "0.5)",
        "\nc = x ~ indicator(1)",
    ),
)
NEW = st.sampled_from(["c", "d", "e", "g-h.i", '"root"', "'f'", 'e"\\n"', "root"])
KNOWN = st.sampled_from(["a", "b", '"a"', "'b'", 'e"a"'])
COLUMNS = st.sampled_from(["x", "y", "e", '"x"'])
NUMBERS = st.sampled_from(["1", "+.5", "-1.e-1", "1e5", "0."])
WEIGHTS = st.one_of(NUMBERS, st.sampled_from(["1/3", "1 / 0", "1 *", "2/+3*"]))
STATEMENTS = st.one_of(
    st.builds(
        "{} = {} ~ bernoulli({}{}) ".format, NEW, COLUMNS, st.sampled_from(["", "p="]), NUMBERS
    ),
    st.builds("{} = {} {} + {} {}\n".format, NEW, WEIGHTS, KNOWN, WEIGHTS, KNOWN),
    st.builds("{}={}*{} #\n".format, NEW, KNOWN, KNOWN),
    st.builds("root {}\n".format, KNOWN),
)
WORD = re.compile(
    r"""e?"(?:[^"\n]|"")*"|[A-Za-z_][\w.-]*|[+-]?(?:inf|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|\S"""
)


def plain(text: str) -> bool:
    """Whether a text is read without the grammar; compares both ways of reading it if so."""
    return is_plain(Source("a.spn", text))


@given(graph=mixed_circuits())
def test_circuits_that_are_written_over_any_columns_are_plain(graph: Graph) -> None:
    assert plain(write_circuit_text(graph, "again"))


@given(seed=SEEDS, extremes=st.booleans())
def test_circuits_that_are_written_are_plain(seed: int, extremes: bool) -> None:
    graph = random_circuit(seed, variables=4, extremes=extremes)
    assert plain(write_circuit_text(graph, "all kinds of names"))


@given(seed=SEEDS, gaps=st.randoms(use_true_random=False))
def test_white_space_and_comments_may_stand_between_any_words(seed: int, gaps: Random) -> None:
    """Gaps that words need between them are kept by a comment or a blank."""
    words = WORD.findall(write_circuit_text(random_circuit(seed, variables=3), "a"))
    needed = [gap for gap in GAPS if gap]
    text = words[0]
    for before, word in pairwise(words):
        apart = re.search(r"[\w\"]$", before) is not None and re.match(r"[\w\".-]", word)
        text += gaps.choice(needed if apart else GAPS) + word
    assert plain(text + gaps.choice(GAPS))


@given(seed=SEEDS, changes=SEEDS)
def test_changed_texts_give_the_same_graph_or_are_left_to_the_grammar(
    seed: int, changes: int
) -> None:
    random = Random(changes)
    text = write_circuit_text(random_circuit(seed, variables=3), "a")
    if random.random() < 0.5:
        changed = mutated_text(text.encode(), random, CIRCUIT_WORDS).decode("utf-8", "replace")
    else:
        changed = with_other_words(text, random)
    plain(changed)


def with_other_words(text: str, random: Random) -> str:
    """Return a text in which lines have moved, or words have become others of the same kind."""
    lines = text.split("\n")
    for _ in range(random.randint(1, 3)):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        if random.random() < 0.3:
            lines.insert(other, lines.pop(at))
            continue
        words = WORD.findall(lines[at]) or [""]
        place = random.randrange(len(words))
        alike = [word for word in WORD.findall(text) if word[:1] == words[place][:1]]
        words[place] = random.choice(alike or [""])
        lines[at] = " ".join(words)
    return "\n".join(lines)


@given(parts=st.lists(st.one_of(STATEMENTS, STATEMENTS, st.sampled_from(SCRAPS)), max_size=4))
@example(["c = ", "1", "a", "5"])
@example(["c = ", "1", "/", "0", "b"])
def test_any_statements_give_the_same_graph_or_are_left_to_the_grammar(parts: list[str]) -> None:
    plain(HEAD + "a = x ~ bernoulli(0.5) b = y ~ bernoulli(p = .5)\n" + "".join(parts))


@pytest.mark.parametrize("path", CIRCUITS, ids=lambda path: path.stem)
def test_files_give_the_same_graph_or_are_left_to_the_grammar(path: Path) -> None:
    plain(path.read_text(encoding="utf-8", errors="replace"))


@pytest.mark.parametrize(
    "statements",
    [
        "a = x ~ bernoulli(0.5)",
        "a = x~bernoulli(p=1)b=y ~ bernoulli ( +.5e-1 )",
        "'root' = x ~ bernoulli(1) root \"root\" # the end",
        "root s s = 1/3 l + +2/3*m+0.e0 circuit l = x ~ indicator(0) m = x ~ indicator(1)"
        ' "circuit" = x ~ bernoulli(0.5)',
        's = 1 "say ""when""" "say ""when""" = x ~ bernoulli(.1)',
        "e\"two\\nlines\" = x ~ bernoulli(1) s = 1'e' e = e ~ bernoulli(1)",
        "l = x ~ restricted-gaussian(0, 1, -inf, inf)",
        "p = l * m l = x ~ bernoulli(1) m = y ~ bernoulli(1) q = p",
        "",
    ],
)
def test_plain_statements_are_read_without_the_grammar(statements: str) -> None:
    assert plain(HEAD + statements)


LEAVES = "l = x ~ bernoulli(0.5) m = y ~ bernoulli(0.5)\n"


@pytest.mark.parametrize(
    "statements",
    [
        "l = y ~ bernoulli(0.5)",  # a node twice
        "p = l * l",
        "s = 0.5 l + 0.5 l",
        "p = l * n",  # not defined
        "root n",
        "root l root l",
        "k = z ~ bernoulli(0.5)",
        "k = x ~ bernouli(0.5)",
        "k = x ~ bernoulli(0.5, 0.5)",
        "k = x ~ bernoulli(q = 0.5)",
        "k = x ~ bernoulli()",
        "s = 0.5 l * m",  # a product in a sum
        "s = l + m",  # no weights
        "s = 0.5 (l) + 0.5 m",
        "variables { z: binary }",
        "circuit b",
        "root = l",
        "p = l *",
        "p = l } # {",
    ],
)
def test_other_statements_and_all_problems_are_left_to_the_grammar(statements: str) -> None:
    assert plain(HEAD + LEAVES)
    assert not plain(HEAD + LEAVES + statements)
    assert not plain(HEAD + statements + "\n" + LEAVES)


@pytest.mark.parametrize(
    "head",
    ["", "circuit a", "variables { x: binary y: binary }", HEAD.replace("binary", "binery", 1)],
)
def test_a_circuit_without_title_or_columns_is_left_to_the_grammar(head: str) -> None:
    assert not plain(head + LEAVES)
