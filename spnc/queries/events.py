"""Events: what is asked about, or known, of a row, as disjoint boxes.

An event is made of statements about single columns by "and", "or" and "not". A *box* allows every
column a set of values, independently of the others; any event is a union of disjoint boxes, and its
probability is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from spnc.data.columns import Column
from spnc.queries.value_sets import ValueSet

MOST_BOXES = 4096  # that an event may be split into; each takes a pass through the circuit

# The values that each column may have, by its number; columns that are not in it may have any.
Box = Mapping[int, ValueSet]
EVERYTHING: Box = {}


class ImpossibleError(Exception):
    """There is no row to condition on: the event has probability zero."""


class TooManyBoxesError(Exception):
    """An event is a union of more boxes than are computed."""


@dataclass(frozen=True, slots=True)
class Within:
    """The value of a column, given by its number, is in a set."""

    column: int
    values: ValueSet


@dataclass(frozen=True, slots=True)
class All:
    """All of these events happen; always true if there are none."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """At least one of these events happens; never true if there are none."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """This event does not happen."""

    part: Event


Event = Within | All | Any | Not
ALWAYS = All(())


def boxes_of(event: Event, columns: Sequence[Column]) -> list[Box]:
    """Return disjoint boxes whose union is the event; none if it cannot happen.

    Raises `TooManyBoxesError`.
    """
    return list(_boxes(event, columns, negated=False))


def columns_of(event: Event) -> set[int]:
    """Return the columns that an event speaks of."""
    match event:
        case Within(column, _):
            return {column}
        case Not(part):
            return columns_of(part)
        case All(parts) | Any(parts):
            return set[int]().union(*map(columns_of, parts))


def both(first: Box, second: Box) -> Box | None:
    """Return the box of the rows that are in both boxes; None if there are none."""
    found = dict(first)
    for column, values in second.items():
        known = found.get(column)
        common = values if known is None else known & values
        if common.is_empty:
            return None
        found[column] = common
    return found


def _boxes(event: Event, columns: Sequence[Column], *, negated: bool) -> list[Box]:
    match event:
        case Not(part):
            return _boxes(part, columns, negated=not negated)
        case Within(column, values):
            if negated:
                values = ValueSet.everything(columns[column]).without(values)
            if values.is_everything(columns[column]):
                return [EVERYTHING]
            return [] if values.is_empty else [{column: values}]
        case All(parts) | Any(parts):
            each = [_boxes(part, columns, negated=negated) for part in parts]
            if isinstance(event, All) != negated:
                return reduce(_intersections, each, [EVERYTHING])
            return reduce(lambda a, b: _union(a, b, columns), each, [])


def _limited(boxes: Iterator[Box]) -> list[Box]:
    found = []
    for box in boxes:
        found.append(box)
        if len(found) > MOST_BOXES:
            raise TooManyBoxesError
    return found


def _intersections(first: list[Box], second: list[Box]) -> list[Box]:
    common = (both(a, b) for a in first for b in second)
    return _limited(box for box in common if box is not None)


def _union(first: list[Box], second: list[Box], columns: Sequence[Column]) -> list[Box]:
    """Return disjoint boxes: those of the first, and what they leave of the second."""

    def rest() -> Iterator[Box]:
        for box in second:
            left = [box]
            for known in first:
                left = _limited(part for b in left for part in _difference(b, known, columns))
            yield from left

    found = _limited(iter([*first, *rest()]))
    return _joined(found, columns)


def _difference(box: Box, other: Box, columns: Sequence[Column]) -> Iterator[Box]:
    """Yield disjoint boxes with the rows of a box that are not in another one."""
    if both(box, other) is None:
        yield box
        return
    inside = dict(box)
    for column, values in other.items():
        own = inside.get(column) or ValueSet.everything(columns[column])
        outside = own.without(values)
        if not outside.is_empty:
            yield {**inside, column: outside}
        inside[column] = own & values


def _joined(boxes: list[Box], columns: Sequence[Column]) -> list[Box]:
    """Return fewer boxes where two differ in one column only, as for `a = 1 or a = 2`."""
    found = list(boxes)
    for column in sorted({column for box in boxes for column in box}):
        groups: dict[frozenset[tuple[int, ValueSet]], ValueSet] = {}
        rest: list[Box] = []
        for box in found:
            if column not in box:
                rest.append(box)
                continue
            key = frozenset((c, v) for c, v in box.items() if c != column)
            known = groups.get(key)
            groups[key] = box[column] if known is None else known | box[column]
        for key, values in groups.items():
            own = {} if values.is_everything(columns[column]) else {column: values}
            rest.append({**dict(key), **own})
        found = rest
    return found
