"""Warps of a dataset's columns, for leaves that are normal on them."""

from __future__ import annotations

from dataclasses import fields, replace
from weakref import WeakKeyDictionary

import numpy as np

from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.learners.support.point_masses import repeated_values
from spnc.leaves.numeric import scale_of
from spnc.leaves.warp_fit import fitted_warp
from spnc.registry import Options, nested_options

_WARPED: WeakKeyDictionary[Dataset, Dataset] = WeakKeyDictionary()


def warped_for(options: Options, dataset: Dataset) -> Dataset:
    """Return the dataset with warps if any of these options, or of those inside, `needs_warps`.

    Other recipes get columns without: their models are the same whatever else is tried.
    """
    if not any(getattr(each, "needs_warps", False) for each in nested_options(options)):
        return dataset
    if dataset not in _WARPED:
        _WARPED[dataset] = _with_warps(dataset)
    return _WARPED[dataset]


def _with_warps(dataset: Dataset) -> Dataset:
    """Return the dataset with the warps of its real columns and dates, from the training rows.

    Values that get point masses are left out: leaves describe all other values.
    """
    table = dataset.by_columns

    def warped(i: int, column: Column) -> Column:
        if column.kind not in ("real", "date"):
            return column
        values, weights = table.column(i), table.weights
        points = repeated_values(column, values, weights)
        others = np.where(np.isin(values, points), 0.0, weights)
        warp = fitted_warp(values, others, scale_of(column).resolution)
        return replace(column, warp=warp)

    columns = tuple(warped(i, column) for i, column in enumerate(dataset.columns))
    found = replace(dataset, columns=columns)
    # What was computed of the rows, such as the distinct ones, is the same.
    own = {field.name for field in fields(Dataset)}
    vars(found).update({name: value for name, value in vars(dataset).items() if name not in own})
    return found
