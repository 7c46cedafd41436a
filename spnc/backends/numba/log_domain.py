"""`LogDomain`: exact results for any row, in the log domain, on all threads.

It computes the rows that leave the range of doubles in the linear domain, and all rows of tables
that are too small for planning to pay off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spnc.backends.numba import log_kernels
from spnc.backends.planning.encoding import EncodedTable, Piece
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.program.program import Parameters

# Rows are summed up in parts that do not depend on the number of threads, so neither do the bits.
MOST_PARTS = 16
PART_ROWS = 32  # a part has about as many rows, or more


class FlowTotals(NamedTuple):
    """The totals that flows are added to."""

    counts: Floats  # of sum edges
    tables: Sequence[Floats]  # statistics of leaves, by leaf table


class LogDomain:
    """Computes rows one by one from the program, without a layout."""

    def __init__(self, index: ProgramIndex, team: ThreadTeam) -> None:
        self.index, self.team = index, team

    def finish(
        self,
        parameters: Parameters,
        encoded: EncodedTable,
        found: Floats,
        totals: FlowTotals | None = None,
    ) -> None:
        """Compute the rows that are still NaN in `found`; add their flows to `totals`, if given."""
        rows = np.flatnonzero(np.isnan(found))
        if len(rows) == 0:
            return
        with np.errstate(divide="ignore"):
            log_weights = np.log(parameters.weights)
        for piece in encoded.pieces(rows):
            weights = encoded.weights[piece.rows]
            found[piece.rows] = self._piece(parameters, log_weights, piece, weights, totals)

    def _piece(
        self,
        parameters: Parameters,
        log_weights: Floats,
        piece: Piece,
        row_weights: Floats,
        totals: FlowTotals | None,
    ) -> Floats:
        """Return the log-likelihoods of a piece's rows; add their flows to `totals`, if given."""
        index, leaves = self.index, piece.leaves
        logs, found = leaves.logs(parameters), np.empty(len(piece.rows))
        bounds = even_bounds(len(found), min(MOST_PARTS, -(-len(found) // PART_ROWS)))
        flowing = totals is not None
        sizes = (len(log_weights), leaves.count) if flowing else (0, 0)
        parts = [[np.zeros(size) for size in sizes] for _ in bounds[1:]]

        def work(_: int, first: int, last: int) -> None:
            for i in range(first, last):
                part = slice(bounds[i], bounds[i + 1])
                log_kernels.rows_in_logs(
                    piece.places[part], index.program.root, piece.codes, index.leaf_columns, logs,
                    leaves.starts, index.inner_nodes, log_weights, row_weights[part], flowing,
                    found[part], *parts[i],
                )  # fmt: skip

        self.team.run(even_bounds(len(parts), self.team.threads), work)
        if totals is not None:
            for counts, flows in parts:
                np.add(totals.counts, counts, out=totals.counts)
                leaves.add_finite(flows, totals.tables)
            # Each entry of a numeric leaf belongs to one row, and so to one part.
            numeric = np.sum([flows for _, flows in parts], axis=0)
            leaves.add_numeric(numeric, parameters, totals.tables)
        return found
