"""Which worker of a cluster holds which rows.

Work on rows is given to the worker that holds them: another one would have to get them, and to lay
them out, first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Held(NamedTuple):
    """Rows, and the worker that has them."""

    address: str
    rows: Any  # a future


def balanced(before: Sequence[str | None], threads: Mapping[str, int]) -> list[str]:
    """Return the worker of each partition, by the threads of workers.

    A partition stays where it was `before`, unless that worker is gone or has more than its share.
    """
    held = dict.fromkeys(threads, 0)
    most = {a: -(-len(before) * n // sum(threads.values())) for a, n in threads.items()}
    found: list[str | None] = []
    for address in before:
        stays = address in held and held[address] < most[address]
        if address is not None and stays:
            held[address] += 1
        found.append(address if stays else None)
    places = []
    for address in found:
        if address is None:
            below = (one for one in held if held[one] < most[one])
            address = min(below, key=lambda one: ((held[one] + 1) / threads[one], one))
            held[address] += 1
        places.append(address)
    return places
