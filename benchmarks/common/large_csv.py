"""Large CSV files for `benchmarks.reading`: one of many types of columns, one of binary columns.

Both have a header and are written in pieces. The same number of rows gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from spnc.common.rng import random_stream

INTEGERS = FLOATS = WORDS = 10
TYPED_COLUMNS = INTEGERS + FLOATS + WORDS
BINARY_COLUMNS = 30
CHECKED = "x0"  # a column of numbers in both files whose total shows whether they were read right
_PIECE = 50_000  # rows written at once
_GAPS = 0.01  # the share of empty cells in two of the columns
_CLUSTERS = 8  # of the binary rows


def typed_names() -> list[str]:
    """Return the header of the file of many types: numbers, whole numbers, words."""
    kinds = (("x", FLOATS), ("n", INTEGERS), ("w", WORDS))
    return [f"{letter}{i}" for letter, count in kinds for i in range(count)]


def write_typed(path: Path, rows: int) -> None:
    """Write floats of five decimals, whole numbers of one to five digits, and words.

    There are 3 to 48 different words in a column. One column of floats and one of words have gaps.
    """
    rng = random_stream(0, "typed")
    words = [np.array([_word(i, k) for k in range(3 + 5 * i)]) for i in range(WORDS)]
    with path.open("w", encoding="ascii", newline="") as file:
        file.write(",".join(typed_names()) + "\n")
        for count in _pieces(rows):
            columns: list[Iterable[str]] = []
            for i in range(FLOATS):
                columns.append(map("{:.5f}".format, rng.normal(10.0**i / 100, 1.0 + i, count)))
            for i in range(INTEGERS):
                columns.append(map(str, rng.integers(3 ** (1 + i), size=count).tolist()))
            for own in words:
                columns.append(own[rng.integers(len(own), size=count)].tolist())
            for gappy in (1, TYPED_COLUMNS - 1):
                empty = (rng.random(count) < _GAPS).tolist()
                pairs = zip(columns[gappy], empty, strict=True)
                columns[gappy] = ["" if gap else cell for cell, gap in pairs]
            file.writelines(",".join(cells) + "\n" for cells in zip(*columns, strict=True))


def write_binary(path: Path, rows: int) -> None:
    """Write binary columns, drawn from a mixture of products of Bernoullis."""
    rng = random_stream(0, "binary")
    chances = rng.beta(0.4, 0.4, size=(_CLUSTERS, BINARY_COLUMNS))
    with path.open("wb") as file:
        names = ",".join(f"x{i}" for i in range(BINARY_COLUMNS))
        file.write(f"{names}\n".encode("ascii"))
        for count in _pieces(rows):
            own = chances[rng.integers(_CLUSTERS, size=count)]
            cells = np.full((count, 2 * BINARY_COLUMNS), ord(","), dtype=np.uint8)
            cells[:, ::2] = ord("0") + (rng.random((count, BINARY_COLUMNS)) < own)
            cells[:, -1] = ord("\n")
            file.write(cells.tobytes())


def _word(column: int, k: int) -> str:
    """Return the k-th word of a column; the first 78 are distinct."""
    return f"{chr(97 + column)}{chr(97 + k % 26)}-{'word' * (1 + k % 3)}"


def _pieces(rows: int) -> list[int]:
    return [min(_PIECE, rows - begin) for begin in range(0, rows, _PIECE)]
