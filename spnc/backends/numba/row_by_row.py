"""The exact way out, on all threads: rows one by one, straight from the program, in logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.numba import logspace
from spnc.backends.planning.plan import Codes
from spnc.backends.planning.skeleton import Skeleton
from spnc.common.arrays import Floats
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.program.program import Parameters

LANES = 16  # rows are summed up in so many parts at most, whatever the number of threads
LANE_ROWS = 32  # and parts of fewer rows are not worth having


class Flowing(NamedTuple):
    """What flows start from, and what they are added to."""

    row_weights: Floats
    counts: Floats  # of sum edges
    states: Floats  # of leaves, in the order of the flat list of probabilities


NO_FLOWS = Flowing(np.empty(0), np.empty(0), np.empty(0))


class RowByRow:
    """Computes the rows that a plan could not, or all rows where there is no plan."""

    def __init__(self, skeleton: Skeleton, team: ThreadTeam) -> None:
        self.skeleton, self.team = skeleton, team

    def finish(
        self,
        parameters: Parameters,
        probabilities: Floats,
        codes: Codes,
        found: Floats,
        flowing: Flowing = NO_FLOWS,
    ) -> None:
        """Compute the rows that are still not a number, and their flows if there are to be any."""
        rows = np.flatnonzero(np.isnan(found))
        if len(rows) == 0:
            return
        skeleton = self.skeleton
        with np.errstate(divide="ignore"):
            log_weights, logs = np.log(parameters.weights), np.log(probabilities)
        lanes = even_bounds(len(rows), min(LANES, -(-len(rows) // LANE_ROWS)))
        totals = (flowing.counts, flowing.states)
        parts = [[np.zeros_like(total) for total in totals] for _ in lanes[1:]]

        def work(_: int, first: int, last: int) -> None:
            for lane in range(first, last):
                logspace.rows_in_logs(
                    rows[lanes[lane] : lanes[lane + 1]], skeleton.program.root, codes,
                    skeleton.leaf_columns, logs, skeleton.leaf_sources, skeleton.inner_nodes,
                    log_weights, flowing.row_weights, flowing is not NO_FLOWS, found, *parts[lane],
                )  # fmt: skip

        self.team.run(even_bounds(len(parts), self.team.threads), work)
        for part in parts:
            for total, own in zip(totals, part, strict=True):
                total += own
