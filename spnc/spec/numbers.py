"""Numbers as a person would write them."""

from __future__ import annotations

import re


def is_short_whole(value: float) -> bool:
    """Whether a number is better written without `.0`, as a person would."""
    return value.is_integer() and abs(value) < 1e6


def short_exponent(number: str) -> str:
    """`1e-09` as people write it: `1e-9`."""
    return re.sub(r"e([+-])0+(?=\d)", r"e\1", number)
