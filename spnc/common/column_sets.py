"""Sets of columns as integers: bit i stands for column i."""

from __future__ import annotations


def members(scope: int) -> list[int]:
    """Return the column indices in a scope, ascending."""
    found = []
    while scope:
        low = scope & -scope
        found.append(low.bit_length() - 1)
        scope ^= low
    return found
