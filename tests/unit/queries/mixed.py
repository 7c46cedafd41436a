"""Slow, obvious answers about mixed circuits: recursion over the graph, integrals at the leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np
from scipy import integrate

from spnc.data.columns import Column
from spnc.graph.nodes import Graph, Leaf, Sum, find_root, payloads
from spnc.queries.events import Box
from spnc.queries.value_sets import ValueSet
from tests.circuits import leaf_probability

FAR = 40.0  # no leaf of a random circuit has any probability beyond
COUNTS = 80


def integral(
    graph: Graph, box: Box, column: int | None = None, of: Callable[[float], float] = lambda _: 1.0
) -> float:
    """The sum or integral of p(row) · of(cell of a column) over the rows of a box."""
    node, columns = payloads(graph), graph.graph["columns"]
    known: dict[Hashable, float] = {}

    def value(n: Hashable) -> float:
        if n not in known:
            payload = node[n]
            if isinstance(payload, Leaf):
                own = of if payload.variable == column else (lambda _: 1.0)
                values = box.get(payload.variable)
                known[n] = leaf_integral(payload, columns[payload.variable], values, own)
            elif isinstance(payload, Sum):
                known[n] = sum(d["weight"] * value(c) for c, d in graph.succ[n].items())
            else:
                known[n] = math.prod(value(c) for c in graph.succ[n])
        return known[n]

    return value(find_root(graph))


def leaf_integral(
    leaf: Leaf, column: Column, values: ValueSet | None, of: Callable[[float], float]
) -> float:
    """The same for one leaf."""
    within = values or ValueSet.everything(column)
    row = np.zeros(leaf.variable + 1)

    def density(x: float) -> float:
        row[leaf.variable] = x
        return leaf_probability(leaf, row) * of(x)

    if within.whole:
        top = column.states if column.is_finite else COUNTS
        return sum(density(float(x)) for x in range(top) if float(x) in within)
    found = 0.0
    for low, high in within.spans:
        a, b = max(low, -FAR), min(high, FAR)
        if a >= b:
            continue
        place, width = leaf.distribution.row  # mean and sd, or the ends of a box
        jumps = [place + step * width for step in (-9, -4, -1, 0, 1, 4, 9)] + [width]
        points = sorted({p for p in jumps if a < p < b})
        for x, y in zip([a, *points], [*points, b], strict=True):
            found += integrate.quad(density, x, y, epsabs=1e-14, epsrel=1e-12)[0]
    return found
