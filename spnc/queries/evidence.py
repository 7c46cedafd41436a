"""Boxes as evidence: the probability of a box at every leaf and at every node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.backends.passes import logs, upward
from spnc.common.arrays import Floats
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import LeafTable, Parameters, Program
from spnc.queries.events import Box
from spnc.queries.value_sets import ValueSet


def probability_within(
    leaf: LeafTable, table: Floats, columns: LeafColumns, values: ValueSet
) -> Floats:
    """Return the probability of a set of values under each leaf of a table, `[leaf]`."""
    total = np.zeros(len(table))
    for low, high in values.spans:
        ends = np.full((len(table), 1), low), np.full((len(table), 1), high)
        total += leaf.kind.interval(table, *ends, columns)[:, 0]
    return np.minimum(total, 1.0)


def leaf_log_values(program: Program, parameters: Parameters, boxes: Sequence[Box]) -> Floats:
    """Return the log probability of each box under each leaf, `[leaf, box]`.

    It is zero at leaves whose column the box leaves open.
    """
    asked: dict[int, dict[ValueSet, list[int]]] = {}
    for place, box in enumerate(boxes):
        for column, values in box.items():
            asked.setdefault(column, {}).setdefault(values, []).append(place)
    found = np.zeros((program.leaves[-1].last, len(boxes)))
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        for column in np.unique(leaf.variables).tolist():
            if column not in asked:
                continue
            own = np.flatnonzero(leaf.variables == column)
            known = leaf.columns.take(own)
            for values, places in asked[column].items():
                chances = probability_within(leaf, table[own], known, values)
                found[np.ix_(leaf.first + own, np.array(places))] = logs(chances)[:, None]
    return found


def node_log_values(
    program: Program, parameters: Parameters, boxes: Sequence[Box], cells: Floats | None = None
) -> Floats:
    """Return the log probability of each box at each node, over the node's own columns.

    With `cells`, a row in which NaN is missing, the log density of its known cells is included; a
    cell outside of a box makes that box impossible.
    """
    values = np.empty((program.nodes, len(boxes)))
    values[: program.leaves[-1].last] = leaf_log_values(program, parameters, boxes)
    if cells is not None:
        _put_cells(program, parameters, boxes, cells, values)
    return upward(program, logs(parameters.weights), values)


def _put_cells(
    program: Program, parameters: Parameters, boxes: Sequence[Box], cells: Floats, values: Floats
) -> None:
    """Replace the log values of leaves over the known cells of a row by their log densities."""
    known = ~np.isnan(cells)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        own = np.flatnonzero(known[leaf.variables])
        if len(own):
            columns = leaf.columns.take(own)
            dense = leaf.kind.log_density(table[own], cells[leaf.variables[own], None], columns)
            values[leaf.first + own] = dense
    for place, box in enumerate(boxes):
        if any(known[c] and float(cells[c]) not in allowed for c, allowed in box.items()):
            values[: program.leaves[-1].last, place] = -np.inf


def log_probability(
    program: Program, parameters: Parameters, boxes: Sequence[Box], cells: Floats | None = None
) -> float:
    """Return the log probability of a row in one of these disjoint boxes, with these cells."""
    if not boxes:
        return -np.inf
    return log_sum(node_log_values(program, parameters, boxes, cells)[program.root])


def log_sum(terms: Floats) -> float:
    """Return the logarithm of a sum, given the logarithms of its terms."""
    top = float(terms.max(initial=-np.inf))
    return top if np.isinf(top) else top + float(np.log(np.exp(terms - top).sum()))
