"""Probabilities of sums and finite leaves as one flat list, in groups that each add up to one.

A group is the weights of a sum, or the states of a leaf. Numeric leaves are not among them: see
`spnc.training.moving_statistics`. With p = softmax(t) in every group, the
gradient of the log-likelihood with respect to t comes from the expected counts c that EM uses:
d/dt_k = c_k - p_k · Σc. With the Dirichlet prior, its pseudo-counts are added to c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.leaves.finite import as_finite
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts

# With a prior nothing is impossible, but a softmax cannot leave zero: a zero is replaced by this.
_ALMOST_ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class Simplices:
    """The flat view of a program's weights and finite leaves."""

    program: Program
    starts: Ints  # where each group begins
    sizes: Ints
    prior: Floats  # pseudo-rows, by entry

    @staticmethod
    def of(program: Program, prior: Smoothing) -> Simplices:
        """Return the view of a program's parameters, with this prior."""
        weight_sizes = np.diff(program.weight_starts)
        finite = [leaf for leaf in program.leaves if leaf.kind.is_finite]
        leaf_sizes = [np.full(len(leaf), leaf.states, dtype=np.int64) for leaf in finite]
        sizes = np.concatenate([weight_sizes, *leaf_sizes])
        entries = int(sizes.sum())
        pseudo = np.repeat([prior.weights, prior.leaves], [program.slots, entries - program.slots])
        return Simplices(program, np.cumsum(sizes) - sizes, sizes, pseudo)

    @property
    def entries(self) -> int:
        """The length of the flat list."""
        return len(self.prior)

    def logits(self, parameters: Parameters) -> Floats:
        """Return log p of every entry; -inf stands for a zero that has to stay zero."""
        tables = zip(self.program.leaves, parameters.tables, strict=True)
        parts = [
            as_finite(leaf.kind).probabilities(t, leaf.states).reshape(-1)
            for leaf, t in tables
            if leaf.kind.is_finite
        ]
        p = np.concatenate([parameters.weights, *parts])
        with np.errstate(divide="ignore"):
            return np.log(np.where(self.prior > 0.0, np.maximum(p, _ALMOST_ZERO), p))

    def probabilities(self, logits: Floats) -> Floats:
        """Return the softmax of every group."""
        if len(logits) == 0:
            return logits
        p: Floats = np.exp(logits - np.repeat(np.maximum.reduceat(logits, self.starts), self.sizes))
        p /= np.repeat(np.add.reduceat(p, self.starts), self.sizes)
        return p

    def parameters(self, probabilities: Floats, old: Parameters) -> Parameters:
        """Return the parameters with these probabilities.

        Leaves without parameters and numeric leaves stay.
        """
        tables, start = [], self.program.slots
        for leaf, table in zip(self.program.leaves, old.tables, strict=True):
            if not leaf.kind.is_finite:
                tables.append(table)
                continue
            stop = start + len(leaf) * leaf.states
            own = probabilities[start:stop].reshape(len(leaf), leaf.states)
            tables.append(as_finite(leaf.kind).from_probabilities(own, table))
            start = stop
        return Parameters(probabilities[: self.program.slots], tuple(tables))

    def gradient(self, probabilities: Floats, counts: Counts, rows: float) -> Floats:
        """Return the gradient of the mean log-likelihood plus log prior / `rows` by the logits."""
        tables = zip(self.program.leaves, counts.tables, strict=True)
        parts = [t.reshape(-1) for leaf, t in tables if leaf.kind.is_finite]
        found = np.concatenate([counts.weights, *parts])
        found /= counts.score.possible
        found += self.prior / rows
        if len(found) == 0:
            return found
        found -= probabilities * np.repeat(np.add.reduceat(found, self.starts), self.sizes)
        return found
