"""Columns of a table given the known cells of each row, by one pass through the circuit.

Given the known cells of a row, the leaf that generates a missing cell is drawn with the
probability of the flow through it. One pass up and down the circuit gives the flows through the
leaves of all columns whose cells are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from spnc.backends import Engine
from spnc.backends.passes import ByChild, downward, logs
from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.data.table import Table
from spnc.program.program import Parameters, Program
from spnc.queries.column_given_rows import ColumnGivenRows, Mask
from spnc.queries.leaf_group import LeafGroup
from spnc.queries.node_passes import row_log_values

CELLS = 1 << 23  # leaves or nodes times rows computed at once
# How far from one the weights of a row may add up. An engine loses flow where ratios leave the
# range of doubles; beyond this, the row is computed again in the log domain.
LOST = 1e-9


def columns_given_rows(
    engine: Engine,
    parameters: Parameters,
    table: Table,
    columns: Sequence[int],
    progress: Progress | None = None,
) -> Iterator[tuple[slice, dict[int, ColumnGivenRows]]]:
    """Yield the distributions of columns, by column, for one piece of the rows after another.

    In every row, missing cells are summed out, and a column is given the known cells: also its own
    one, if that is known, which then says only by which leaf it may have been generated. Ask about
    cells that are missing, or see `without`.
    """
    program = engine.program
    nodes, groups = _leaves_over(program, columns)
    memos: dict[int, dict[tuple[float, float], tuple[Floats, Floats, Floats]]] = {}
    step = max(1, CELLS // max(1, len(nodes)))
    for begin in range(0, table.rows, step):
        rows = slice(begin, min(begin + step, table.rows))
        piece = table.take(rows, np.ones(rows.stop - begin))
        weights, impossible = _weights(engine, parameters, piece, nodes, groups)
        found = {}
        for column in columns:
            parts = tuple(
                LeafGroup(
                    program.leaves[at],
                    parameters.tables[at][own],
                    program.leaves[at].columns.take(own),
                    weights[first : first + len(own)],
                    memos.setdefault(first, {}),
                )
                for at, owner, own, first in groups
                if owner == column
            )
            found[column] = ColumnGivenRows(program.columns[column], parts, impossible)
        yield rows, found
        if progress is not None:
            progress("rows", rows.stop, table.rows)


def without(table: Table, columns: Sequence[int]) -> Table:
    """Return the table with all cells of some columns missing."""
    empty = np.full(table.rows, np.nan)
    cells = [empty if i in columns else table.stored(i) for i in range(table.width)]
    return Table.of_columns(cells, table.weights)


_Group = tuple[int, int, Ints, int]  # leaf table, column, places in the table, first weight


def _leaves_over(program: Program, columns: Sequence[int]) -> tuple[Ints, list[_Group]]:
    """Return the leaves over some columns, and how they are grouped."""
    nodes: list[Ints] = [np.zeros(0, dtype=np.int64)]
    groups: list[_Group] = []
    first = 0
    for column in columns:
        for at, leaf in enumerate(program.leaves):
            own = np.flatnonzero(leaf.variables == column)
            if len(own):
                groups.append((at, column, own, first))
                nodes.append(leaf.first + own)
                first += len(own)
    return np.concatenate(nodes), groups


def _weights(
    engine: Engine, parameters: Parameters, piece: Table, nodes: Ints, groups: list[_Group]
) -> tuple[Floats, Mask]:
    """Return the weights of leaves, `[leaf, row]`, and which rows are impossible."""
    weights = engine.node_flows(parameters, piece, nodes)
    starts = _column_starts(groups)
    with np.errstate(invalid="ignore"):
        totals = np.add.reduceat(weights, starts, axis=0)
        lost = np.flatnonzero(~(np.abs(totals - 1.0) <= LOST).all(axis=0))
    impossible = np.zeros(piece.rows, dtype=np.bool_)
    if len(lost):
        weights[:, lost], impossible[lost] = _exact_weights(
            engine.program, parameters, piece.take(lost), nodes
        )
        totals = np.add.reduceat(weights, starts, axis=0)
    for i, (first, last) in enumerate(pairwise([*starts.tolist(), len(nodes)])):
        weights[first:last] /= np.where(totals[i] > 0.0, totals[i], 1.0)
    return weights, impossible


def _column_starts(groups: list[_Group]) -> Ints:
    """Return where the leaves of each column begin."""
    found = [g[3] for i, g in enumerate(groups) if i == 0 or groups[i - 1][1] != g[1]]
    return np.array(found, dtype=np.int64)


def _exact_weights(
    program: Program, parameters: Parameters, piece: Table, nodes: Ints
) -> tuple[Floats, Mask]:
    """Return the weights of leaves, and which rows are impossible, computed in the log domain."""
    log_weights = logs(parameters.weights)
    edges = [ByChild.of(segment) for segment in program.segments]
    found = np.empty((len(nodes), piece.rows))
    impossible = np.empty(piece.rows, dtype=np.bool_)
    step = max(1, CELLS // program.nodes)
    for begin in range(0, piece.rows, step):
        rows = slice(begin, begin + step)
        values = row_log_values(program, parameters, piece.take(rows).values)
        flows = downward(program, edges, log_weights, values, np.ones(values.shape[1]))
        found[:, rows] = flows[nodes]
        impossible[rows] = values[program.root] == -np.inf
    return found, impossible
