"""The exact way out, on all threads: rows one by one, straight from the program, in logarithms."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spnc.backends.numba import logspace
from spnc.backends.planning.plan import PRODUCT, SUM, Codes
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

    @cached_property
    def inner_nodes(self) -> tuple[Any, ...]:
        """Kinds, and children as lists: starts, nodes, weight slots."""
        segments = self.skeleton.program.segments
        kinds = [np.full(s.last - s.first, SUM if s.is_sum else PRODUCT) for s in segments]
        fans = [np.diff(s.starts) for s in segments]
        slots = [s.first_slot + np.arange(len(s.children)) for s in segments]
        none = np.zeros(0, dtype=np.int64)
        return (
            np.concatenate([none, *kinds]).astype(np.uint8),
            np.concatenate([[0], np.cumsum(np.concatenate([none, *fans]))]),
            np.concatenate([none, *(s.children for s in segments)]),
            np.concatenate([none, *slots]),
        )

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
                    skeleton.leaf_columns, logs, skeleton.leaf_sources, self.inner_nodes,
                    log_weights, flowing.row_weights, flowing is not NO_FLOWS, found, *parts[lane],
                )  # fmt: skip

        self.team.run(even_bounds(len(parts), self.team.threads), work)
        for part in parts:
            for total, own in zip(totals, part, strict=True):
                total += own
