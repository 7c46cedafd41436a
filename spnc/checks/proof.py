"""Most circuits are valid, and can be seen to be so at little cost.

The checks go through a graph property by property, to say what is wrong and where. The proof goes
through it once, only to see that nothing is. Where it sees that, the checks that it stands for
have nothing to say; where it does not, for whatever reason, they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from spnc.checks import (
    acyclic,
    complete,
    covering,
    decomposable,
    kinds,
    leaves,
    rooted,
    ties,
    weights,
)
from spnc.data.dataset import Column
from spnc.graph.flat import Flat
from spnc.graph.nodes import Graph, Leaf, Node, Sum, children, flat, payloads
from spnc.leaves.smoothing import SUM_TOLERANCE

# A check that is not among these is always asked.
STANDS_FOR = (
    kinds.check,
    acyclic.check,
    rooted.check,
    leaves.check,
    complete.check,
    decomposable.check,
    weights.check,
    ties.check,
    covering.check,
)
_MARKS = ("damaged", "settled", "mentioned")  # of a reader that had complaints


def is_plainly_valid(graph: Graph) -> bool:
    """Whether the graph is seen to be a valid circuit. False says nothing."""
    if any(graph.graph.get(mark) for mark in _MARKS):
        return False
    edges, nodes, columns = flat(graph), list(payloads(graph).values()), graph.graph["columns"]
    return (
        _is_one_circuit(edges, nodes, graph.graph.get("root"))
        and _is_untied(nodes)
        and _leaves_fit(nodes, columns)
        and _weights_add_up(graph, edges, nodes)
        and _scopes_fit(edges, nodes, len(columns))
    )


def _is_one_circuit(edges: Flat, nodes: Sequence[Node], root: object) -> bool:
    """No cycles; one root, the declared one if any; just the leaves are without children."""
    is_leaf = np.array([isinstance(node, Leaf) for node in nodes])
    tops = np.flatnonzero(edges.parents.counts == 0)
    return (
        len(edges.order) == len(nodes)
        and len(tops) == 1
        and root in (None, edges.names[tops[0]])
        and bool((is_leaf == (edges.children.counts == 0)).all())
    )


def _is_untied(nodes: Sequence[Node]) -> bool:
    return all(getattr(node, "tie", None) is None for node in nodes)


def _leaves_fit(nodes: Sequence[Node], columns: Sequence[Column]) -> bool:
    for node in nodes:
        if isinstance(node, Leaf):
            if not 0 <= node.variable < len(columns):
                return False
            column, leaf = columns[node.variable], node.distribution
            if column.kind not in leaf.kinds or leaf.problems(column):
                return False
    return True


def _weights_add_up(graph: Graph, edges: Flat, nodes: Sequence[Node]) -> bool:
    """Plain numbers between 0 and 1 with a total of one at every sum, and none elsewhere."""
    below = children(graph).values()
    given = [data.get("weight") for to_children in below for data in to_children.values()]
    if not all(issubclass(kind, float | None) for kind in set(map(type, given))):
        return False
    numbers = np.array(given, dtype=np.float64)
    absent = np.isnan(numbers)  # None has become NaN; what was NaN before does not pass
    is_sum = np.array([isinstance(node, Sum) for node in nodes])
    counts = edges.children.counts
    if absent.sum() > given.count(None) or (absent == np.repeat(is_sum, counts)).any():
        return False
    weights = numbers[~absent]
    if not ((weights >= 0.0) & (weights <= 1.0 + SUM_TOLERANCE)).all():
        return False
    totals = np.add.reduceat(weights, np.cumsum(counts[is_sum]) - counts[is_sum])
    # Closer to one than the check wants them, which adds up more precisely.
    return bool((np.abs(totals - 1.0) <= SUM_TOLERANCE / 2).all())


def _scopes_fit(edges: Flat, nodes: Sequence[Any], width: int) -> bool:
    """Sums are complete, products decomposable, and the root has every column."""
    starts, below = edges.children.starts.tolist(), edges.children.members.tolist()
    columns = [1 << variable for variable in range(width)]
    scopes = [0] * len(nodes)
    bottom, *upper = edges.generations
    for n in bottom.tolist():
        scopes[n] = columns[nodes[n].variable]
    known: dict[int, int] = {}  # wide scopes are large ints: keep one object of each
    for n in chain.from_iterable(level.tolist() for level in upper):
        scope, *others = [scopes[c] for c in below[starts[n] : starts[n + 1]]]
        if isinstance(nodes[n], Sum):
            for other in others:
                if other != scope:
                    return False
        else:
            for other in others:
                if other & scope:
                    return False
                scope |= other
            scope = known.setdefault(scope, scope)
        scopes[n] = scope
    return scopes[int(edges.order[-1])] == (1 << width) - 1  # the last one is the root
