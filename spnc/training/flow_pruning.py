"""Pruning after training: drop edges that hardly any training row flows through.

The flow of a sum's edge is its expected count over the training rows; divided by their weight, it
is the share of the data that the edge explains. The weights of the children that remain are
rescaled to sum to one, and all parameters are fitted again from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.program.program import Parameters, Program
from spnc.program.score import Counts
from spnc.registry import Options, option
from spnc.training import Record


@dataclass(frozen=True, kw_only=True)
class Prune(Options):
    """Edges dropped after training; the smaller circuit is fitted again."""

    flow_below: float = option(
        doc="the smallest share of the training rows that an edge of a sum must explain to be kept",
        above=0,
        below=1,
    )
    most_loss: float | None = option(
        None,
        "keep the whole circuit if the smaller one's average log-likelihood, on validation rows "
        "or else training rows, is lower by more than this; none: keep the smaller one unless it "
        "makes more rows impossible",
        min=0,
    )

    def thinned(self, program: Program, parameters: Parameters, counts: Counts) -> Parameters:
        """Return the parameters with weight zero on every edge to be dropped.

        `counts` are the expected counts of the training rows. A sum keeps its strongest child.
        Return `parameters` itself if there is nothing to drop.
        """
        if program.slots == 0:
            return parameters
        starts, sizes = program.weight_starts[:-1], np.diff(program.weight_starts)
        strongest = np.repeat(np.maximum.reduceat(counts.weights, starts), sizes)
        weak = counts.weights < self.flow_below * counts.score.possible
        drop = weak & (counts.weights < strongest)
        if not drop.any():
            return parameters
        weights = np.where(drop, 0.0, parameters.weights)
        weights /= np.repeat(np.add.reduceat(weights, starts), sizes)
        return Parameters(weights, parameters.tables)

    def accepts(self, whole: Record, pruned: Record) -> bool:
        """Return whether the pruned circuit is good enough; never if more rows are impossible."""
        if pruned.train_impossible > whole.train_impossible:
            return False
        if (pruned.valid_impossible or 0.0) > (whole.valid_impossible or 0.0):
            return False
        if self.most_loss is None:
            return True
        if whole.valid is None or pruned.valid is None:
            return pruned.train >= whole.train - self.most_loss
        return pruned.valid >= whole.valid - self.most_loss
