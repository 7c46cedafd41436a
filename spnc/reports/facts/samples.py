"""Rows drawn from the model, each with the most similar training row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.data.dataset import SPLITS, Dataset
from spnc.data.table import Table
from spnc.model import Model
from spnc.queries.discretise import Cuts, bin_codes
from spnc.reports.facts.rows import log_likelihoods, some_rows

COUNT = 32
COMPARED = 200  # real rows that are compared with training rows in the same way
_CELLS = 1 << 29  # compared, at most; takes some seconds


@dataclass(frozen=True, eq=False)
class Samples:
    """Drawn rows, `[row, column]`. Distances count the cells that differ from the nearest row.

    Numbers differ if they are in different bins. Distances are estimates if cells are missing.
    """

    values: Floats
    log_likelihoods: Floats
    nearest: Floats  # training row of each
    distances: Floats
    copies: int  # drawn rows that are equal to a complete training row
    missing: bool  # whether training rows have missing cells
    looked_at: int  # training rows
    real: str | None  # split of the real rows compared; None if there is only training data
    real_distances: Floats


def samples_fit(model: Model, dataset: Dataset, seed: int, cuts: Cuts | None = None) -> Samples:
    """Draw rows with the seed of the run; compare them and unseen real rows with training rows.

    `cuts` divide the numeric columns into bins.
    """
    cuts = cuts or {}
    values = model.sample(COUNT, seed).cells
    columns = values.shape[1]
    most = max(1000, _CELLS // ((COUNT + COMPARED) * columns))
    train, _ = some_rows(dataset.train, most, "nearest")
    rows = train.values
    binned = _binned(rows, cuts)
    distances, nearest = nearest_rows(_binned(values, cuts), binned)
    equal = _are_among(values, rows, model.columns)
    held_out = [name for name in SPLITS if name in dataset.splits and name != "train"]
    real, real_distances = None, np.zeros(0)
    if held_out:
        real = held_out[-1]
        some, _ = some_rows(dataset.in_memory(real), COMPARED, "real")
        real_distances, _ = nearest_rows(_binned(some.values, cuts), binned)
    found = log_likelihoods(model, Table(values))
    return Samples(
        values,
        found,
        rows[nearest],
        distances,
        int(equal.sum()),
        not train.complete_columns().all(),
        train.rows,
        real,
        real_distances,
    )


def _binned(values: Floats, cuts: Cuts) -> Floats:
    """Return rows with the number of its bin in place of every number."""
    if not cuts:
        return values
    found = values.copy()
    for i, own in cuts.items():
        found[:, i] = bin_codes(values[:, i], own)
    return found


def _are_among(drawn: Floats, rows: Floats, columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return which drawn rows are equal to some complete row, once they are rounded."""
    half = 0.5 * np.array([0.0 if c.scale is None else c.scale.resolution for c in columns])
    return np.array([(np.abs(rows - own) <= half).all(axis=1).any() for own in drawn], dtype=bool)


def nearest_rows(rows: Floats, among: Floats) -> tuple[Floats, Ints]:
    """Return the distance of each row to its nearest row, and the place of that row.

    A distance is the number of cells that differ; ties go to the row with the fewest missing
    cells. A missing cell counts with its expectation, so that incomplete rows are not near to
    everything: the share of rows with another state if `among` lacks the cell, the share of pairs
    of rows that differ if the row itself lacks it.
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
    """Return the share of pairs of rows that differ in a column."""
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    return 1.0 - float((counts / max(1, counts.sum())) @ (counts / max(1, counts.sum())))
