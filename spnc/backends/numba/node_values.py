"""Values of chosen nodes, and flows through them, for every row.

Link judging needs both; given the known cells of a row, the flows through leaves are their weights.

Values are likelihood ratios to independent columns, as everywhere in the engine. They are computed
in the linear domain only: a ratio too small for a double is zero, and no flow goes through a node
whose ratio is too large for one. Rows of a thousand columns that all agree may get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from spnc.backends.planning.compiling import kernel
from spnc.backends.planning.encoding import EncodedTable, Piece, encode
from spnc.backends.planning.kinds import SUM
from spnc.backends.planning.leaf_list import LEAST_RATIO, LeafList
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.data.dataset import Table
from spnc.program.program import Parameters

ROWS_AT_ONCE = 16  # rows computed together; with flows, 256 bytes of working memory per node


@kernel
def block_values(
    first, last, codes, columns, ratios, sources, inner_nodes, weights, row_weights, flowing, root,
    wanted, values, flows,
):  # fmt: skip
    """Rows first … last-1 of `values` and, if `flowing`, of `flows`, both `[wanted, row]`.

    An array without nodes is not wanted.
    """
    kinds, starts, children, slots = inner_nodes
    leaves = len(columns)
    value = np.empty((leaves + len(kinds), ROWS_AT_ONCE))
    flow = np.empty((leaves + len(kinds) if flowing else 0, ROWS_AT_ONCE))
    scale = np.empty(ROWS_AT_ONCE)
    for begin in range(first, last, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, last - begin)
        for n in range(leaves):
            for r in range(count):
                value[n, r] = ratios[sources[n] + codes[columns[n], begin + r]]
        for i in range(len(kinds)):
            own = value[leaves + i]
            if kinds[i] == SUM:
                own[:] = 0.0
                for e in range(starts[i], starts[i + 1]):
                    weight, child = weights[slots[e]], value[children[e]]
                    for r in range(count):
                        own[r] += weight * child[r]
            else:
                own[:] = 1.0
                for e in range(starts[i], starts[i + 1]):
                    child = value[children[e]]
                    for r in range(count):
                        own[r] *= child[r]
        for k in range(len(values)):
            for r in range(count):
                values[k, begin + r] = value[wanted[k], r]
        if not flowing:
            continue

        flow[:] = 0.0
        for r in range(count):
            fine = LEAST_RATIO < value[root, r] < np.inf
            flow[root, r] = row_weights[begin + r] if fine else 0.0
        for i in range(len(kinds) - 1, -1, -1):
            through = flow[leaves + i]
            if kinds[i] == SUM:
                for r in range(count):
                    own_value = value[leaves + i, r]
                    fine = LEAST_RATIO < own_value < np.inf
                    scale[r] = through[r] / own_value if fine else 0.0
                for e in range(starts[i], starts[i + 1]):
                    weight, child = weights[slots[e]], children[e]
                    for r in range(count):
                        flow[child, r] += weight * value[child, r] * scale[r]
            else:
                for e in range(starts[i], starts[i + 1]):
                    child = children[e]
                    for r in range(count):
                        flow[child, r] += through[r]
        for k in range(len(wanted)):
            for r in range(count):
                flows[k, begin + r] = flow[wanted[k], r]


def node_values(
    index: ProgramIndex,
    parameters: Parameters,
    table: Table,
    nodes: Ints,
    team: ThreadTeam,
    *,
    with_values: bool = True,
    with_flows: bool = True,
) -> tuple[Floats, Floats]:
    """Return the nodes' likelihood ratios and the flows through them, both `[node, row]`.

    Without `with_values` or `with_flows`, the array of these has no nodes.
    """
    encoded = encode(index, table)
    sizes = [len(nodes) if wanted else 0 for wanted in (with_values, with_flows)]
    alike = _same_scope(index, nodes) if with_values else {}
    work = partial(_piece_values, encoded, parameters, nodes, sizes, alike, team)
    pieces = list(encoded.pieces(np.arange(table.rows)))
    if len(pieces) == 1:
        return work(pieces[0])
    values, flows = (np.empty((size, table.rows)) for size in sizes)
    for piece in pieces:
        values[:, piece.rows], flows[:, piece.rows] = work(piece)
    return values, flows


def _piece_values(
    encoded: EncodedTable,
    parameters: Parameters,
    nodes: Ints,
    sizes: Sequence[int],
    alike: dict[tuple[int, ...], list[int]],
    team: ThreadTeam,
    piece: Piece,
) -> tuple[Floats, Floats]:
    """Return the ratios and flows of the rows in a piece."""
    index, leaves = encoded.index, piece.leaves
    largest = _largest(leaves, parameters)
    ratios = leaves.ratios(parameters, largest)
    ratios[leaves.finite :][ratios[leaves.finite :] < 2.0 * LEAST_RATIO] = 0.0  # lost, not wrong
    for _, leaf, _, entries in leaves.tables:
        columns, at = np.unique(leaf.variables, return_inverse=True)
        reference = np.stack([encoded.probabilities[c] for c in columns.tolist()])
        own = ratios[entries].reshape(len(leaf), -1)
        own /= reference[at]
    weights, rows = encoded.weights[piece.rows], len(piece.rows)
    values, flows = (np.empty((size, rows)) for size in sizes)

    def work(_: int, first: int, last: int) -> None:
        block_values(
            first, last, piece.codes, index.leaf_columns, ratios, leaves.starts,
            index.inner_nodes, parameters.weights, weights, len(flows) > 0, index.program.root,
            nodes, values, flows,
        )  # fmt: skip

    team.run(even_bounds(rows, team.threads), work)
    _rescale(values, encoded, piece, alike, largest)
    return values, flows


def _same_scope(index: ProgramIndex, nodes: Ints) -> dict[tuple[int, ...], list[int]]:
    """Return the places of nodes by their columns; many leaves are over the same one."""
    found: dict[tuple[int, ...], list[int]] = {}
    for place, below in enumerate(index.node_columns(nodes)):
        found.setdefault(tuple(below.tolist()), []).append(place)
    return found


def _largest(leaves: LeafList, parameters: Parameters) -> dict[int, Floats]:
    """Return the largest log density of any leaf, by numeric column and row.

    Divided by it, densities far from all leaves stay within the range of doubles.
    """
    logs, found = leaves.logs(parameters), dict[int, Floats]()
    for group, _, entries in leaves.groups:
        own = logs[entries].reshape(len(group.nodes), -1).max(axis=0)
        found[group.column] = np.maximum(found.get(group.column, -np.inf), own)
    return {column: np.where(own > -np.inf, own, 0.0) for column, own in found.items()}


def _rescale(
    values: Floats,
    encoded: EncodedTable,
    piece: Piece,
    alike: dict[tuple[int, ...], list[int]],
    largest: dict[int, Floats],
) -> None:
    """Turn ratios to the largest densities of numeric columns into ratios to the reference."""
    if not largest:
        return
    logs = {}
    for column, own in largest.items():
        histogram = encoded.histograms[column]
        assert histogram is not None
        logs[column] = own[:-1] - histogram.log_density(encoded.cells(column, piece.rows))
    for columns, places in alike.items():
        shift = [logs[column] for column in columns if column in logs]
        if shift:
            with np.errstate(over="ignore", invalid="ignore"):
                values[places] *= np.exp(np.sum(shift, axis=0))
