"""Circuits evaluated by a plain recursion, in numbers of 60 digits and any exponent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np

from spnc.graph.nodes import Graph, Leaf, Product, children_first
from spnc.leaves import Distribution
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson

mp.mp.dps = 60


def exact_leaf(leaf: Distribution, cell: float) -> Any:
    """The probability or density of a cell."""
    if np.isnan(cell):
        return mp.mpf(1)
    if isinstance(leaf, Bernoulli):
        return mp.mpf(leaf.p) if cell == 1.0 else 1 - mp.mpf(leaf.p)
    if isinstance(leaf, Categorical):
        return mp.mpf(leaf.p[int(cell)])
    if isinstance(leaf, Poisson):
        return mp.exp(-mp.mpf(leaf.rate)) * mp.mpf(leaf.rate) ** int(cell) / mp.factorial(int(cell))
    assert isinstance(leaf, Gaussian)
    z = (mp.mpf(cell) - mp.mpf(leaf.location)) / mp.mpf(leaf.sd)
    return mp.exp(-z * z / 2) / (mp.mpf(leaf.sd) * mp.sqrt(2 * mp.pi))


def exact_values(graph: Graph, row: Sequence[float]) -> dict[Any, Any]:
    """The value of every node."""
    found: dict[Any, Any] = {}
    for n in children_first(graph):
        node, below = graph.nodes[n]["node"], graph.succ[n]
        if isinstance(node, Leaf):
            found[n] = exact_leaf(node.distribution, float(row[node.variable]))
        elif isinstance(node, Product):
            found[n] = mp.fprod(found[c] for c in below)
        else:
            found[n] = mp.fsum(mp.mpf(d["weight"]) * found[c] for c, d in below.items())
    return found


def exact_flows(graph: Graph, values: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The flow through every node and through every edge of a sum."""
    root = graph.graph["root"]
    flows = {n: mp.mpf(0) for n in graph}
    edges: dict[Any, Any] = {}
    flows[root] = mp.mpf(values[root] > 0)
    for n in reversed(children_first(graph)):
        for c, data in graph.succ[n].items():
            share = flows[n]
            if not isinstance(graph.nodes[n]["node"], Product):
                if share > 0:
                    share *= mp.mpf(data["weight"]) * values[c] / values[n]
                edges[n, c] = share
            flows[c] += share
    return flows, edges


def exact_log(value: Any) -> float:
    """The logarithm as a double."""
    return float(mp.log(value)) if value > 0 else -np.inf
