"""Lowering: a checked `Graph` becomes a `Program` and its starting `Parameters`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.common.gc_pause import gc_paused
from spnc.common.ragged_array import RaggedArray
from spnc.data.columns import Column
from spnc.graph.circuit_arrays import CircuitArrays
from spnc.graph.node_arrays import SUM
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
    columns, node = graph.graph["columns"], list(payloads(graph).values())
    edges = edge_arrays(graph)
    position = dict(zip(edges.names, range(len(node)), strict=True))
    circuit = _Circuit(
        columns,
        position[find_root(graph)],
        np.array([isinstance(payload, Sum) for payload in node]),
        edges.children,
        _edge_weights(graph),
        edges.generations,
    )
    program, parameters, number = _lowered(circuit, _tables(edges.generations[0], node, columns))
    return program, parameters, dict(zip(edges.names, number.tolist(), strict=True))


@gc_paused()
def lower_arrays(arrays: CircuitArrays) -> tuple[Program, Parameters]:
    """Lower a circuit that is arrays: to the same program as a graph of it."""
    circuit = _Circuit(
        arrays.columns,
        arrays.root,
        arrays.kinds == SUM,
        arrays.children,
        arrays.weights,
        arrays.generations,
    )
    program, parameters, _ = _lowered(circuit, _tables_of_arrays(arrays))
    return program, parameters


class _Circuit(NamedTuple):
    """What lowering needs to know about a circuit besides its leaves."""

    columns: tuple[Column, ...]
    root: int
    is_sum: NDArray[np.bool_]
    children: RaggedArray
    weights: Floats  # by edge
    generations: list[Ints]


class _Table(NamedTuple):
    """The leaves of one distribution, number of states and number of parameters."""

    name: str
    width: int
    nodes: Ints
    variables: Ints
    rows: Floats


def _lowered(circuit: _Circuit, tables: list[_Table]) -> tuple[Program, Parameters, Ints]:
    """Return the program and its parameters, and the number of every node in it."""
    columns, children, is_sum = circuit.columns, circuit.children, circuit.is_sum
    upper = circuit.generations[1:]
    groups = [(kind, level[is_sum[level] == kind]) for level in upper for kind in (False, True)]
    groups = [(kind, members) for kind, members in groups if len(members)]

    placed = np.concatenate(
        [*(table.nodes for table in tables), *(members for _, members in groups)]
    )
    number = np.zeros(len(is_sum), dtype=np.int64)
    number[placed] = np.arange(len(placed))

    leaves = [
        LeafTable(
            table.name,
            table.width,
            int(number[table.nodes[0]]),
            table.variables,
            LeafColumns.of(columns, table.variables),
        )
        for table in tables
    ]
    segments, weights, slots = [], [], 0
    for kind, members in groups:
        first, last = int(number[members[0]]), int(number[members[-1]]) + 1
        places = children.places(members)
        own = RaggedArray.of(children.counts[members], number[children.members[places]])
        segments.append(Segment(kind, first, last, own.starts, own.members, slots if kind else 0))
        if kind:
            weights.append(circuit.weights[places])
            slots += len(places)
    root = int(number[circuit.root])
    program = Program(columns, tuple(leaves), tuple(segments), root, 1 + len(upper))
    all_weights = np.concatenate([np.zeros(0), *weights])
    return program, Parameters(all_weights, tuple(table.rows for table in tables)), number


def _tables(bottom: Ints, node: Sequence[Any], columns: Sequence[Column]) -> list[_Table]:
    """Group the leaves by distribution, number of states and number of parameters."""
    found: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for n in bottom.tolist():
        leaf = node[n]
        states, width = columns[leaf.variable].states, len(leaf.distribution.row)
        found[leaf.distribution.plugin_name, states, width].append(n)
    tables = []
    for (name, _, width), members in sorted(found.items()):
        payload = [node[n] for n in members]
        variables = np.array([leaf.variable for leaf in payload], dtype=np.int64)
        rows = np.array([leaf.distribution.row for leaf in payload], dtype=np.float64)
        tables.append(_Table(name, width, np.array(members), variables, rows))
    return tables


def _tables_of_arrays(arrays: CircuitArrays) -> list[_Table]:
    """Group leaves that are arrays in the same way."""
    leaves, bottom = arrays.leaves, arrays.generations[0]
    own = arrays.leaf_of[bottom]
    states = np.array([column.states for column in arrays.columns], dtype=np.int64)
    state_counts = states[leaves.variables[own]]
    found: list[tuple[tuple[str, int, int], _Table]] = []
    for number, (name, rows) in enumerate(zip(leaves.names, leaves.rows, strict=True)):
        of_table = leaves.tables[own] == number
        for count in np.unique(state_counts[of_table]).tolist():
            chosen = of_table & (state_counts == count)
            members, width = own[chosen], rows.shape[1]
            parameters = rows[leaves.places[members]]
            table = _Table(name, width, bottom[chosen], leaves.variables[members], parameters)
            found.append(((name, count, width), table))
    return [table for _, table in sorted(found, key=lambda each: each[0])]


def _edge_weights(graph: Graph) -> Floats:
    """Return the weights of all edges, in the graph's order; NaN below products."""
    below = children(graph).values()
    return np.array([data.get("weight") for e in below for data in e.values()], dtype=np.float64)
