"""Times and amounts of memory as people write them: `90s`, `1h30m`, `4GB`."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise
from typing import NewType

Seconds = NewType("Seconds", float)  # options of these types are written with units
Bytes = NewType("Bytes", int)

TIMES = "90s, 10min, 2h or 1h30m; a bare number is seconds"
SIZES = "500MB, 4GB or 4GiB; a bare number is bytes"
MOST_SECONDS = 1_000 * 3_600.0
MOST_BYTES = 10**18

_TIME_UNITS = {"h": 3_600.0, "min": 60.0, "m": 60.0, "s": 1.0, "": 1.0}
_TIME_PART = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(h|min|m|s|)", re.IGNORECASE)
# As in the International System: a GB is 10^9 bytes, a GiB is 2^30.
_SIZE_UNITS = {"": 1, "b": 1} | {
    f"{letter}{kind}": base**power
    for power, letter in enumerate("kmgt", 1)
    for kind, base in (("b", 1_000), ("ib", 1_024))
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE)


def seconds_in(text: str) -> float | None:
    """Return the seconds in `90s`, `10min`, `1h30m` or a plain number; None for other texts."""
    seconds, at, units = 0.0, 0, []
    while found := _TIME_PART.match(text, at):
        units.append(found[2].lower())
        seconds += float(found[1]) * _TIME_UNITS[units[-1]]
        at = found.end()
    sizes = [_TIME_UNITS[unit] for unit in units]
    falling = all(a > b for a, b in pairwise(sizes))
    well_formed = at == len(text.rstrip()) and falling and (len(units) == 1 or "" not in units)
    return seconds if units and well_formed else None


def bytes_in(text: str) -> int | None:
    """Return the bytes in `500MB`, `4GiB` or a plain number; None for other texts."""
    found = _SIZE.fullmatch(text)
    unit = _SIZE_UNITS.get(found[2].lower()) if found is not None else None
    if found is None or unit is None:
        return None
    number = float(found[1])
    return round(number * unit) if number * unit <= 2 * MOST_BYTES else 2 * MOST_BYTES


def time_text(seconds: float) -> str:
    """Return a text that `seconds_in` reads as exactly these seconds: `2h`, `1h30min`, `0.5s`."""
    if seconds != int(seconds):
        return f"{Decimal(repr(seconds)):f}s"
    hours, rest = divmod(int(seconds), 3_600)
    parts = ((hours, "h"), (rest // 60, "min"), (rest % 60, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def size_text(size: int) -> str:
    """Return a text that `bytes_in` reads as exactly this size: `4GB`, `512MiB`, `1234`."""
    units = {"TB": 10**12, "TiB": 1 << 40, "GB": 10**9, "GiB": 1 << 30}
    units |= {"MB": 10**6, "MiB": 1 << 20, "KB": 1_000, "KiB": 1 << 10}
    found = next((name for name, unit in units.items() if size and size % unit == 0), None)
    return str(size) if found is None else f"{size // units[found]}{found}"


def about(size: float) -> str:
    """Return an amount of memory for people, rounded: `3.2 GB`."""
    for name, unit in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= unit:
            return f"{size / unit:,.{0 if size >= 100 * unit else 1}f} {name}"
    return f"{size:.0f} bytes"
