"""Fast routes for regular files of numbers. They give None on anything else, never a guess."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from spnc.data.cells import WHITESPACE, is_number

_NUMERIC = b"0123456789+-.eE \t\n"


def parse_fast(body: bytes, delimiter: str, missing: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers of a body of text without header, one row a line; None if it is not regular.

    Regular means: line ends are `\\n`, no blank line, every row equally wide, every cell a number.
    """
    # A number that means "missing" (say -1) must be compared as text, cell by cell.
    if any(is_number(marker.strip()) for marker in missing):
        return None
    body = body.rstrip(b"\n")
    if not body:
        return None
    digits = _single_digits(body, delimiter)
    return digits if digits is not None else _numbers(body, delimiter)


def _single_digits(body: bytes, delimiter: str) -> NDArray[np.float64] | None:
    """Cells of one digit with one delimiter between: the bytes are the table."""
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
    """Any decimal numbers, through numpy's own text reader."""
    # Only these characters, so that nothing numpy reads but we do not (nan, 0x1p3) gets through.
    if body.translate(None, _NUMERIC + delimiter.encode()):
        return None
    if not any(48 <= byte <= 57 for byte in body[:4096]):
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
    # numpy leaves blank lines out, and the line numbers would be lost.
    return values if len(values) == body.count(b"\n") + 1 else None
