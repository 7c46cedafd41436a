"""The generative solution as a prior: a penalty on how far parameters move away from it.

The penalty of a sum or a finite leaf is `strength` times the number of training rows that reach it
under the generative parameters, times the Kullback-Leibler divergence KL(generative || current).
For a numeric leaf, the divergence is replaced by its second-order expansion, half the Fisher
information times the squared change of each coordinate. With strength 1 the penalty weighs as much
as the training rows themselves do in EM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.program.program import Parameters
from spnc.program.score import Counts
from spnc.training.coordinates import Coordinates


@dataclass(frozen=True, eq=False)
class Anchor:
    """The penalty; its value and gradient are per training row."""

    view: Coordinates
    at: Floats  # the coordinates of the generative solution
    probabilities: Floats  # the generative ones, by logit
    pull: Floats  # by coordinate: what multiplies the divergence

    @staticmethod
    def of(view: Coordinates, generative: Parameters, counts: Counts, strength: float) -> Anchor:
        """Return the penalty around parameters with these expected counts of the training rows."""
        rows = counts.score.possible
        at = view.flat(generative)
        pull = np.empty(len(at))
        pull[: view.finite] = view.group_totals(counts)
        for i, leaf, kind, place in view.numeric_leaves():
            weight = kind.weight_of(counts.tables[i])[:, None]
            information = kind.information(generative.tables[i], leaf.columns)
            pull[place] = (weight * information).reshape(-1)
        return Anchor(view, at, view.probabilities(at), strength / rows * pull)

    def gradient(self, flat: Floats) -> Floats:
        """Return the derivatives of the penalty with a minus sign: the pull back."""
        now = self.view.probabilities(flat)
        back = np.concatenate([self.probabilities - now, -self._moved(flat)])
        back *= self.pull
        return back

    def value(self, flat: Floats) -> float:
        """Return the penalty."""
        now, size = self.view.probabilities(flat), self.view.finite
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self.probabilities) - np.log(now)
        terms = np.where(self.probabilities > 0.0, self.probabilities * logs, 0.0)
        squares = 0.5 * self._moved(flat) ** 2
        return float((self.pull[:size] * terms).sum() + (self.pull[size:] * squares).sum())

    def _moved(self, flat: Floats) -> Floats:
        """Return the change of the coordinates of numeric leaves; none where both are -inf."""
        size = self.view.finite
        here, there = flat[size:], self.at[size:]
        both = np.isfinite(here) & np.isfinite(there)
        return np.where(both, here, 0.0) - np.where(both, there, 0.0)
