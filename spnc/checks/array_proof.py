"""The proof that a circuit is valid (see `proof.py`), for one that is arrays and no graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from spnc.checks.rules import models_kind
from spnc.common.column_sets import (
    NARROW,
    complement,
    narrow_union_and_overlap,
    single_set,
)
from spnc.common.equal_lists import number_lists
from spnc.common.ragged_array import RaggedArray
from spnc.graph.circuit_arrays import CircuitArrays
from spnc.graph.node_arrays import LEAF, SUM
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.smoothing import SURE_TOLERANCE
from spnc.registry import LEAVES


def is_plainly_valid(circuit: CircuitArrays) -> bool:
    """Return True if the circuit is proved to be valid. False is no verdict."""
    return (
        len(circuit.columns) <= NARROW
        and _is_one_circuit(circuit)
        and _leaves_are_valid(circuit)
        and _weights_add_up(circuit)
        and _scopes_are_valid(circuit)
    )


def _is_one_circuit(circuit: CircuitArrays) -> bool:
    """Return whether all nodes are below the root, without cycles, with fitting children."""
    counts = circuit.children.counts
    tops = np.flatnonzero(np.bincount(circuit.children.members, minlength=circuit.nodes) == 0)
    return (
        tops.tolist() == [circuit.root]
        and bool(((circuit.kinds == LEAF) == (counts == 0)).all())
        and sum(map(len, circuit.generations)) == circuit.nodes
        and not _has_edge_twice(circuit)
    )


def _has_edge_twice(circuit: CircuitArrays) -> bool:
    """Return whether a sum has a child twice; below products, scopes show it."""
    below_sum = circuit.kinds[circuit.owners] == SUM
    keys = circuit.owners[below_sum] * circuit.nodes + circuit.children.members[below_sum]
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def _leaves_are_valid(circuit: CircuitArrays) -> bool:
    """Return whether leaves are over columns that they can model, with valid parameters."""
    columns, leaves = circuit.columns, circuit.leaves
    variables = leaves.variables
    if len(variables) and (variables.min() < 0 or variables.max() >= len(columns)):
        return False
    states = np.array([column.states for column in columns], dtype=np.int64)[variables]
    for table, (name, rows) in enumerate(zip(leaves.names, leaves.rows, strict=True)):
        kind = LEAVES[name]
        own = leaves.tables == table
        used = [columns[v] for v in np.unique(variables[own]).tolist()]
        if not all(models_kind(kind, column) for column in used):
            return False
        for number in np.unique(states[own]).tolist():
            chosen = own & (states == number)
            about = LeafColumns.of(columns, variables[chosen])
            if not kind.is_valid(rows[leaves.places[chosen]], about):
                return False
    return True


def _weights_add_up(circuit: CircuitArrays) -> bool:
    """Return whether weights are from 0 to 1 and sum to one, and only sums have them."""
    is_sum = circuit.kinds == SUM
    absent = np.isnan(circuit.weights)
    if (absent == is_sum[circuit.owners]).any():
        return False
    weights, counts = circuit.weights[~absent], circuit.children.counts[is_sum]
    if not ((weights >= 0.0) & (weights <= 1.0 + SURE_TOLERANCE)).all():
        return False
    if not len(counts):
        return True
    totals = np.add.reduceat(weights, np.cumsum(counts) - counts)
    return bool((np.abs(totals - 1.0) <= SURE_TOLERANCE).all())


def _scopes_are_valid(circuit: CircuitArrays) -> bool:
    """Return whether sums are complete, products decomposable, and the root has every column.

    The scopes of products are computed once for each list of the scopes of their children.
    """
    known: dict[int, int] = {}
    distinct: list[int] = []
    scope = np.empty(circuit.nodes, dtype=np.int64)  # by node: a place in `distinct`

    def number(found: int) -> int:
        place = known.setdefault(found, len(distinct))
        if place == len(distinct):
            distinct.append(found)
        return place

    single = [number(single_set(i, None)) for i in range(len(circuit.columns))]
    bottom, *upper = circuit.generations
    scope[bottom] = np.array(single)[circuit.leaves.variables[circuit.leaf_of[bottom]]]
    for level in upper:
        is_sum = circuit.kinds[level] == SUM
        sums, products = level[is_sum], level[~is_sum]
        below = RaggedArray.of(circuit.children.counts[sums], scope[circuit.children.at(sums)])
        scope[sums] = below.members[below.starts[:-1]]
        if (np.repeat(scope[sums], below.counts) != below.members).any():
            return False
        if not len(products):
            continue
        counts = circuit.children.counts[products]
        below = RaggedArray.of(counts, scope[circuit.children.at(products)])
        found = number_lists(below)
        shapes = below.take(found.firsts)
        made: list[Any] = []
        members, starts = shapes.members.tolist(), shapes.starts.tolist()
        for i in range(len(found.firsts)):
            parts = [distinct[place] for place in members[starts[i] : starts[i + 1]]]
            union, overlap = narrow_union_and_overlap(parts)
            if overlap:
                return False
            made.append(number(union))
        scope[products] = np.array(made, dtype=np.int64)[found.numbers]
    return not complement(distinct[scope[circuit.root]], len(circuit.columns))
