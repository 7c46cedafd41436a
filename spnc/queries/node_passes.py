"""What happens at every node, row by row: log values on the way up, flows on the way down.

These take memory for all nodes and rows at once; `Engine` has passes for many rows.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.passes import ByChild, downward, logs, upward
from spnc.common.arrays import Floats
from spnc.program.program import Parameters, Program


def row_log_values(program: Program, parameters: Parameters, rows: Floats) -> Floats:
    """Return the log density of each row's cells at each node, `[node, row]`.

    A node sees the columns below it; missing cells, NaN in `rows[row, column]`, are summed out.
    """
    values = np.empty((program.nodes, len(rows)))
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        cells = rows.T[leaf.variables]
        values[leaf.first : leaf.last] = leaf.kind.log_density(table, cells, leaf.columns)
    return upward(program, logs(parameters.weights), values)


def row_flows(program: Program, parameters: Parameters, log_values: Floats) -> Floats:
    """Return the probability that each node generates its columns, given each row.

    `log_values` are those of `row_log_values`. The root of a possible row has one.
    """
    edges = [ByChild.of(segment) for segment in program.segments]
    rows = np.ones(log_values.shape[1])
    return downward(program, edges, logs(parameters.weights), log_values, rows)
