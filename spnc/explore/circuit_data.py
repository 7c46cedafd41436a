"""A circuit as data for the script of a page: JSON, with arrays of numbers in base64."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.common.wording import visible
from spnc.data.cells import exact_text
from spnc.data.columns import Column
from spnc.data.images import Shape
from spnc.data.warp import Warp
from spnc.leaves.finite import as_finite
from spnc.leaves.numeric import as_numeric
from spnc.program.program import LeafTable, Parameters, Program

# The leaves over numbers that `web/leaves.js` knows. Leaves over states travel as the probabilities
# of all states, whatever their distribution.
NUMERIC = (
    "exponential",
    "gamma",
    "gaussian",
    "histogram",
    "log-normal",
    "negative-binomial",
    "point",
    "poisson",
    "student-t",
    "uniform",
    "warped-gaussian",
)
_RESTRICTED = ("restricted-count-", "restricted-")  # then come low and high, after the base's own


def unknown_leaves(program: Program) -> list[str]:
    """Return the distributions over numbers that a page cannot evaluate."""
    names = {leaf.distribution for leaf in program.leaves if not leaf.kind.is_finite}
    return sorted(name for name in names if _base(name) not in NUMERIC)


def circuit_data(
    name: str, program: Program, parameters: Parameters, shape: Shape | None
) -> dict[str, Any]:
    """Return the circuit, its columns and, if rows are pictures, the places of the pixels."""
    tables = zip(program.leaves, parameters.tables, strict=True)
    segments = []
    for segment in program.segments:
        own: dict[str, Any] = {
            "sum": segment.is_sum,
            "starts": _text(segment.starts, "<i4"),
            "children": _text(segment.children, "<i4"),
        }
        if segment.is_sum:
            own["weights"] = _text(parameters.weights[segment.slots], "<f8")
        segments.append(own)
    image = None
    if shape is not None:
        image = {"height": shape.height, "width": shape.width, "places": shape.places.tolist()}
    warps: dict[Warp, int] = {}  # each once, however many leaves are on it
    leaves = [part for leaf, table in tables for part in _leaves(leaf, table, warps)]
    return {
        "name": visible(name),
        "columns": [_column(column) for column in program.columns],
        "image": image,
        "root": program.root,
        "leaves": leaves,
        "warps": [
            {"values": _text(own.pieces.values, "<f8"), "places": _text(own.pieces.places, "<f8")}
            for own in warps
        ],
        "segments": segments,
    }


def _leaves(leaf: LeafTable, table: Floats, warps: dict[Warp, int]) -> Iterator[dict[str, Any]]:
    """Yield a table of leaves; in parts of neighbours over one column if they need its warp.

    `warps` numbers the warps that leaves need. New ones are added.
    """
    name, ends = leaf.distribution, [0, len(leaf)]
    if leaf.kind.is_finite:
        name, table = "states", as_finite(leaf.kind).probabilities(table, leaf.states)
    elif as_numeric(leaf.kind).needs_warp:
        ends = [0, *(np.flatnonzero(np.diff(leaf.columns.warp)) + 1).tolist(), len(leaf)]
    for first, last in pairwise(ends):
        found = {
            "kind": _base(name),
            "restricted": _base(name) != name,
            "width": table.shape[1],
            "columns": _text(leaf.variables[first:last], "<i4"),
            "table": _text(table[first:last], "<f8"),
        }
        if not leaf.kind.is_finite and as_numeric(leaf.kind).needs_warp:
            warp = leaf.columns.warps[int(leaf.columns.warp[first])]
            found["warp"] = warps.setdefault(warp, len(warps))
        yield found


def _base(name: str) -> str:
    """Return the distribution that a restricted leaf restricts, or its own if it is none."""
    for prefix in _RESTRICTED:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _column(column: Column) -> dict[str, Any]:
    """Return a column; `shown` and `labels` are for people, `name` and `values` for questions."""
    found: dict[str, Any] = {
        "name": column.name,
        "shown": visible(column.name),
        "kind": column.kind,
        "states": column.states,
        "unit": visible(column.unit),
    }
    if column.is_finite:
        values = [exact_text(column, float(code)) for code in range(column.states)]
        found |= {"values": values, "labels": [visible(value) for value in values]}
    if column.scale is not None:
        names = ("low", "high", "mean", "sd", "resolution")
        found["scale"] = {name: getattr(column.scale, name) for name in names}
    return found


def _text(array: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")
