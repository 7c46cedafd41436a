"""Residual links for the benchmark's forests: components that share inner nodes.

A sum of component i gets one more child: a node of a later component j, marginalised to the sum's
scope. Marginalising copies only the nodes that are partly outside that scope; nodes inside it are
shared with component j, and so have two parents. Links run from earlier to later components only,
and copies belong to the component they were made from, so no cycle can arise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spnc.common.column_sets import ColumnSet
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Leaf, Product, Sum, below, children_first
from spnc.graph.scopes import scopes

_CANDIDATES = 8  # a link's target is drawn from this many nodes, those of the smallest scopes


def link(forest: Forest, edges: int, rng: np.random.Generator, largest: int = 200) -> Forest:
    """Draw links until the forest has about `edges` edges, or no more links are possible.

    A link that would copy more than `largest` edges is not drawn, since forests should share nodes,
    not copy them.
    """
    graph = forest.builder.graph
    node = dict(graph.nodes(data="node"))
    scope: dict[Any, ColumnSet] = scopes(graph, children_first(graph))
    members = [list(below(graph, root)) for root in forest.roots]
    inner = [[n for n in own if not isinstance(node[n], Leaf)] for own in members]
    sums = [(i, n) for i, own in enumerate(inner[:-1]) for n in own if isinstance(node[n], Sum)]
    cutter = _Cutter(forest.builder, scope)
    have = graph.number_of_edges()  # updated below: counting a large graph takes long
    for at in rng.permutation(len(sums)).tolist():
        if have + cutter.edges >= edges:
            break
        i, source = sums[at]
        j = int(rng.integers(i + 1, len(members)))
        wanted = scope[source]
        fitting = [n for n in inner[j] if scope[n] & wanted == wanted]
        fitting.sort(key=lambda n: scope[n].bit_count())  # stable: breadth first among equals
        if not fitting:
            continue
        chosen = fitting[int(rng.integers(min(_CANDIDATES, len(fitting))))]
        if cutter.cost(chosen, wanted) > largest:
            continue
        target = cutter.cut(chosen, wanted)
        if graph.has_edge(source, target):
            continue
        _add_child(forest.builder, source, target)
        have += 1
    return forest


def _add_child(builder: Builder, parent: int, child: int) -> None:
    """Add a child with the average weight of a child."""
    edges = builder.graph.succ[parent]
    share = 1.0 / (len(edges) + 1)
    for data in edges.values():
        data["weight"] *= 1.0 - share
    builder.connect(parent, child, share)


class _Cutter:
    """Marginalise nodes to a scope, and keep the results for later links."""

    def __init__(self, builder: Builder, scope: dict[Any, ColumnSet]) -> None:
        self.builder = builder
        self.scope = scope
        self.edges = 0  # copied so far
        self._made: dict[tuple[Any, ColumnSet], Any] = {}

    def cost(self, n: Any, wanted: ColumnSet) -> int:
        """Return the number of edges that `cut` would copy at most."""
        seen, queue, total = {n}, [n], 0
        graph = self.builder.graph
        for at in queue:
            kept = self.scope[at] & wanted
            if kept == self.scope[at] or (at, kept) in self._made:
                continue
            for child in graph.succ[at]:
                if self.scope[child] & wanted:
                    total += 1
                    if child not in seen:
                        seen.add(child)
                        queue.append(child)
        return total

    def cut(self, n: Any, wanted: ColumnSet) -> Any:
        """Return a node with the distribution of `n`, marginalised to the columns of `wanted`."""
        kept = self.scope[n] & wanted
        if kept == self.scope[n]:
            return n
        if (n, kept) not in self._made:
            self._made[n, kept] = self._copy(n, kept)
        return self._made[n, kept]

    def _copy(self, n: Any, kept: ColumnSet) -> Any:
        builder = self.builder
        payload = builder.graph.nodes[n]["node"]
        # A list, since cutting adds nodes to the graph.
        edges = [(c, data.get("weight", 1.0)) for c, data in builder.graph.succ[n].items()]
        if isinstance(payload, Product):
            children = [self.cut(c, kept) for c, _ in edges if self.scope[c] & kept]
            if len(children) == 1:
                return children[0]
            made = builder.product(children, payload.rows)
        else:
            weights: dict[Any, float] = {}
            for c, weight in edges:
                child = self.cut(c, kept)
                # Two children may have become one; their weights add up.
                weights[child] = weights.get(child, 0.0) + weight
            if len(weights) == 1:
                return next(iter(weights))
            made = builder.sum(list(weights), list(weights.values()), payload.rows)
        self.scope[made] = kept
        self.edges += len(builder.graph.succ[made])
        return made
