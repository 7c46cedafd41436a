"""Names and labels as questions write them: plain, or in quotes."""

from __future__ import annotations

import re

from spnc.language.grammar import quoted_on_one_line

# Keywords that can stand where a name can, so that a name like one of them has to be quoted.
KEYWORDS = frozenset(
    ("not", "and", "or", "in", "is", "by", "of", "except", "most", "likely", "sample", "density")
)
_PLAIN = re.compile(r"\w+([.-]\w+)*")  # `WORD` in the grammar


def word_for(text: str) -> str:
    """Return a name or a label as a question writes it, in quotes if it has to be."""
    if _PLAIN.fullmatch(text) and text not in KEYWORDS:
        return text
    return quoted_on_one_line(text)
