"""Rows drawn from the model, each beside the training row that is most like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.data.dataset import SPLITS, Dataset, Table
from spnc.model import Model
from spnc.program import Floats, Ints
from spnc.report.facts.rows import log_likelihoods, some_rows

COUNT = 32
COMPARED = 200  # real rows whose nearest training row is looked for as well
_CELLS = 1 << 29  # to compare, at most


@dataclass(frozen=True, eq=False)
class Samples:
    """Drawn rows, `[row, column]`. Distances count the cells that differ from the nearest row."""

    values: Floats
    log_likelihoods: Floats
    nearest: Floats  # the most similar training row of each
    distances: Ints
    looked_at: int  # training rows
    real: str | None  # the split whose rows are compared in the same way; None if there is none
    real_distances: Ints


def samples_fit(model: Model, dataset: Dataset, seed: int) -> Samples:
    """Rows drawn with the run's seed, and how far they and unseen real rows are from training."""
    values = model.sample(COUNT, seed)
    columns = values.shape[1]
    most = max(1000, _CELLS // ((COUNT + COMPARED) * columns))
    train, _ = some_rows(dataset.train, most, "nearest")
    distances, nearest = nearest_rows(values, train.values)
    held_out = [name for name in SPLITS if name in dataset.splits and name != "train"]
    real, real_distances = None, np.zeros(0, dtype=np.int64)
    if held_out:
        real = held_out[-1]
        some, _ = some_rows(dataset.splits[real], COMPARED, "real")
        real_distances, _ = nearest_rows(some.values, train.values)
    found = log_likelihoods(model, Table(values))
    return Samples(
        values, found, train.values[nearest], distances, train.rows, real, real_distances
    )


def nearest_rows(rows: Floats, among: Floats) -> tuple[Ints, Ints]:
    """The distance of each row to the nearest, and which that is; missing cells do not count."""
    codes = np.where(np.isnan(among), -1, among).astype(np.int16)
    wild = codes < 0
    any_wild = bool(wild.any())
    distances, nearest = [], []
    for row in rows:
        known = ~np.isnan(row)
        apart = codes[:, known] != row[known].astype(np.int16)
        if any_wild:
            apart &= ~wild[:, known]
        far = np.count_nonzero(apart, axis=1)
        nearest.append(int(np.argmin(far)))
        distances.append(int(far[nearest[-1]]))
    return np.array(distances, dtype=np.int64), np.array(nearest, dtype=np.int64)
