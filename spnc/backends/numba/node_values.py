"""Values of chosen nodes, and flows through them, for every row.

Link judging needs both; given the known cells of a row, the flows through leaves are their weights.

Values are likelihood ratios to independent columns, as everywhere in the engine. They are computed
in the linear domain, which may lose numbers that matter to the root. Such rows are found by a bound
on whatever can be lost or, where that is too coarse, by flags for low numbers; then by an upper
bound of the root. They are computed again in the log domain, by the NumPy backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.kernels import FLOOR
from spnc.backends.numba.upper_bounds import CLOSE
from spnc.backends.planning.compiling import kernel
from spnc.backends.planning.encoding import EncodedTable, Piece, encode
from spnc.backends.planning.kinds import SUM
from spnc.backends.planning.leaf_list import LEAST_RATIO, LeafList
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.data.table import Table
from spnc.program.program import Parameters

ROWS_AT_ONCE = 16  # rows computed together; with flows, 256 bytes of working memory per node
# If nothing below this ratio can matter, rows with a root above it need no flags. Most tables of up
# to some hundred columns are of that kind, and flags take time.
RARE_ROOT = 1e-100
NEGLIGIBLE = 1e-15  # the share of a root that may be lost
EXACT_CHUNK_MB = 32.0  # working memory in the log domain: the default of the NumPy backend


@kernel
def block_values(
    first, last, codes, columns, ratios, sources, inner_nodes, weights, row_weights, flowing,
    flagging, root, wanted, values, flows, roots, low,
):  # fmt: skip
    """Rows first … last-1 of `values` and, if `flowing`, of `flows`, both `[wanted, row]`.

    An array without nodes is not wanted. `roots` gets the root's value of every row; if `flagging`,
    `low` says where a number fell below `FLOOR`, or is zero.
    """
    kinds, starts, children, slots = inner_nodes
    leaves = len(columns)
    value = np.empty((leaves + len(kinds), ROWS_AT_ONCE))
    flow = np.empty((leaves + len(kinds) if flowing else 0, ROWS_AT_ONCE))
    scale = np.empty(ROWS_AT_ONCE)
    least = np.empty(ROWS_AT_ONCE)
    for begin in range(first, last, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, last - begin)
        least[:] = 1.0
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
                    if flagging:
                        for r in range(count):
                            both = own[r] * child[r]
                            own[r] = both
                            least[r] = both if both < least[r] else least[r]
                    else:
                        for r in range(count):
                            own[r] *= child[r]
            if flagging and kinds[i] == SUM:
                for r in range(count):
                    least[r] = own[r] if own[r] < least[r] else least[r]
        for r in range(count):
            roots[begin + r] = value[root, r]
            low[begin + r] = least[r] < FLOOR
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


@kernel
def root_upper_bounds(
    first, last, rows, codes, columns, ratios, sources, inner_nodes, weights, root, found
):
    """Write an upper bound of the root's value to found[i], for the i-th of these rows.

    Numbers below `FLOOR` are replaced by it, unless they are true zeros: see `upper_bounds`.
    """
    kinds, starts, children, slots = inner_nodes
    leaves = len(columns)
    value = np.empty(leaves + len(kinds))
    for number in range(first, last):
        row = rows[number]
        for n in range(leaves):
            value[n] = ratios[sources[n] + codes[columns[n], row]]
        for i in range(len(kinds)):
            is_sum = kinds[i] == SUM
            own = 0.0 if is_sum else 1.0
            for e in range(starts[i], starts[i + 1]):
                child = value[children[e]]
                if is_sum:
                    weight = weights[slots[e]]
                    if weight > 0.0 and child > 0.0:
                        own += max(weight * child, FLOOR)
                else:
                    own = max(own * child, FLOOR) if own > 0.0 and child > 0.0 else 0.0
            value[leaves + i] = own
        found[number] = value[root]


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
        values, flows, doubtful = work(pieces[0])
    else:
        values, flows = (np.empty((size, table.rows)) for size in sizes)
        doubtful = np.zeros(table.rows, dtype=np.bool_)
        for piece in pieces:
            values[:, piece.rows], flows[:, piece.rows], doubtful[piece.rows] = work(piece)
    left = np.flatnonzero(doubtful)
    if len(left):
        from spnc.backends.numpy import NumpyEngine  # rarely needed

        own, through = NumpyEngine(index.program, EXACT_CHUNK_MB).ratios_and_flows(
            parameters,
            table.take(left),
            nodes,
            encoded.log_reference_cells(left),
            with_flows=with_flows,
        )
        if with_values:
            values[:, left] = own
        if with_flows:
            flows[:, left] = through
    return values, flows


def _piece_values(
    encoded: EncodedTable,
    parameters: Parameters,
    nodes: Ints,
    sizes: Sequence[int],
    alike: dict[tuple[int, ...], list[int]],
    team: ThreadTeam,
    piece: Piece,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the ratios and flows of the rows in a piece, and which rows are in doubt."""
    index, leaves = encoded.index, piece.leaves
    largest = _largest(leaves, parameters)
    ratios = leaves.ratios(parameters, largest)
    numeric = ratios[leaves.finite :]
    lost = np.flatnonzero((numeric > 0.0) & (numeric < 2.0 * LEAST_RATIO))
    numeric[lost] = 0.0
    highest = np.ones(len(index.program.columns))  # ratio of any leaf, by column; at least 1
    for _, leaf, _, entries in leaves.tables:
        columns, at = np.unique(leaf.variables, return_inverse=True)
        reference = np.stack([encoded.probabilities[c] for c in columns.tolist()])
        own = ratios[entries].reshape(len(leaf), -1)
        own /= reference[at]
        np.maximum.at(highest, leaf.variables, own.max(axis=1))
    # What is lost at one place is less than LEAST_RATIO times one leaf value of each other column.
    places = index.program.edges + index.program.nodes
    log_lost = np.log(2.0 * LEAST_RATIO) + np.log(places) + np.log(highest).sum()
    least_root = np.exp(min(log_lost - np.log(NEGLIGIBLE), 0.0))
    flagging = bool(least_root > RARE_ROOT)
    weights, rows = encoded.weights[piece.rows], len(piece.rows)
    values, flows = (np.empty((size, rows)) for size in sizes)
    roots, low = np.empty(rows), np.zeros(rows, dtype=np.bool_)

    def work(_: int, first: int, last: int) -> None:
        block_values(
            first, last, piece.codes, index.leaf_columns, ratios, leaves.starts,
            index.inner_nodes, parameters.weights, weights, len(flows) > 0, flagging,
            index.program.root, nodes, values, flows, roots, low,
        )  # fmt: skip

    team.run(even_bounds(rows, team.threads), work)
    doubtful = low if flagging else ~(roots > least_root)
    doubtful |= ~(roots < np.inf)
    left = np.flatnonzero(doubtful)
    if len(left):
        numeric[lost] = 2.0 * LEAST_RATIO  # an upper bound
        doubtful[left] = _differ(encoded, parameters, piece, ratios, roots, left, team)
    _rescale(values, encoded, piece, alike, largest)
    if largest:  # the largest density of a row may be too far from that of the reference
        doubtful |= ~np.isfinite(values).all(axis=0)
    return values, flows, doubtful


def _differ(
    encoded: EncodedTable,
    parameters: Parameters,
    piece: Piece,
    ratios: Floats,
    roots: Floats,
    rows: Ints,
    team: ThreadTeam,
) -> NDArray[np.bool_]:
    """Return for some rows of a piece whether the root differs from its upper bound."""
    index, above = encoded.index, np.empty(len(rows))

    def work(_: int, first: int, last: int) -> None:
        root_upper_bounds(
            first, last, rows, piece.codes, index.leaf_columns, ratios, piece.leaves.starts,
            index.inner_nodes, parameters.weights, index.program.root, above,
        )  # fmt: skip

    team.run(even_bounds(len(rows), team.threads), work)
    own = roots[rows]
    with np.errstate(invalid="ignore"):
        exact = (own > FLOOR) & (own < np.inf) & (above - own <= CLOSE * own)
    impossible = (above == 0.0) & (own == 0.0)
    found: NDArray[np.bool_] = ~(exact | impossible)
    return found


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
