"""Questions about the bytes of a text, answered without splitting it into cells.

A text is looked at in pieces that stay in the CPU cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

NEWLINE, QUOTE = ord("\n"), ord('"')
_ZERO, _X, _LOWER = ord("0"), ord("x"), 0x20  # a letter with this bit set is lower-case
_PIECE_BYTES = 1 << 18  # fits into a usual second-level cache, with what is computed from it
_HEXADECIMAL = re.compile(rb"(?<![0-9A-Za-z_])0[xX][0-9A-Fa-f]")
_LINE_END = np.array([NEWLINE], dtype=np.uint8)


def count_byte(text: bytes, byte: int) -> int:
    """Return how often a byte occurs."""
    cells = np.frombuffer(text, dtype=np.uint8)
    pieces = (cells[i : i + _PIECE_BYTES] for i in range(0, len(cells), _PIECE_BYTES))
    return sum(int(np.count_nonzero(piece == byte)) for piece in pieces)


def has_blank_line(text: bytes) -> bool:
    """Whether a line is of white space, which is no row of a table with one column."""
    lines = text.decode(errors="replace").split("\n")
    return any(line.isspace() for line in lines)


def has_hexadecimal(text: bytes) -> bool:
    """Whether a cell may be a number such as 0x1F."""
    if b"x" not in text and b"X" not in text:
        return False
    for piece in _pieces(text):
        places = np.flatnonzero((piece[1:-1] | _LOWER) == _X)
        if (piece[places] == _ZERO).any():
            return _HEXADECIMAL.search(text) is not None
    return False


def is_plainly_quoted(text: bytes, delimiter: str) -> bool:
    """Whether every quote belongs to a cell that is quoted as a whole, perhaps over several lines.

    A doubled quote within a cell counts as closing it and opening it again.
    """
    before_cell = np.zeros(256, dtype=np.bool_)
    before_cell[[NEWLINE, ord(delimiter), QUOTE]] = True
    inside = 0  # 1 if an earlier piece has opened a cell
    for piece in _pieces(text):
        quotes = np.flatnonzero(piece[1:-1] == QUOTE)
        opening, closing = quotes[inside::2], quotes[1 - inside :: 2]
        if not before_cell[piece[opening]].all() or not before_cell[piece[closing + 2]].all():
            return False
        inside ^= len(quotes) % 2
    return inside == 0


def _pieces(text: bytes) -> Iterator[NDArray[np.uint8]]:
    """Yield a text in pieces with one byte more on either side: line ends around the text."""
    cells = np.frombuffer(text, dtype=np.uint8)
    for begin in range(0, len(cells), _PIECE_BYTES):
        end = begin + _PIECE_BYTES
        piece = cells[max(0, begin - 1) : end + 1]
        if begin == 0:
            piece = np.concatenate([_LINE_END, piece])
        yield piece if end < len(cells) else np.concatenate([piece, _LINE_END])
