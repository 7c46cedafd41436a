"""Facts about a dataset: its splits, and what is in each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spnc.common.arrays import Floats
from spnc.data.dataset import Dataset
from spnc.data.dates import value_text
from spnc.data.encoding import label_text

BARS = 12  # of a histogram
_MEAN_DIGITS = 12  # significant ones: sums may round the others differently
_BLOCKS = "▁▂▃▄▅▆▇█"
REASONS = {  # why a column is left out, in words
    "empty": "no values",
    "constant": "one value only",
    "id": "identifies rows",
    "labels": "too many different labels",
    "nested": "nested values",
    "ignore": "as declared",
}


def summarise(dataset: Dataset) -> dict[str, Any]:
    """Return facts for `spnc data show`; those about columns are over all splits together."""
    return {
        "splits": [
            {"split": name, "rows": table.rows, "distinct_rows": table.distinct().rows}
            for name, table in dataset.splits.items()
        ],
        "columns": [_facts(dataset, i) for i in range(len(dataset.columns))],
        "left_out": [{"name": n, "why": REASONS[why]} for n, why in dataset.left_out.items()],
    }


def _facts(dataset: Dataset, position: int) -> dict[str, Any]:
    column = dataset.columns[position]
    cells = np.concatenate([dataset.in_memory(name).column(position) for name in dataset.splits])
    present = cells[~np.isnan(cells)]
    missing = len(cells) - len(present)
    found: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "distinct": int(pc.count_distinct(pa.array(present)).as_py()),
        "missing": missing,
        "missing_share": round(missing / len(cells), 6),
    }
    if column.is_finite:
        counts = np.bincount(present.astype(np.intp), minlength=column.states)
        labels = column.labels if column.labels is not None else tuple(range(column.states))
        found["states"] = column.states
        found["labels"] = list(labels)
        found["counts"] = counts.tolist()
        return found
    unit = found["unit"] = column.unit
    if column.scale is not None:
        found["resolution"] = column.scale.resolution
    if len(present):
        low, high = float(present.min()), float(present.max())
        found |= {"low": low, "high": high, "mean": float(f"{present.mean():.{_MEAN_DIGITS}g}")}
        if column.kind == "date":
            found |= {"first": value_text(low, unit), "last": value_text(high, unit)}
        found["counts"] = np.histogram(present, bins=BARS, range=_bounds(low, high))[0].tolist()
    return found


def _bounds(low: float, high: float) -> tuple[float, float]:
    """Return the bounds of the bars; wider ones if doubles cannot tell the bars apart."""
    if (np.diff(np.linspace(low, high, BARS + 1)) > 0.0).all():
        return low, high
    margin = max(0.5, BARS * float(np.spacing(max(abs(low), abs(high)))))
    return low - margin, high + margin


def content_text(facts: dict[str, Any]) -> str:
    """Return the range or the labels of a column, as people read them."""
    if "labels" in facts:
        return ", ".join(label_text(label) for label in facts["labels"])
    if "low" not in facts:
        return ""
    if "first" in facts:
        return f"{facts['first']} … {facts['last']}"
    unit = f" {facts['unit']}" if facts["unit"] else ""
    return f"{_number(facts['low'])} … {_number(facts['high'])}{unit}"


def _number(value: float) -> str:
    whole = float(value).is_integer() and abs(value) < 1e12
    return f"{value:,.0f}" if whole else f"{value:g}"


def histogram_text(counts: Sequence[int]) -> str:
    """Return counts as a row of block characters; neighbours are put together if there are many."""
    heights: Floats = np.asarray(counts, dtype=np.float64)
    if len(heights) > BARS:
        edges = np.linspace(0, len(heights), BARS + 1).astype(int)[:-1]
        heights = np.add.reduceat(heights, edges)
    top = float(heights.max(initial=0.0))
    if top == 0.0:
        return ""
    levels = np.ceil(heights / top * len(_BLOCKS)).astype(int)
    return "".join(" " if level == 0 else _BLOCKS[level - 1] for level in levels.tolist()).rstrip()
