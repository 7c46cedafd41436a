"""What all trees of a forest need to know about the columns of their table, computed once."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.learners import LearningTask
from spnc.learners.decision_tree.regions import Region, restricted_model
from spnc.learners.decision_tree.tree_growth import cuts_between, standardised
from spnc.learners.support.leaf_choice import LeafModel, LeafOptions
from spnc.learners.support.leaf_fit import DataSlice, fit_leaves

# Inputs are described by histograms: a parametric family may misjudge how many rows lie beyond a
# test, and so how much a leaf counts.
_INPUT_LEAVES = LeafOptions(real="histogram", count="histogram", date="histogram")


class KnownColumns:
    """The distribution of every column, where numbers may be cut, and standardised outputs."""

    def __init__(self, task: LearningTask, most: int) -> None:
        columns, table = task.columns, task.table
        self._columns = columns
        self._outputs: dict[int, Floats] = {}
        self._given: dict[tuple[int, Region], LeafModel] = {}
        everything = np.arange(len(columns))
        whole = DataSlice(np.arange(table.rows), everything, float(table.weights.sum()))
        [self.models] = fit_leaves(columns, table, [whole], task.smoothing, _INPUT_LEAVES)
        self.varies: list[bool] = []  # whether a column has more than one value
        self.cuts: list[Floats] = []
        for i, column in enumerate(columns):
            values = table.column(i)
            known = values[~np.isnan(values)]
            self.varies.append(len(known) > 0 and bool((known != known[0]).any()))
            self.cuts.append(np.empty(0) if column.is_finite else cuts_between(known, most))

    @staticmethod
    def of(task: LearningTask, most: int) -> KnownColumns:
        """Return what is known about a task's columns; numbers have at most `most` cuts."""
        kept = _CACHE.setdefault(task.table, {})
        key = task.smoothing.weights, task.smoothing.leaves, most
        if key not in kept:
            kept[key] = KnownColumns(task, most)
        return kept[key]

    def given(self, variable: int, region: Region | None) -> LeafModel:
        """Return the distribution of a column, given a region of its values."""
        if region is None:
            return self.models[variable]
        key = variable, region
        if key not in self._given:
            model = self.models[variable]
            self._given[key] = restricted_model(model, region, self._columns[variable])
        return self._given[key]

    def standardised(self, variable: int, table: Table) -> Floats:
        """Return the numbers that stand for an output when a tree is grown."""
        if variable not in self._outputs:
            found = standardised(self._columns[variable], table.column(variable))
            self._outputs[variable] = found
        return self._outputs[variable]


_CACHE: WeakKeyDictionary[Table, dict[tuple[float, float, int], KnownColumns]] = WeakKeyDictionary()
