"""Rows drawn from the model, each beside the training row that is most like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.dataset import SPLITS, Dataset, Table
from spnc.model import Model
from spnc.reports.facts.rows import log_likelihoods, some_rows

COUNT = 32
COMPARED = 200  # real rows whose nearest training row is looked for as well
_CELLS = 1 << 29  # to compare, at most


@dataclass(frozen=True, eq=False)
class Samples:
    """Drawn rows, `[row, column]`. Distances count the cells that differ from the nearest row.

    Where cells are missing they are estimates.
    """

    values: Floats
    log_likelihoods: Floats
    nearest: Floats  # the most similar training row of each
    distances: Floats
    copies: int  # drawn rows that are equal to a training row, which has all its cells
    missing: bool  # whether training rows lack cells
    looked_at: int  # training rows
    real: str | None  # the split whose rows are compared in the same way; None if there is none
    real_distances: Floats


def samples_fit(model: Model, dataset: Dataset, seed: int) -> Samples:
    """Rows drawn with the run's seed, and how far they and unseen real rows are from training."""
    values = model.sample(COUNT, seed)
    columns = values.shape[1]
    most = max(1000, _CELLS // ((COUNT + COMPARED) * columns))
    train, _ = some_rows(dataset.train, most, "nearest")
    distances, nearest = nearest_rows(values, train.values)
    complete = ~np.isnan(train.values[nearest]).any(axis=1)
    held_out = [name for name in SPLITS if name in dataset.splits and name != "train"]
    real, real_distances = None, np.zeros(0)
    if held_out:
        real = held_out[-1]
        some, _ = some_rows(dataset.splits[real], COMPARED, "real")
        real_distances, _ = nearest_rows(some.values, train.values)
    found = log_likelihoods(model, Table(values))
    return Samples(
        values,
        found,
        train.values[nearest],
        distances,
        int((complete & (distances == 0.0)).sum()),
        bool(np.isnan(train.values).any()),
        train.rows,
        real,
        real_distances,
    )


def nearest_rows(rows: Floats, among: Floats) -> tuple[Floats, Ints]:
    """The distance of each row to the nearest, and which that is; of equals, the most complete.

    A distance is the number of cells that differ. A cell that is missing counts as it does on
    average: where one row has it, as the share of rows that differ from it; where the row that
    is compared lacks it, as the share of pairs of rows that differ. So none is near for being
    empty.
    """
    codes = np.where(np.isnan(among), -1, among).astype(np.int16)
    wild = codes < 0
    gaps = np.count_nonzero(wild, axis=1)
    filled = np.maximum(1, len(among) - np.count_nonzero(wild, axis=0)).astype(np.float64)
    spread = np.array([_spread(column) for column in codes.T])
    distances, nearest = [], []
    for row in rows:
        known = ~np.isnan(row)
        apart = codes[:, known] != row[known].astype(np.int16)
        far = np.full(len(among), spread[~known].sum())
        if gaps.any():
            lacking = wild[:, known]
            apart &= ~lacking
            far += (lacking * (np.count_nonzero(apart, axis=0) / filled[known])).sum(axis=1)
        far = np.round(far + np.count_nonzero(apart, axis=1), 9)
        least = far.min()
        nearest.append(int(np.argmin(np.where(far == least, gaps, len(row) + 1))))
        distances.append(float(least))
    return np.array(distances), np.array(nearest, dtype=np.int64)


def _spread(codes: NDArray[np.int16]) -> float:
    """The share of pairs of rows that differ in a column."""
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    return 1.0 - float((counts / max(1, counts.sum())) @ (counts / max(1, counts.sum())))
