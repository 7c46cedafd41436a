"""`SpncClassifier`: classes given the known features of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.queries.prediction import prediction
from spnc.sklearn.estimator import SpncEstimator
from spnc.tables.carried import Carried


class SpncClassifier(ClassifierMixin, SpncEstimator):  # type: ignore[misc]
    """A classifier: the probability of a class given the known features of a row.

    One model of features and class together, so that missing features are summed out. The
    parameters are those of `SpncDensity`.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Train a model of features and class."""
        data = self._read(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        rows = len(next(iter(data.values()))) if isinstance(data, Mapping) else len(data)
        if len(y) != rows:
            raise ValueError(f"X has {rows} rows and y has {len(y)}")
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.target_ = _free_name(Carried.of(data))
        self.model_ = None
        if len(self.classes_) > 1:  # with one class there is nothing to learn
            words = [f"class {code}" for code in codes.tolist()]
            self.model_ = self._train(data, {self.target_: words})
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class in `classes_`; impossible rows get the prior."""
        check_is_fitted(self, "classes_")
        data = self._read(X)
        if self.model_ is None:
            rows = len(next(iter(data.values()))) if isinstance(data, Mapping) else len(data)
            return np.ones((rows, 1))
        model = self.model_
        table = self._table(model, data)
        [target] = [i for i, c in enumerate(model.columns) if c.name == self.target_]
        found = prediction(model.engine, model.parameters, table, target)
        every = np.full((table.rows, len(self.classes_)), np.nan)
        assert found.probabilities is not None
        for state, code in enumerate(_codes(model.columns[target])):
            every[:, code] = found.probabilities[:, state]
        if found.impossible.any():
            nothing = Table(np.full((1, len(model.columns)), np.nan))
            prior = prediction(model.engine, model.parameters, nothing, target).probabilities
            assert prior is not None
            for state, code in enumerate(_codes(model.columns[target])):
                every[found.impossible, code] = prior[0, state]
        return every

    def predict(self, X: Any) -> Any:
        """Return the most probable class of every row."""
        chances = self.predict_proba(X)
        return self.classes_[chances.argmax(axis=1)]


def _codes(column: Column) -> list[int]:
    """Return the codes of the classes, in the order of a column's states."""
    return [int(str(label).removeprefix("class ")) for label in column.labels or ()]


def _free_name(carried: Carried | None) -> str:
    """Return a name for the column of classes that no feature has."""
    name = "class"
    while carried is not None and name in carried.names:
        name += "_"
    return name
