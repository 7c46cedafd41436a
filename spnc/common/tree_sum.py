"""Sums over parts in a fixed order: which parts are added to which depends on their number alone.

Floating-point sums depend on the order of their terms. Here neighbours are added first, then
neighbouring pairs, and so on; a part without a neighbour waits. So one process, which adds parts as
they come, and many workers, which add what they hold, get the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Term = TypeVar("Term")


class TreeSum(Generic[Term]):
    """Adds terms as they come, in the order of their parts; keeps a term for each binary digit."""

    def __init__(self, add: Callable[[Term, Term], Term]) -> None:
        self._add = add
        self._waiting: list[tuple[int, Term]] = []  # how many parts each stands for, falling

    def append(self, term: Term) -> None:
        """Add the term of the next part."""
        size = 1
        while self._waiting and self._waiting[-1][0] == size:
            term = self._add(self._waiting.pop()[1], term)
            size *= 2
        self._waiting.append((size, term))

    def total(self) -> Term:
        """Return the sum of all terms. There has to be one."""
        rest = [term for _, term in self._waiting]
        found = rest.pop()
        while rest:
            found = self._add(rest.pop(), found)
        return found


def additions(parts: int) -> Iterator[tuple[int, int]]:
    """Yield the additions of a `TreeSum`: add the second term to the first, whose place it takes.

    Terms are numbered by their parts; the sum ends up in the place of the first.
    """
    step = 1
    while step < parts:
        for first in range(0, parts - step, 2 * step):
            yield first, first + step
        step *= 2
