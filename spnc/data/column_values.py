"""The values of a column in all tables together: of which kind, how many, and as labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spnc.data.columns import Label
from spnc.data.dates import iso_text
from spnc.data.encoding import TABLE_RANGE, offsets, plain_text
from spnc.data.raw_table import RawColumn, RawKind, joined, text_column

_PEEKED = 4096  # cells that show that a column has many values


def kind_of(parts: Sequence[RawColumn]) -> RawKind | None:
    """Return the kind of settled parts; None if no part has a value."""
    return next((p.kind for p in parts if not p.is_empty), None)


def values_of(parts: Sequence[RawColumn]) -> tuple[Label, ...]:
    """Return the values of settled parts as labels: sorted, whole numbers as such."""
    kind = kind_of(parts)
    present = [p for p in parts if not p.is_empty]
    if kind is None or kind == "other":
        return ()
    if kind == "booleans":
        return (False, True)
    if kind == "texts":
        return _in_order(sorted(joined(present).text_list()), parts)
    seen: set[Any] = set()
    for part in present:
        seen.update(distinct_of(part.present))
    if kind == "dates":
        return tuple(iso_text(v) for v in sorted(seen))
    return _in_order(labels_of(sorted(seen)), parts)


def _in_order(labels: Sequence[Label], parts: Sequence[RawColumn]) -> tuple[Label, ...]:
    """Return labels in the order that the source gives them, others after these."""
    given = {label: i for i, label in enumerate(v for p in parts for v in p.order)}
    return tuple(sorted(labels, key=lambda label: given.get(label, len(given))))


def as_texts(column: RawColumn) -> RawColumn:
    """Return the column as texts, whatever it was."""
    if column.kind == "texts":
        return column
    text = iso_text if column.kind == "dates" else plain_text
    cells = column.cells.astype(np.bool_) if column.kind == "booleans" else column.cells
    pairs = zip(cells.tolist(), column.absent.tolist(), strict=True)
    return text_column([None if absent else text(cell) for cell, absent in pairs])


def labels_of(values: Sequence[float]) -> tuple[Label, ...]:
    """Return numbers as labels, whole ones as such."""
    return tuple(int(v) if float(v).is_integer() else float(v) for v in values)


def at_most(parts: Sequence[RawColumn], limit: int) -> list[Any] | None:
    """Return the distinct numbers of all parts, sorted; None if there are more than `limit`."""
    seen: set[Any] = set()
    for part in parts:
        for some in (slice(_PEEKED), slice(None)):
            missing = None if part.missing is None else part.missing[some]
            seen.update(distinct_of(RawColumn(part.kind, part.cells[some], missing).present))
            if len(seen) > limit:
                return None
    return sorted(seen)


def distinct_of(cells: Any) -> list[Any]:
    """Return the distinct values of cells of which none is missing, sorted."""
    if not len(cells):
        return []
    if cells.dtype.kind in "iu":
        low, high = int(cells.min()), int(cells.max())
        if high - low < TABLE_RANGE:
            seen = np.zeros(high - low + 1, dtype=np.bool_)
            seen[cells if low == 0 else offsets(cells, low)] = True
            return [int(i) + low for i in np.flatnonzero(seen)]
    found: list[Any] = np.unique(cells).tolist()
    return found


def range_of(parts: Sequence[RawColumn]) -> tuple[int, int]:
    """Return the least and the largest of whole numbers."""
    present = [p.present for p in parts if not p.is_empty]
    return min(int(c.min()) for c in present), max(int(c.max()) for c in present)
