"""How wide kernels are: EM in which no row is described by itself.

The likelihood of the training rows would be highest with kernels of no width, since every row is a
centre. So each row is described by all centres but itself (the leave-one-out likelihood; Duin 1976,
"On the choice of smoothing parameters for Parzen estimators"). A row of weight two counts as two
rows: one of them stays as a centre of the other.

EM over scales and centres then gives the parameters of every kernel in closed form. They are few,
so a sample of the rows is enough to fit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.learners import LearningTask
from spnc.learners.kernel_density.column_kernels import ColumnKernel, kernel_of
from spnc.learners.support.leaf_choice import LeafModel
from spnc.learners.support.leaf_fit import Indices

FITTED_ROWS = 2_000  # to which kernels are fitted, at most
NARROW, WIDE = 0.05, 0.8  # first widths, as shares of a column's standard deviation
BLOCK_CELLS = 1 << 19  # scales times rows times centres computed at once
LEAST_GAIN = 1e-4  # nats per row; with less, EM stops


@dataclass(frozen=True, eq=False)
class Kernels:
    """The kernels of every column, the share of each scale, and the centres."""

    columns: tuple[ColumnKernel, ...]
    shares: Floats
    centres: Table


def fit_kernels(
    task: LearningTask, wholes: Sequence[LeafModel], scales: int, centres: int, steps: int
) -> Kernels:
    """Fit kernels to training rows; at most `centres` distinct ones, drawn at random, get kernels.

    `wholes` are the distributions of the columns, `steps` the number of iterations at most.
    """
    table = task.table.distinct()
    picked = _some(table.rows, centres, task.rng)
    fitted = _some(table.rows, FITTED_ROWS, task.rng)
    among, rows = table.take(picked), table.take(fitted)
    widths = np.geomspace(NARROW, WIDE, scales) if scales > 1 else np.array([0.5 * WIDE])
    columns = tuple(
        kernel_of(column, rows.column(i), among.column(i), wholes[i], widths)
        for i, column in enumerate(task.columns)
    )
    found = Kernels(columns, np.full(scales, 1.0 / scales), among)
    place_of = np.full(table.rows, -1)
    place_of[picked] = np.arange(len(picked))
    before = -np.inf
    with threadpool_limits(limits=1):  # sums in the same order on any number of cores
        for step in range(steps):
            task.deadline.check()
            task.progress("kernel widths", step, steps)
            gained = _improve(found, rows.weights, place_of[fitted])
            if gained is None or gained - before < LEAST_GAIN:
                break
            before = gained
    return found


def _some(rows: int, most: int, rng: np.random.Generator) -> Indices:
    """Return the places of all rows, or of this many, drawn at random."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(rng.permutation(rows)[:most])


def _improve(kernels: Kernels, weights: Floats, own: Indices) -> float | None:
    """Make one iteration of EM. Return the average log-likelihood before it.

    `own` is the centre that is a row itself, or -1. None: no row has another one to be described
    by.
    """
    scales, masses = len(kernels.shares), kernels.centres.weights
    block_rows = max(1, BLOCK_CELLS // (scales * len(masses)))
    total, held, counts = 0.0, 0.0, np.zeros(scales)
    with np.errstate(divide="ignore"):
        starts = np.log(kernels.shares)[:, None] + np.log(masses / masses.sum())
    for begin in range(0, len(weights), block_rows):
        block = slice(begin, min(begin + block_rows, len(weights)))
        logs = np.repeat(starts[:, None], block.stop - begin, axis=1)
        mine = np.flatnonzero(own[block] >= 0)
        itself = own[block][mine]
        with np.errstate(divide="ignore"):
            left = np.log(np.maximum(1.0 - 1.0 / masses[itself], 0.0))
        logs[:, mine, itself] += left
        for kernel in kernels.columns:
            kernel.add_logs(logs, block)
        highest = logs.max(axis=(0, 2))
        possible = highest > -np.inf
        np.subtract(logs, np.where(possible, highest, 0.0)[:, None], out=logs)
        shares = np.exp(logs, out=logs)
        sums = shares.sum(axis=(0, 2))
        rows = np.where(possible, weights[block], 0.0)
        shares *= (rows / np.where(possible, sums, 1.0))[:, None]
        total += float((rows * (np.where(possible, highest, 0.0) + _safe_log(sums))).sum())
        held += float(rows.sum())
        counts += shares.sum(axis=(1, 2))
        for kernel in kernels.columns:
            kernel.count(shares, block)
    if held == 0.0:
        return None
    kernels.shares[:] = counts / held
    for kernel in kernels.columns:
        kernel.estimate()
    return total / held


def _safe_log(sums: Floats) -> Floats:
    return np.log(np.where(sums > 0.0, sums, 1.0))
