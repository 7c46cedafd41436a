"""A moving average of the statistics of numeric leaves, for optimisers that take gradient steps.

The parameters of numeric leaves have units and bounds, so that one step size in logits does not
suit them. Instead, they take damped steps of EM: after each mini-batch, the average of their
statistics is moved towards those of the batch by the step size of the optimiser, and the
parameters are estimated from the average, with the prior. The average starts as the statistics of
all rows. This is stepwise EM (Cappé & Moulines, "On-line EM algorithm for latent data models",
2009), restricted to leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Program
from spnc.program.score import Counts
from spnc.training import Memory


@dataclass(frozen=True, eq=False)
class MovingStatistics:
    """The tables of numeric leaves in a program; the average is kept in an optimiser's memory."""

    program: Program
    prior: Smoothing

    @property
    def tables(self) -> dict[str, int]:
        """The number of each table of numeric leaves, by its name in the memory."""
        leaves = enumerate(self.program.leaves)
        return {f"statistics.{i}": i for i, leaf in leaves if not leaf.kind.is_finite}

    def initial_memory(self) -> Memory:
        """Return an average that has not started."""
        leaves = self.program.leaves
        return {
            name: np.zeros((len(leaves[i]), leaves[i].statistic_count))
            for name, i in self.tables.items()
        }

    def started(self, counts: Counts) -> Memory:
        """Return the average that starts as the statistics of all rows."""
        return {name: counts.tables[i] for name, i in self.tables.items()}

    def moved(self, memory: Memory, counts: Counts, scale: float, share: float) -> Memory:
        """Move the average towards `scale` times the statistics of a mini-batch."""
        share = min(1.0, share)
        return {
            name: (1.0 - share) * memory[name] + share * scale * counts.tables[i]
            for name, i in self.tables.items()
        }

    def estimated(self, memory: Memory, tables: Sequence[Floats]) -> tuple[Floats, ...]:
        """Return the leaf tables with numeric leaves estimated from the average."""
        found = list(tables)
        for name, i in self.tables.items():
            leaf = self.program.leaves[i]
            found[i] = leaf.kind.estimate(memory[name], self.prior.leaves, found[i], leaf.columns)
        return tuple(found)
