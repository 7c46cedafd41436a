"""Lowering: a checked `Graph` becomes a `Program` and its starting `Parameters`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.common.gc_pause import gc_paused
from spnc.data.columns import Column
from spnc.graph.edge_arrays import RaggedArray
from spnc.graph.nodes import Graph, Sum, children, edge_arrays, find_root, payloads
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import LeafTable, Parameters, Program, Segment


def lower(graph: Graph) -> tuple[Program, Parameters]:
    """Number the nodes level by level and flatten them. The graph must have passed the checks."""
    program, parameters, _ = lower_with_numbers(graph)
    return program, parameters


@gc_paused()
def lower_with_numbers(graph: Graph) -> tuple[Program, Parameters, dict[Hashable, int]]:
    """Lower a graph, and return the number that each of its nodes has in the program as well."""
    columns = graph.graph["columns"]
    node: list[Any] = list(payloads(graph).values())
    edges = edge_arrays(graph)
    bottom, *upper = edges.generations
    tables = _tables(bottom, node, columns)
    is_sum = np.array([isinstance(payload, Sum) for payload in node])
    groups = [(kind, level[is_sum[level] == kind]) for level in upper for kind in (False, True)]
    groups = [(kind, members) for kind, members in groups if len(members)]

    placed = np.concatenate([*tables.values(), *(members for _, members in groups)])
    number = np.zeros(len(node), dtype=np.int64)
    number[placed] = np.arange(len(placed))

    leaves, leaf_parameters = [], []
    for (name, _, width), members in tables.items():
        payload = [node[n] for n in members.tolist()]
        variables = np.array([leaf.variable for leaf in payload], dtype=np.int64)
        about = LeafColumns.of(columns, variables)
        leaves.append(LeafTable(name, width, int(number[members[0]]), variables, about))
        rows = [leaf.distribution.row for leaf in payload]
        leaf_parameters.append(np.array(rows, dtype=np.float64))

    segments, weights, slots = [], [], 0
    edge_weights = _edge_weights(graph)
    for kind, members in groups:
        first, last = int(number[members[0]]), int(number[members[-1]]) + 1
        places = edges.children.places(members)
        own = RaggedArray.of(edges.children.counts[members], number[edges.children.members[places]])
        segments.append(Segment(kind, first, last, own.starts, own.members, slots if kind else 0))
        if kind:
            weights.append(edge_weights[places])
            slots += len(places)
    numbers = dict(zip(edges.names, number.tolist(), strict=True))
    root = numbers[find_root(graph)]
    program = Program(columns, tuple(leaves), tuple(segments), root, 1 + len(upper))
    all_weights = np.concatenate([np.zeros(0), *weights])
    return program, Parameters(all_weights, tuple(leaf_parameters)), numbers


def _tables(
    bottom: Ints, node: Sequence[Any], columns: Sequence[Column]
) -> dict[tuple[str, int, int], Ints]:
    """Group the leaves by distribution, number of states and number of parameters."""
    found: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for n in bottom.tolist():
        leaf = node[n]
        states, width = columns[leaf.variable].states, len(leaf.distribution.row)
        found[leaf.distribution.plugin_name, states, width].append(n)
    return {key: np.array(members) for key, members in sorted(found.items())}


def _edge_weights(graph: Graph) -> Floats:
    """Return the weights of all edges, in the graph's order; NaN below products."""
    below = children(graph).values()
    return np.array([data.get("weight") for e in below for data in e.values()], dtype=np.float64)
