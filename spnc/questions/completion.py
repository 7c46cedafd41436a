"""Completion: the words that may come next in a question, for a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

import lark

from spnc.data.columns import Column
from spnc.language.grammar import unquoted
from spnc.questions.parser import parser
from spnc.questions.splitting import split
from spnc.questions.syntax_errors import keywords_of
from spnc.questions.values import labels_of
from spnc.questions.words import word_for

# The word that is being typed: plain, or in a quote that is still open.
_TYPED = re.compile(r"(?:\w+(?:[.-]\w+)*[.-]?)?\Z")
_QUOTED = re.compile(r"""(?:[^"'`#]|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)*?(e?["'`][^"'`\n]*)\Z""")
_OPENING = {"P": "P(", "MI": "MI[", "most": "most likely ", "density": "density of "}
_BRACKETED = ("E", "SD", "Var", "median", "quantile", "H")
_QUOTES = ("'", '"', "`")
_MOST_LABELS = 200  # that are offered


def completions(text: str, columns: Sequence[Column]) -> tuple[int, list[str]]:
    """Return where the word at the end of a text begins, and the words that may stand there.

    Columns and labels are in quotes where they have to be. A question that is already wrong has
    no completions.
    """
    pieces = split(text)
    begin = pieces[-1].start if pieces and not text.endswith((";", "\n")) else len(text)
    start = begin + _word_start(text[begin:])
    typed = text[start:]
    state = _state(text[begin:start])
    if state is None:
        return start, []
    tokens, accepted = state
    names: list[str] = []
    if accepted & {"WORD", "STRING"}:
        column = _compared_column(tokens, columns)
        if column is None and not _after_value(tokens):
            names = [c.name for c in columns]
        elif column is not None and column.is_finite:
            names = labels_of(column)[:_MOST_LABELS]
    if typed[:1] in _QUOTES:
        quote = typed[:1]
        found = [f"{quote}{name.replace(quote, 2 * quote)}{quote}" for name in names]
    else:
        found = _keywords(tokens, accepted) + [word_for(name) for name in names]
    # A name that has to be quoted may be typed without its quote.
    return start, [w for w in found if w.startswith((typed, f'"{typed}', f'e"{typed}'))]


def _word_start(text: str) -> int:
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return quoted.start(1)
    typed = _TYPED.search(text)
    return typed.start() if typed is not None else len(text)


def _state(text: str) -> tuple[list[lark.Token], set[str]] | None:
    """Return the tokens of the beginning of a question, and the kinds that may follow."""
    interactive = parser().parse_interactive(text)
    try:
        tokens = list(interactive.iter_parse())
    except lark.exceptions.UnexpectedInput:
        return None
    accepted: set[str] = interactive.accepts()  # type: ignore[no-untyped-call]
    return tokens, accepted


def _keywords(tokens: list[lark.Token], accepted: set[str]) -> list[str]:
    words = keywords_of(accepted)
    if not tokens:
        return [_OPENING.get(w, f"{w}[" if w in _BRACKETED else f"{w} ") for w in words]
    return words


def _compared_column(tokens: list[lark.Token], columns: Sequence[Column]) -> Column | None:
    """Return the column whose value comes next: after an operator, or inside `in {…}`."""
    kinds = [token.type for token in tokens]
    place = None
    if kinds[-1:] == ["COMPARE"] and len(kinds) > 1:
        place = len(kinds) - 2
    elif "LBRACE" in kinds and "RBRACE" not in kinds[_last(kinds, "LBRACE") :]:
        place = _last(kinds, "LBRACE") - 2  # before `in`
    elif kinds[-1:] == ["TO"] and "IN" in kinds:
        place = _last(kinds, "IN") - 1
    if place is None or place < 0:
        return None
    if kinds[place] == "NOT":
        place -= 1
    name = unquoted(str(tokens[place]))
    return next((column for column in columns if column.name == name), None)


def _after_value(tokens: list[lark.Token]) -> bool:
    """Whether a value comes next, even if its column is unknown."""
    kinds = [token.type for token in tokens]
    return kinds[-1:] in (["COMPARE"], ["TO"], ["LBRACE"])


def _last(kinds: list[str], kind: str) -> int:
    return len(kinds) - 1 - kinds[::-1].index(kind)
