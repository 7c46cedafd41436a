"""Lowering: a checked `Graph` becomes a `Program` and its starting `Parameters`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from spnc.graph.nodes import Graph, Leaf, Sum, children_first, find_root, payloads
from spnc.program import LeafTable, Parameters, Program, Segment


def lower(graph: Graph) -> tuple[Program, Parameters]:
    """Number the nodes level by level and flatten them. The graph must have passed the checks."""
    columns = graph.graph["columns"]
    node = payloads(graph)
    order = children_first(graph)
    below = dict(graph.adjacency())

    level: dict[Any, int] = {}
    tables: dict[tuple[str, int], list[Any]] = defaultdict(list)
    inner: dict[tuple[int, bool], list[Any]] = defaultdict(list)
    for n in order:
        payload = node[n]
        if isinstance(payload, Leaf):
            level[n] = 0
            states = columns[payload.variable].states
            tables[payload.distribution.plugin_name, states].append(n)
        else:
            level[n] = 1 + max(level[c] for c in below[n])
            inner[level[n], isinstance(payload, Sum)].append(n)

    number: dict[Any, int] = {}
    leaves, leaf_parameters = [], []
    for (name, states), members in sorted(tables.items()):
        first = len(number)
        number.update(zip(members, range(first, first + len(members)), strict=True))
        payload_list: list[Any] = [node[n] for n in members]
        variables = np.array([p.variable for p in payload_list], dtype=np.int64)
        leaves.append(LeafTable(name, states, first, variables))
        rows = [p.distribution.row for p in payload_list]
        leaf_parameters.append(np.array(rows, dtype=np.float64))

    segments: list[Segment] = []
    weights: list[float] = []
    for (_, is_sum), members in sorted(inner.items()):
        first = len(number)
        number.update(zip(members, range(first, first + len(members)), strict=True))
        first_slot = len(weights)
        starts, children = [0], []
        for n in members:
            edges = below[n]
            children += [number[c] for c in edges]
            if is_sum:
                weights += [data["weight"] for data in edges.values()]
            starts.append(len(children))
        segments.append(
            Segment(
                is_sum,
                first,
                first + len(members),
                np.array(starts, dtype=np.int64),
                np.array(children, dtype=np.int64),
                first_slot if is_sum else 0,
            )
        )
    root = find_root(graph)
    program = Program(columns, tuple(leaves), tuple(segments), number[root], level[root] + 1)
    return program, Parameters(np.array(weights, dtype=np.float64), tuple(leaf_parameters))
