"""Sets of columns: the scopes of a circuit's nodes.

Up to `NARROW` columns, a set is an int: bit i stands for column i. With more columns, an int for
every node would take memory in proportion to columns squared, so a set is a `WideSet`: the runs of
its columns in an order of the circuit's own (`ColumnOrder`), in which most of its scopes are a
single run. Sets of both kinds have the operators and methods of `ColumnSet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from spnc.common.arrays import Ints

# As ints, sets of this many columns take 2 KB: about as much as a node of a graph and its edges.
NARROW = 1 << 14
_RUN = np.dtype(">u4")  # big-endian, so that runs as bytes sort by their first column
_WORD = _RUN.itemsize
_RUN_BYTES = 2 * _WORD
_FEW_RUNS = 8  # that are put into a mask one by one
_MERGED_BYTES = 64 * _RUN_BYTES  # that are merged run by run; NumPy is faster for more
Node = TypeVar("Node")


class ColumnSet(Protocol):
    """A set of columns. Empty sets are false."""

    def __and__(self, other: Self, /) -> Self:
        """Return what is in both."""

    def __or__(self, other: Self, /) -> Self:
        """Return what is in either."""

    def __xor__(self, other: Self, /) -> Self:
        """Return what is in one of both only; without a subset: what is not in that."""

    def __lt__(self, other: Self, /) -> bool:
        """Whether this set comes first in an order of all sets."""

    def __hash__(self) -> int:
        """Return the same number for equal sets."""

    def bit_count(self) -> int:
        """Return the number of columns."""


class WideSet:
    """A set of columns, as runs of places in an order of the columns.

    `content` holds the first place of each run and the one past its last, as bytes. Where
    one bit per place takes less space than the runs, it is an int, with bit i for place i.
    """

    __slots__ = ("content", "order")

    def __init__(self, order: ColumnOrder, content: bytes | int) -> None:
        self.order, self.content = order, content

    def __bool__(self) -> bool:
        return self.content != b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WideSet) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)

    def __lt__(self, other: WideSet) -> bool:
        return self._key < other._key

    @property
    def _key(self) -> tuple[bytes, int]:
        return (b"", self.content) if isinstance(self.content, int) else (self.content, 0)

    def __and__(self, other: WideSet) -> WideSet:
        return self._combined(other, int.__and__, lambda depth: depth == 2)

    def __or__(self, other: WideSet) -> WideSet:
        return _wide_union_and_overlap([self, other])[0]

    def __xor__(self, other: WideSet) -> WideSet:
        return self._combined(other, int.__xor__, lambda depth: depth == 1)

    def bit_count(self) -> int:
        """Return the number of columns."""
        if isinstance(self.content, int):
            return self.content.bit_count()
        bounds = _bounds(self.content)
        return int((bounds[1::2] - bounds[::2]).sum())

    def members(self) -> Ints:
        """Return the columns, ascending."""
        if isinstance(self.content, int):
            places = np.flatnonzero(_bits(self.content))
        else:
            bounds = _bounds(self.content)
            lengths = bounds[1::2] - bounds[::2]
            ends = np.cumsum(lengths)
            places = np.arange(lengths.sum()) + np.repeat(bounds[1::2] - ends, lengths)
        return np.sort(self.order.columns[places])

    def _combined(
        self, other: WideSet, of_masks: Callable[[int, int], int], of_depths: Callable[[Ints], Any]
    ) -> WideSet:
        a, b = self.content, other.content
        if isinstance(a, int) or isinstance(b, int):
            return self.order.of_mask(of_masks(_mask(a), _mask(b)))
        places, depths = _depths(a + b)
        return self.order.of_bounds(_bounds_where(places, of_depths(depths)))


class ColumnOrder:
    """An order of a circuit's columns; makes its sets."""

    def __init__(self, columns: Ints) -> None:
        self.columns = columns  # by place
        self.place = np.empty(len(columns), dtype=np.int64)  # by column
        self.place[columns] = np.arange(len(columns))
        self.nothing = WideSet(self, b"")
        # More take less space as bits.
        self.most_runs = max(_FEW_RUNS, len(columns) // (8 * _RUN_BYTES))

    def single(self, column: int) -> WideSet:
        """Return the set of one column."""
        place = int(self.place[column])
        return WideSet(self, place.to_bytes(_WORD, "big") + (place + 1).to_bytes(_WORD, "big"))

    def of_bounds(self, bounds: Ints) -> WideSet:
        """Return the set of these runs, which are not empty, not adjacent, and in order."""
        return self.of_runs(bounds.astype(_RUN).tobytes())

    def of_runs(self, runs: bytes) -> WideSet:
        """Return the set of these runs, as bytes."""
        many = len(runs) > _RUN_BYTES * self.most_runs
        return WideSet(self, _mask(runs) if many else runs)

    def of_mask(self, mask: int) -> WideSet:
        """Return the set of the places of a mask."""
        if not mask:
            return self.nothing
        if (mask ^ (mask << 1)).bit_count() > 2 * self.most_runs:
            return WideSet(self, mask)
        changes = np.diff(_bits(mask), prepend=np.int8(0), append=np.int8(0))
        return self.of_bounds(np.flatnonzero(changes))


def single_sets(columns: Iterable[int], order: ColumnOrder | None) -> dict[int, Any]:
    """Return the set of each of the columns alone: as ints, unless there is an order."""
    return {column: single_set(column, order) for column in columns}


def single_set(column: int, order: ColumnOrder | None) -> Any:
    """Return the set of one column: as an int, unless there is an order."""
    return 1 << column if order is None else order.single(column)


def complement(columns: Any, width: int) -> Any:
    """Return the columns that a set lacks of a circuit's columns, which are `width`."""
    if isinstance(columns, WideSet):
        return columns.order.of_bounds(np.array([0, width])) ^ columns
    return ((1 << width) - 1) ^ columns


def members(columns: ColumnSet) -> list[int]:
    """Return the columns in a set, ascending."""
    if isinstance(columns, WideSet):
        wide: list[int] = columns.members().tolist()
        return wide
    assert isinstance(columns, int)
    found = []
    while columns:
        low = columns & -columns
        found.append(low.bit_length() - 1)
        columns ^= low
    return found


def is_wide(columns: ColumnSet) -> bool:
    """Return whether a set, and so all sets of its circuit, are more than an int."""
    return isinstance(columns, WideSet)


def union(sets: Sequence[Any]) -> Any:
    """Return the union of at least one set."""
    if isinstance(sets[0], WideSet):
        same = sets.count(sets[0]) == len(sets)
        return sets[0] if same else _wide_union_and_overlap(sets)[0]
    return reduce(or_, sets)


def union_and_overlap(sets: Sequence[Any]) -> tuple[Any, Any]:
    """Return the union of at least one set, and what is in more than one of them."""
    if isinstance(sets[0], WideSet):
        return _wide_union_and_overlap(sets)
    return narrow_union_and_overlap(sets)


def narrow_union_and_overlap(sets: Sequence[int]) -> tuple[int, int]:
    """Return the same for sets that are ints: for loops over all nodes."""
    union = overlap = 0
    for one in sets:
        if union & one:
            overlap |= union & one
        union |= one
    return union, overlap


def release(sets: list[Any], used: Iterable[int], uses: list[int]) -> None:
    """Forget those of the sets that have now been used for the last time."""
    for n in used:
        uses[n] -= 1
        if not uses[n]:
            sets[n] = None


def column_order(
    width: int,
    tops: Iterable[Node],
    below: Callable[[Node], Iterable[Node]],
    column: Callable[[Node], int | None],
) -> ColumnOrder | None:
    """Return the order in which a depth-first walk meets the columns; None for few columns.

    In a circuit whose products divide their columns in one way, every scope is a single run.
    `below` returns a node's children, and `column` a leaf's column.
    """
    if width <= NARROW:
        return None
    met: dict[int, None] = {}
    seen: set[Node] = set()
    for top in tops:
        stack = [top]
        while stack:
            n = stack.pop()
            if n in seen:
                continue
            seen.add(n)
            own = column(n)
            if own is not None:
                met[own] = None
            else:
                stack += reversed([c for c in below(n) if c not in seen])
    first = np.fromiter(met, np.int64, len(met))
    return ColumnOrder(np.concatenate([first, np.setdiff1d(np.arange(width), first)]))


def _wide_union_and_overlap(sets: Sequence[WideSet]) -> tuple[WideSet, WideSet]:
    order = sets[0].order
    runs = [one.content for one in sets if isinstance(one.content, bytes)]
    masks = [one.content for one in sets if isinstance(one.content, int)]
    union = overlap = order.nothing
    joined = b"".join(runs)
    if joined:
        found = _disjoint_union(joined) if len(joined) <= _MERGED_BYTES else None
        if found is not None:
            union = order.of_runs(found)
        else:
            places, depths = _depths(joined)
            union = order.of_bounds(_bounds_where(places, depths > 0))
            overlap = order.of_bounds(_bounds_where(places, depths > 1))
    if not masks:
        return union, overlap
    whole, common = union_and_overlap([*masks, _mask(union.content)])
    return order.of_mask(whole), order.of_mask(common | _mask(overlap.content))


def _disjoint_union(content: bytes) -> bytes | None:
    """Return disjoint runs in order, adjacent ones as one; None if they are not disjoint."""
    runs = sorted([content[i : i + _RUN_BYTES] for i in range(0, len(content), _RUN_BYTES)])
    found = [runs[0][:_WORD]]
    last = found[0]
    for run in runs:
        first = run[:_WORD]
        if first < last:
            return None
        if first != last:
            found += (last, first)
        last = run[_WORD:]
    found.append(last)
    return b"".join(found)


def _bounds(content: bytes) -> Ints:
    return np.frombuffer(content, _RUN).astype(np.int64)


def _depths(runs: bytes) -> tuple[Ints, Ints]:
    """Return where runs begin or end, and how many of them have the places from there on."""
    bounds = _bounds(runs)
    places, at = np.unique(bounds, return_inverse=True)
    steps = np.ones(len(bounds))
    steps[1::2] = -1.0
    changes = np.bincount(at.ravel(), steps, len(places))
    return places, np.cumsum(changes).astype(np.int64)


def _bounds_where(places: Ints, inside: Any) -> Ints:
    """Return the bounds of the runs that are inside; what follows the last place is not."""
    found: Ints = places[np.diff(inside.astype(np.int8), prepend=np.int8(0)) != 0]
    return found


def _mask(content: bytes | int) -> int:
    if isinstance(content, int):
        return content
    bounds = _bounds(content)
    if len(bounds) <= 2 * _FEW_RUNS:
        ends = bounds.tolist()
        return sum((1 << b) - (1 << a) for a, b in zip(ends[::2], ends[1::2], strict=True))
    changes = np.zeros(bounds[-1] + 1, dtype=np.int8)
    changes[bounds[::2]] = 1
    changes[bounds[1::2]] = -1
    bits = np.packbits(np.cumsum(changes[:-1], dtype=np.int8), bitorder="little")
    return int.from_bytes(bits.tobytes(), "little")


def _bits(mask: int) -> Any:
    """Return the bits of a mask, lowest first."""
    content = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
    return np.unpackbits(content, bitorder="little").view(np.int8)
