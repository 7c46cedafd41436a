"""`LogDomain`: exact results for any row, in the log domain, on all threads.

It computes the rows that leave the range of doubles in the linear domain, and all rows of tables
that are too small for planning to pay off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.numba import log_kernels
from spnc.backends.planning.program_index import Codes, ProgramIndex
from spnc.common.arrays import Floats
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.program.program import Parameters

# Rows are summed up in parts that do not depend on the number of threads, so neither do the bits.
MOST_PARTS = 16
PART_ROWS = 32  # a part has about as many rows, or more


class FlowTotals(NamedTuple):
    """The row weights that flows start from, and the totals that they are added to."""

    row_weights: Floats
    counts: Floats  # of sum edges
    states: Floats  # of leaves, in the order of the flat list of probabilities


NO_FLOWS = FlowTotals(np.empty(0), np.empty(0), np.empty(0))


class LogDomain:
    """Computes rows one by one from the program, without a layout."""

    def __init__(self, index: ProgramIndex, team: ThreadTeam) -> None:
        self.index, self.team = index, team

    def finish(
        self,
        parameters: Parameters,
        probabilities: Floats,
        codes: Codes,
        found: Floats,
        totals: FlowTotals = NO_FLOWS,
    ) -> None:
        """Compute the rows that are still NaN in `found`; add their flows to `totals`, if given."""
        rows = np.flatnonzero(np.isnan(found))
        if len(rows) == 0:
            return
        index = self.index
        with np.errstate(divide="ignore"):
            log_weights, logs = np.log(parameters.weights), np.log(probabilities)
        bounds = even_bounds(len(rows), min(MOST_PARTS, -(-len(rows) // PART_ROWS)))
        sums = (totals.counts, totals.states)
        parts = [[np.zeros_like(one) for one in sums] for _ in bounds[1:]]

        def work(_: int, first: int, last: int) -> None:
            for i in range(first, last):
                log_kernels.rows_in_logs(
                    rows[bounds[i] : bounds[i + 1]], index.program.root, codes,
                    index.leaf_columns, logs, index.leaf_sources, index.inner_nodes,
                    log_weights, totals.row_weights, totals is not NO_FLOWS, found, *parts[i],
                )  # fmt: skip

        self.team.run(even_bounds(len(parts), self.team.threads), work)
        for part in parts:
            for total, own in zip(sums, part, strict=True):
                total += own
