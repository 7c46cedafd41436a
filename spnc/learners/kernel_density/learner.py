"""A kernel density estimate as a circuit: a sum over training rows.

Every training row is the centre of a product of kernels, one per column. There are several scales:
a row may be nearly equal to another one, or just similar. As a circuit:

- the root is a sum over the scales;
- a scale is a sum over the centres, weighted by their rows;
- a centre is a product of one kernel per column. Rows that agree in a column share its kernel.

Kernels are as wide as describes every row best by the others (`leave_one_out`). Given some cells of
a row, the circuit weighs training rows by how near they are, and fills the other cells with their
mean: it remembers rows, where other learners describe them. On a table in which many rows are
nearly equal to another (wine: 4,547 rows, a quarter of them repeated), with a fifth of the cells of
the validation rows hidden (two masks), error of numbers and accuracy of labels:

    hclt, 64 states                      .696   .555
    decision-tree, 40 trees              .615   .609
    a random forest for each column      .615   .639
    kernel-density                       .537   .613
    kernel-density and 10 trees          .545   .675

Parameters must not be fitted by EM afterwards, which would describe each row by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import ClassVar

import numpy as np

from spnc.learners import LearningTask
from spnc.learners.kernel_density.leave_one_out import Kernels, fit_kernels
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.leaf_choice import DEFAULT, LeafModel
from spnc.learners.support.leaf_fit import DataSlice, fit_leaves
from spnc.registry import LEARNERS, Options, option


@LEARNERS.register("kernel-density")
@dataclass(frozen=True, kw_only=True)
class KernelDensity(Options):
    """A kernel density estimate: a sum over training rows, each a product of kernels."""

    # A row that a bootstrap sample has twice would be described by itself.
    needs_own_rows: ClassVar[bool] = True

    scales: int = option(
        2, "how many widths the kernels of a column have, each with its own weight", min=1, max=16
    )
    centres: int = option(
        5_000, "at most how many distinct training rows have kernels; drawn at random", min=1
    )
    steps: int = option(
        20,
        "at most how many iterations of EM the widths of kernels are fitted for, each row being "
        "described by the others",
        min=0,
    )

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        table, everything = task.table, np.arange(len(task.columns))
        whole = DataSlice(np.arange(table.rows), everything, float(table.weights.sum()))
        [wholes] = fit_leaves(task.columns, table, [whole], task.smoothing, DEFAULT)
        kernels = fit_kernels(task, wholes, self.scales, self.centres, self.steps)
        return _built(DeferredBuilder(task), kernels, wholes)


def _built(builder: DeferredBuilder, kernels: Kernels, wholes: list[LeafModel]) -> int:
    """Add a sum over scales and centres. Return its root."""
    values, weights = kernels.centres.values.tolist(), kernels.centres.weights
    points: list[AttachPoint | None] = [None]
    total = float(weights.sum())
    if len(kernels.shares) > 1:
        points = [*builder.add_sum(None, (kernels.shares * total).tolist())]
    made: dict[tuple[int, int, float | None], int] = {}  # by scale, column and value

    def attach(point: AttachPoint | None, scale: int, column: int, value: float) -> None:
        missing = isnan(value)
        key = (0, column, None) if missing else (scale, column, value)
        if key in made:
            builder.attach(point, made[key])
            return
        model = wholes[column] if missing else kernels.columns[column].model(scale, value)
        made[key] = builder.add_model(point, column, model, total)

    for scale, point in enumerate(points):
        share = float(kernels.shares[scale])
        inside: list[AttachPoint | None] = [point]
        if len(values) > 1:
            inside = [*builder.add_sum(point, (share * weights).tolist())]
        for row, place, weight in zip(values, inside, weights.tolist(), strict=True):
            own = builder.add_product(place, share * weight) if len(row) > 1 else place
            for column, value in enumerate(row):
                attach(own, scale, column, value)
    return builder.build()
