"""Folds: all rows but those for testing, each held out in turn (`valid: 5-fold`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spnc.data.assembly import with_scales
from spnc.data.dataset import Dataset
from spnc.data.load import split_rows
from spnc.data.options import DataOptions


def folds_of(dataset: Dataset, options: DataOptions) -> Iterator[Dataset]:
    """Yield a dataset for each fold: its rows for validation, those of the others for training.

    The rows are shuffled as for a split. What is known of columns of numbers comes from the rows
    for training alone.
    """
    assert options.folds is not None
    table = dataset.train
    parts = split_rows([1.0 / options.folds] * options.folds, options.split_seed, table.rows)
    plain = [replace(c, warp=None) for c in dataset.columns]
    for own in parts:
        others = np.ones(table.rows, dtype=np.bool_)
        others[own] = False
        train = table.take(np.flatnonzero(others))
        splits = {"train": train, "valid": table.take(np.sort(own))}
        columns = with_scales(plain, train, options)
        yield replace(dataset, columns=columns, splits=splits)
