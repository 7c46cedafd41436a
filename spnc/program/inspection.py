"""Facts about a program: its size, its layers, its scopes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from spnc.data.cells import column_text
from spnc.data.columns import Column
from spnc.program.program import Program


def inspect_program(program: Program) -> dict[str, Any]:
    """Return facts as JSON: `model` (totals), `columns`, `layers` (leaves are 1), `scopes`."""
    layer = [1] * program.nodes
    columns = [1] * program.nodes
    kind = ["leaves"] * program.nodes
    edges = [0] * program.nodes
    for segment in program.segments:
        children, starts = segment.children.tolist(), segment.starts.tolist()
        for offset, n in enumerate(range(segment.first, segment.last)):
            own = children[starts[offset] : starts[offset + 1]]
            kind[n] = "sums" if segment.is_sum else "products"
            layer[n] = 1 + max(layer[c] for c in own)
            edges[n] = len(own)
            columns[n] = columns[own[0]] if segment.is_sum else sum(columns[c] for c in own)
    by_layer = _grouped(layer, kind)
    by_size = _grouped(columns, kind)
    down: dict[int, int] = defaultdict(int)
    for n, count in enumerate(edges):
        down[layer[n]] += count
    return {
        "model": {"columns": len(program.columns), **program.facts()},
        "columns": [_described(column) for column in program.columns],
        "layers": [{"layer": k, **by_layer[k], "edges": down[k]} for k in sorted(by_layer)],
        "scopes": [{"columns": k, **by_size[k]} for k in sorted(by_size)],
    }


def _described(column: Column) -> dict[str, Any]:
    """Return a column's name, its type, and its values in words."""
    found = {"name": column.name, "type": str(column), "values": column_text(column)}
    if column.labels is not None:
        return {**found, "labels": list(column.labels)}
    return {**found, "unit": column.unit} if column.unit else found


def _grouped(keys: list[int], kinds: list[str]) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for key, kind in zip(keys, kinds, strict=True):
        found.setdefault(key, {"sums": 0, "products": 0, "leaves": 0})[kind] += 1
    return found
