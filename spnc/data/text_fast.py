"""The fast reader of text tables: regular files of numbers only, and None for anything else.

It never guesses: on the files that it accepts, it returns what `text_exact` would.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from spnc.data.text_cells import WHITESPACE, is_number

_NUMERIC = b"0123456789+-.eE \t\n"
_DIGITS = frozenset(b"0123456789")
_CHECKED_BYTES = 4096  # a body of numbers has a digit among these


def parse_fast(body: bytes, delimiter: str, missing: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the numbers in a text without header, one row per line; None if it is not regular.

    In a regular text line ends are `\\n`, no line is blank, all rows have the same width and every
    cell is a number.
    """
    # A number that marks a missing value (say -1) has to be compared as text, cell by cell.
    if any(is_number(marker.strip()) for marker in missing):
        return None
    body = body.rstrip(b"\n")
    if not body:
        return None
    digits = parse_digits(body, delimiter)
    return digits if digits is not None else _numbers(body, delimiter)


def parse_digits(body: bytes, delimiter: str) -> NDArray[np.float64] | None:
    """Return the table if every cell is one digit: then the bytes are the table; else None."""
    end = body.find(b"\n")
    width = (end if end >= 0 else len(body)) + 1
    if width % 2 or (len(body) + 1) % width:
        return None
    flat = np.empty(len(body) + 1, dtype=np.uint8)
    flat[:-1] = np.frombuffer(body, dtype=np.uint8)
    flat[-1] = ord("\n")
    grid = flat.reshape(-1, width)
    cells, between, ends = grid[:, 0::2], grid[:, 1:-1:2], grid[:, -1]
    if (ends != ord("\n")).any() or (cells < ord("0")).any() or (cells > ord("9")).any():
        return None
    accepted = between == ord(delimiter)
    if delimiter == WHITESPACE:
        accepted |= between == ord("\t")
    if not accepted.all():
        return None
    return (cells - np.uint8(ord("0"))).astype(np.float64)


def _numbers(body: bytes, delimiter: str) -> NDArray[np.float64] | None:
    """Return the table through numpy's text reader; None if the text is not regular."""
    # Other characters would let through what numpy accepts and spnc does not (nan, 0x1p3).
    if body.translate(None, _NUMERIC + delimiter.encode()):
        return None
    if _DIGITS.isdisjoint(body[:_CHECKED_BYTES]):
        return None
    try:
        values = np.loadtxt(
            StringIO(body.decode("ascii")),
            dtype=np.float64,
            delimiter=None if delimiter == WHITESPACE else delimiter,
            comments=None,
            ndmin=2,
        )
    except ValueError:
        return None
    # numpy skips blank lines, which would make line numbers wrong.
    return values if len(values) == body.count(b"\n") + 1 else None
