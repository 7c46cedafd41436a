"""A fast proof that a graph is a valid circuit, so that the checks can be skipped.

The checks visit a graph property by property, to say what is wrong and where. The proof visits it
once, on flat arrays, only to establish that nothing is wrong. Most circuits are made by learners
and pass. If the proof fails, for whatever reason, the checks are run: a failed proof is no verdict.
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
from spnc.checks.rules import (
    is_complete,
    is_over_known_column,
    models_kind,
)
from spnc.common.column_sets import (
    column_order,
    complement,
    narrow_union_and_overlap,
    release,
    single_sets,
    union_and_overlap,
)
from spnc.data.columns import Column
from spnc.graph.edge_arrays import EdgeArrays
from spnc.graph.nodes import Graph, Leaf, Node, Sum, children, edge_arrays, payloads
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf
from spnc.leaves.smoothing import SURE_TOLERANCE

# The checks that a proof makes unnecessary. A new check is always run until it is added here.
PROVED_CHECKS = (
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
_MARKS = ("damaged", "settled", "mentioned")  # left by `graph.assemble` after an error


def is_plainly_valid(graph: Graph) -> bool:
    """Return True if the graph is proved to be a valid circuit. False is no verdict."""
    if any(graph.graph.get(mark) for mark in _MARKS):
        return False
    edges, nodes = edge_arrays(graph), list(payloads(graph).values())
    columns = graph.graph["columns"]
    return (
        _is_one_circuit(edges, nodes, graph.graph.get("root"))
        and _is_untied(nodes)
        and _leaves_are_valid(nodes, columns)
        and _weights_add_up(graph, edges, nodes)
        and _scopes_are_valid(edges, nodes, len(columns))
    )


def _is_one_circuit(edges: EdgeArrays, nodes: Sequence[Node], root: object) -> bool:
    """Return whether there are no cycles, one root, and children below all but the leaves."""
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


def _leaves_are_valid(nodes: Sequence[Node], columns: Sequence[Column]) -> bool:
    seen: set[tuple[int, int]] = set()  # learners may give many nodes one distribution
    normal: dict[type[NormalLeaf], list[tuple[int, Distribution]]] = {}  # judged together
    for node in nodes:
        if isinstance(node, Leaf):
            if not is_over_known_column(node, columns):
                return False
            column, leaf = columns[node.variable], node.distribution
            key = node.variable, id(leaf)
            if key in seen:
                continue
            seen.add(key)
            if not models_kind(leaf, column):
                return False
            if isinstance(leaf, NormalLeaf):
                normal.setdefault(type(leaf), []).append((node.variable, leaf))
            elif leaf.problems(column):
                return False
    return all(_normal_leaves_are_valid(kind, own, columns) for kind, own in normal.items())


def _normal_leaves_are_valid(
    kind: type[NormalLeaf], leaves: Sequence[tuple[int, Distribution]], columns: Sequence[Column]
) -> bool:
    """Return whether all these leaves, each with the number of its column, have no problems.

    Only those near the bound of the resolution are asked one by one.
    """
    table = np.array([leaf.row for _, leaf in leaves], dtype=np.float64)
    known = LeafColumns.of(columns, np.array([variable for variable, _ in leaves]))
    if not kind.is_valid(table, known):
        return False
    near = np.flatnonzero(table[:, 1] < 1.001 * kind.narrowest(table[:, 0], known)).tolist()
    return not any(leaf.problems(columns[v]) for v, leaf in (leaves[i] for i in near))


def _weights_add_up(graph: Graph, edges: EdgeArrays, nodes: Sequence[Node]) -> bool:
    """Return whether weights are floats from 0 to 1 that sum to one, and only sums have them."""
    below = children(graph).values()
    given = [data.get("weight") for to_children in below for data in to_children.values()]
    if not all(issubclass(kind, float | None) for kind in set(map(type, given))):
        return False
    numbers = np.array(given, dtype=np.float64)
    absent = np.isnan(numbers)  # None has become NaN; a weight that was NaN before does not pass
    is_sum = np.array([isinstance(node, Sum) for node in nodes])
    counts = edges.children.counts
    if absent.sum() > given.count(None) or (absent == np.repeat(is_sum, counts)).any():
        return False
    weights = numbers[~absent]
    if not ((weights >= 0.0) & (weights <= 1.0 + SURE_TOLERANCE)).all():
        return False
    totals = np.add.reduceat(weights, np.cumsum(counts[is_sum]) - counts[is_sum])
    return bool((np.abs(totals - 1.0) <= SURE_TOLERANCE).all())


def _scopes_are_valid(edges: EdgeArrays, nodes: Sequence[Any], width: int) -> bool:
    """Return whether sums are complete, products decomposable, and the root has every column."""
    starts, below = edges.children.starts.tolist(), edges.children.members.tolist()
    bottom, *upper = edges.generations
    leaves = bottom.tolist()
    used = {nodes[n].variable for n in leaves}
    if len(used) < width:
        return False
    order = column_order(
        width,
        edges.order[-1:].tolist(),  # the last one is the root
        lambda n: below[starts[n] : starts[n + 1]],
        lambda n: nodes[n].variable if isinstance(nodes[n], Leaf) else None,
    )
    uses = edges.parents.counts.tolist() if order is not None else None
    joined = narrow_union_and_overlap if order is None else union_and_overlap
    single = single_sets(used, order)
    scopes: list[Any] = [None] * len(nodes)
    for n in leaves:
        scopes[n] = single[nodes[n].variable]
    interned: dict[int, int] = {}  # wide scopes are large ints: keep one object of each
    for n in chain.from_iterable(level.tolist() for level in upper):
        own = below[starts[n] : starts[n + 1]]
        child_scopes = [scopes[c] for c in own]
        if isinstance(nodes[n], Sum):
            if not is_complete(child_scopes):
                return False
            scopes[n] = child_scopes[0]
        else:
            scope, overlap = joined(child_scopes)
            if overlap:
                return False
            scopes[n] = scope if uses else interned.setdefault(scope, scope)
        if uses:
            release(scopes, own, uses)
    return not complement(scopes[int(edges.order[-1])], width)
