"""Limits on what files may claim or unpack to, and how to raise them.

A file of a few kilobytes can stand for gigabytes. Readers compare what it claims with a limit
before they allocate anything. Each limit is an environment variable; `docs/data.md` lists them.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

CODE = "E322"  # of diagnostics about limits
COLUMNS_VARIABLE = "SPNC_MAX_COLUMNS"
STATES_VARIABLE = "SPNC_MAX_STATES"
BYTES_VARIABLE = "SPNC_MAX_BYTES"
MOST_COLUMNS = 1 << 16  # of a table, each of which is judged and summarised
MOST_DECLARED = 1 << 20  # of a circuit or a model: a leaf for each takes about 1.5 GB as a graph
# Without labels, the number of states is a mere claim, and questions take an array of that size
# for every leaf. Labels are limited by the size of the file that lists them.
MOST_STATES = 1 << 16
# What a compressed file may unpack to. Text of numbers shrinks to a tenth, sparse data to a
# fiftieth; gzip can pack zeros a thousand times.
MOST_SMALL = 64 << 20
MOST_RATIO = 100
MOST_STREAMED = 4 << 30  # of a pipe, which has no size
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class LimitError(Exception):
    """A file holds more than is read; `help` says how to raise the limit."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def check_columns(number: int, what: str, usual: int = MOST_COLUMNS) -> None:
    """Raise `LimitError` if a table, circuit or model (`what`) has too many columns.

    `usual` is the limit that holds unless the environment says otherwise.
    """
    most = _given(COLUMNS_VARIABLE) or usual
    if number > most:
        message = f"the {what} has {number:,} columns; at most {most:,} are read"
        raise LimitError(message, raising(COLUMNS_VARIABLE, number))


def check_unpacked(size: int, packed: int, needed: int | None = None) -> None:
    """Raise `LimitError` if a file of `packed` bytes unpacks to too many, `size`.

    `needed` is the whole size, if it is known.
    """
    most = most_unpacked(packed)
    if size > most:
        message = f"the file, of {packed:,} bytes, unpacks to more than {most:,}"
        raise LimitError(message, raising(BYTES_VARIABLE, needed))


def check_streamed(size: int) -> None:
    """Raise `LimitError` if too many bytes came out of a pipe."""
    if size > most_streamed():
        message = f"more than {most_streamed():,} bytes came in, and no end"
        raise LimitError(message, raising(BYTES_VARIABLE, None))


def most_states() -> int:
    """Return how many states a column without labels may have."""
    return _given(STATES_VARIABLE) or MOST_STATES


def most_unpacked(size: int) -> int:
    """Return to how many bytes a compressed file of this size may unpack."""
    return _given(BYTES_VARIABLE) or MOST_SMALL + MOST_RATIO * size


def most_streamed() -> int:
    """Return how many bytes are read from a pipe."""
    return _given(BYTES_VARIABLE) or MOST_STREAMED


def raising(variable: str, needed: int | None) -> str:
    """Return advice on how to raise a limit, so that something of a size can be read."""
    to = "10G, for example" if needed is None else str(needed)
    return f"if you trust the file, set the environment variable {variable} to {to}"


def is_device(path: Path) -> bool:
    """Whether a path leads to a device, such as /dev/zero, which may have no end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # whoever opens it says why it cannot be read
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _given(variable: str) -> int | None:
    """Return a limit from the environment: a whole number, perhaps with K, M, G or T."""
    found = re.fullmatch(
        r"([0-9]{1,15})\s*([KMGT]?)B?", os.environ.get(variable, "").strip().upper()
    )
    return int(found[1]) * _UNITS[found[2]] or None if found is not None else None
