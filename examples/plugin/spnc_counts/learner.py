"""A learner: a mixture whose components have independent binomial columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.learners import LearningTask
from spnc.leaves.fitting import fit_column
from spnc.registry import LEARNERS, Options, option
from spnc_counts.leaf import Binomial


@LEARNERS.register("binomial-mixture")
@dataclass(frozen=True, kw_only=True)
class BinomialMixture(Options):
    """A mixture of components in each of which the columns are independent binomials."""

    components: int = option(4, "how many components the mixture has", min=2, max=1000)

    def learn(self, task: LearningTask) -> int:
        """Add a sum of products of leaves, each fitted to a random part of the rows."""
        builder, table = task.builder, task.table
        # EM does the rest: the components have only to differ.
        part = task.rng.integers(self.components, size=table.rows)
        products = []
        for component in range(self.components):
            weights = np.where(part == component, table.weights, 0.0)
            leaves = []
            for variable, column in enumerate(task.columns):
                values = table.column(variable)[None, :]
                alpha = task.smoothing.leaves
                fitted = fit_column(Binomial, column, values, weights[None, :], alpha)
                leaves.append(builder.leaf(variable, Binomial.from_row(fitted[0])))
            products.append(builder.product(leaves))
        return builder.sum(products, [1.0 / self.components] * self.components)
