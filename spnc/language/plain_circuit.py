"""Regular expressions for circuits that are written plainly, as machines write them.

A circuit is plain if it is a title, the variables, and then nodes and a root, where no node has a
product inside a sum, or brackets around anything but the parameters of a leaf. The grammar defines
the language. These expressions match texts only if the grammar reads them in the same way, but by
far not all of those.
"""

from __future__ import annotations

import re

from spnc.language.grammar import KEYWORDS

# The words of the grammar. Lookaheads make sure that a name or a number is as long as the grammar
# takes it to be, also when a regular expression backtracks.
_GAP = r"[ \t\r\n]*"
_END = r"(?![\w.-])"
_BARE = r"""[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*(?![A-Za-z0-9_"']|[.-][A-Za-z0-9_])"""
_STRING = r"""(?:"(?:[^"\n]|"")*"(?!")|'(?:[^'\n]|'')*'(?!'))"""
_ESCAPED = r'e"(?:[^"\\\n]|\\[\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_NAME = f"(?:{_BARE}|{_STRING}|{_ESCAPED})"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![0-9.]|[eE][+-]?[0-9])"
_VALUE = f"(?:[+-]?inf{_END}|{_NUMBER})"


def _addend(group: str) -> str:
    """Return the expression for a weight and a name; `group` is how its groups begin."""
    weight = rf"{group}{_NUMBER})(?:{_GAP}/{_GAP}{group}{_NUMBER}))?"
    return rf"{weight}{_GAP}(?:\*{_GAP})?{group}{_NAME})"


_VALUES = rf"(?:p{_GAP}={_GAP}{_VALUE}|{_VALUE}(?:{_GAP},{_GAP}{_VALUE})*)"
_LEAF = rf"({_NAME}){_GAP}~{_GAP}({_BARE}){_GAP}\({_GAP}({_VALUES}){_GAP}\)"
_SUM = rf"({_addend('(?:')}(?:{_GAP}\+{_GAP}{_addend('(?:')})*)"
_PRODUCT = rf"({_NAME}(?:{_GAP}\*{_GAP}{_NAME})*)"
_NODE = rf"(?!(?:{'|'.join(KEYWORDS)}){_END})({_NAME}){_GAP}={_GAP}(?:{_LEAF}|{_SUM}|{_PRODUCT})"
_BLOCK = r"""[^"'{}]*(?:(?:"[^"\n]*"|'[^'\n]*')[^"'{}]*)*"""

# The title and the variables, which the grammar has to read.
HEAD = re.compile(
    rf"{_GAP}circuit{_END}{_GAP}{_NAME}{_GAP}variables{_END}{_GAP}{{{_BLOCK}}}",
)
# A node, the root, or a sign where neither begins. Groups: the node's name; a leaf's column,
# distribution and parameters; or the addends of a sum; or the factors of a product; the root.
STATEMENT = re.compile(rf"{_NODE}|root{_END}{_GAP}({_NAME})|[^ \t\r\n]")
# An addend: its weight, what that is divided by, and a name; `findall` finds those of a sum.
ADDEND = re.compile(rf"{_addend('(')}{_GAP}\+?{_GAP}")
# `findall` finds the factors of a product.
FACTOR = re.compile(rf"({_NAME}){_GAP}\*?{_GAP}")

_COMMENTS = re.compile(r"""#[^\n]*|"[^"\n]*"|'[^'\n]*'""")


def without_comments(text: str) -> str:
    """Return the text with blanks in place of comments, so that offsets stay the same."""
    if "#" not in text:
        return text
    return _COMMENTS.sub(lambda found: _blanked(found[0]), text)


def _blanked(word: str) -> str:
    return " " * len(word) if word.startswith("#") else word
