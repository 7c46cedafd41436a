"""How strongly every two columns of a model depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.columns import Column
from spnc.data.pairs import mutual_information
from spnc.program.program import Parameters, Program
from spnc.queries.discretise import discretised
from spnc.queries.pairwise import pair_probabilities
from spnc.queries.posterior import Posterior

BINS = 16  # of a numeric column


@dataclass(frozen=True, eq=False)
class Dependence:
    """Mutual information of every two columns in nats, and as a share of the smaller entropy.

    Both are `[column, column]`. A share is 0 for independent columns and 1 if one column determines
    the other. Where a column is numeric, both are those of its bins, which is a lower bound of the
    mutual information: `exact` says for which pairs it is not needed.
    """

    columns: tuple[Column, ...]
    nats: Floats
    shares: Floats
    exact: Floats

    def pairs(self) -> list[tuple[str, str, float, float, bool]]:
        """Return names, nats, share and exactness of every pair; the largest share first."""
        above = zip(*np.triu_indices(len(self.columns), k=1), strict=True)
        found = [
            (
                self.columns[i].name,
                self.columns[j].name,
                float(self.nats[i, j]),
                float(self.shares[i, j]),
                bool(self.exact[i, j]),
            )
            for i, j in above
        ]
        return sorted(found, key=lambda pair: -pair[3])


def dependence(
    program: Program,
    parameters: Parameters,
    opened: Callable[[Program], Engine],
    columns: Sequence[int],
    *,
    bins: int = BINS,
    progress: Progress | None = None,
) -> Dependence:
    """Return the dependence of these columns; numbers are divided into bins of equal probability.

    `opened` opens the program with bins on a backend.
    """
    cuts = _cuts(program, parameters, columns, bins)
    binned, own_parameters = discretised(program, parameters, cuts)
    joint = pair_probabilities(opened(binned), own_parameters, progress, columns)
    nats = mutual_information(joint)
    entropies = np.empty(len(columns))
    for place in range(len(columns)):
        chances = joint.between(place, place).diagonal()
        some = chances[chances > 0.0]
        entropies[place] = -(some * np.log(some)).sum()
    least = np.minimum(entropies[:, None], entropies[None])
    shares = np.divide(nats, least, out=np.zeros_like(nats), where=least > 0.0)
    own = tuple(program.columns[i] for i in columns)
    finite = np.array([column.is_finite for column in own])
    return Dependence(own, nats, np.clip(shares, 0.0, 1.0), finite[:, None] & finite[None])


def _cuts(
    program: Program, parameters: Parameters, columns: Sequence[int], bins: int
) -> dict[int, Floats]:
    """Return cuts between bins of about equal probability under the model.

    All numeric columns need cuts, also those that nobody asks about; these get cuts in one place.
    """
    posterior = Posterior(program, parameters)
    shares = np.arange(1, bins) / bins
    found = {}
    for i, column in enumerate(program.columns):
        if column.is_finite:
            continue
        if i not in columns:
            found[i] = np.zeros(bins - 1)
            continue
        quantiles = posterior.column(i).quantiles(shares)
        found[i] = quantiles + 0.5 if column.kind == "count" else quantiles
    return found
