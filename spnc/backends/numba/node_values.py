"""Values of, and flows through, chosen nodes row by row: what the judging of links needs to know.

Values are likelihood ratios, as everywhere in the engine: to the columns' own frequencies, for the
columns that a node speaks about. So nodes over the same columns compare as they are. Nothing goes
to the log domain here: a ratio too small for a double is zero, and no flow goes through a node
whose ratio is too large for one, as may happen with rows of a thousand columns all alike.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.row_by_row import RowByRow
from spnc.backends.planning.compiling import kernel
from spnc.backends.planning.plan import SUM
from spnc.backends.planning.reference import marginals
from spnc.backends.planning.skeleton import Skeleton, leaf_probabilities
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.data.dataset import Table
from spnc.program.program import Parameters, Program

ROWS_AT_ONCE = 16


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


class NodeValues:
    """Rows that circuits over the same columns are to be asked about."""

    def __init__(self, table: Table, threads: int) -> None:
        self.table = table
        self.team = ThreadTeam(threads)

    def of(self, program: Program, parameters: Parameters, nodes: Ints) -> Floats:
        """The nodes' likelihood ratios, `[node, row]`."""
        return self._run(program, parameters, nodes, flowing=False)[0]

    def with_flows(
        self, program: Program, parameters: Parameters, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """The same, and the flows through the nodes when each row's weight enters at the root."""
        return self._run(program, parameters, nodes, flowing=True)

    def _run(
        self, program: Program, parameters: Parameters, nodes: Ints, *, flowing: bool
    ) -> tuple[Floats, Floats]:
        skeleton, rows = Skeleton(program), self.table.rows
        codes, weights = skeleton.encode(self.table), self.table.weights
        ratios = leaf_probabilities(program, parameters)
        reference = marginals(codes, skeleton.states, weights)
        for leaf_column, source in zip(
            skeleton.leaf_columns.tolist(), skeleton.leaf_sources.tolist(), strict=True
        ):
            own = reference[leaf_column]
            ratios[source : source + len(own)] /= own
        inner = RowByRow(skeleton, self.team).inner_nodes
        values = np.empty((len(nodes), rows))
        flows = np.empty((len(nodes) if flowing else 0, rows))

        def work(_: int, first: int, last: int) -> None:
            block_values(
                first, last, codes, skeleton.leaf_columns, ratios, skeleton.leaf_sources, inner,
                parameters.weights, weights, flowing, program.root, nodes, values, flows,
            )  # fmt: skip

        self.team.run(even_bounds(rows, self.team.threads), work)
        return values, flows
