"""Values of chosen nodes, and flows through them, for every row: what link judging needs.

Values are likelihood ratios to independent columns, as everywhere in the engine. They are computed
in the linear domain only: a ratio too small for a double is zero, and no flow goes through a node
whose ratio is too large for one. Rows of a thousand columns that all agree may get there.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.planning.compiling import kernel
from spnc.backends.planning.kinds import SUM
from spnc.backends.planning.program_index import ProgramIndex, leaf_probabilities
from spnc.backends.planning.reference_distribution import reference_probabilities
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
    """Rows first … last-1 of `values` and, if `flowing`, of `flows`, both `[wanted, row]`."""
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
        for k in range(len(wanted)):
            for r in range(count):
                values[k, begin + r] = value[wanted[k], r]
        if not flowing:
            continue

        flow[:] = 0.0
        for r in range(count):
            fine = 0.0 < value[root, r] < np.inf
            flow[root, r] = row_weights[begin + r] if fine else 0.0
        for i in range(len(kinds) - 1, -1, -1):
            through = flow[leaves + i]
            if kinds[i] == SUM:
                for r in range(count):
                    own_value = value[leaves + i, r]
                    fine = 0.0 < own_value < np.inf
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
    with_flows: bool,
) -> tuple[Floats, Floats]:
    """Return the nodes' likelihood ratios and the flows through them, both `[node, row]`.

    Without `with_flows`, the array of flows has no nodes.
    """
    program, rows = index.program, table.rows
    codes, weights = index.encode(table), table.weights
    ratios = leaf_probabilities(program, parameters)
    reference = reference_probabilities(codes, index.states, weights)
    for leaf_column, source in zip(
        index.leaf_columns.tolist(), index.leaf_sources.tolist(), strict=True
    ):
        own = reference[leaf_column]
        ratios[source : source + len(own)] /= own
    values = np.empty((len(nodes), rows))
    flows = np.empty((len(nodes) if with_flows else 0, rows))

    def work(_: int, first: int, last: int) -> None:
        block_values(
            first, last, codes, index.leaf_columns, ratios, index.leaf_sources,
            index.inner_nodes, parameters.weights, weights, with_flows, program.root, nodes,
            values, flows,
        )  # fmt: skip

    team.run(even_bounds(rows, team.threads), work)
    return values, flows
