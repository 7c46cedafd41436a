"""Numbers as a person would write and read them."""

from __future__ import annotations

import re

_OTHER_BASE = re.compile(r"[-+]?(0[0-9_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")


def is_short_whole(value: float) -> bool:
    """Whether a number is better written without `.0`, as a person would."""
    return value.is_integer() and abs(value) < 1e6


def short_exponent(number: str) -> str:
    """`1e-09` as people write it: `1e-9`."""
    return re.sub(r"e([+-])0+(?=\d)", r"e\1", number)


def is_of_other_base(text: str) -> bool:
    """Whether YAML 1.1 may read a text as a number of base 60 or 8: `190:20:30`, `017`.

    YAML 1.2 and people do not.
    """
    return _OTHER_BASE.fullmatch(text) is not None and text.strip("+-0_") != ""
