"""Imputation and prediction by scikit-learn, as the answers of circuits are compared with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.common.hidden_tables import Floats, MixedTable, hidden

TREES, ROUNDS = 100, 3  # of the forest that fills columns in turn


def imputers() -> dict[str, Callable[[MixedTable, Floats], Floats]]:
    """Return ways to fill rows, given the training rows of their table."""
    return {
        "mean, mode": _mean_mode,
        "KNN (10)": _standardised(KNNImputer(n_neighbors=10)),
        "iterative ridge": _standardised(IterativeImputer(BayesianRidge(), random_state=0)),
        "forest": _forest,
    }


def _mean_mode(table: MixedTable, rows: Floats) -> Floats:
    found, train = rows.copy(), table.splits["train"]
    for i, real in enumerate(table.is_real.tolist()):
        kind = "mean" if real else "most_frequent"
        own = SimpleImputer(strategy=kind).fit(train[:, [i]])
        found[:, i] = own.transform(rows[:, [i]])[:, 0]
    return found


def _standardised(imputer: Any) -> Callable[[MixedTable, Floats], Floats]:
    def fill(table: MixedTable, rows: Floats) -> Floats:
        scaler = StandardScaler().fit(table.splits["train"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an iteration has not converged
            imputer.fit(scaler.transform(table.splits["train"]))
            found = scaler.inverse_transform(imputer.transform(scaler.transform(rows)))
        return _in_states(table, found, rows)

    return fill


def _in_states(table: MixedTable, found: Floats, rows: Floats) -> Floats:
    """Return filled cells of discrete columns as the nearest of their values."""
    for i in np.flatnonzero(~table.is_real).tolist():
        labels = table.labels(i)
        nearest = labels[np.abs(found[:, [i]] - labels).argmin(axis=1)]
        found[:, i] = np.where(np.isnan(rows[:, i]), nearest, rows[:, i])
    return found


def _forest(table: MixedTable, rows: Floats) -> Floats:
    """Fill one column after the other by a random forest on the others, some rounds."""
    train = _mean_mode(table, table.splits["train"])
    missing, found = np.isnan(rows), _mean_mode(table, rows)
    asked = np.flatnonzero(missing.any(axis=0)).tolist()
    models = {}
    for i in asked:
        kind = RandomForestRegressor if table.is_real[i] else RandomForestClassifier
        rest = np.delete(train, i, axis=1)
        models[i] = kind(TREES, random_state=0, n_jobs=1, min_samples_leaf=3).fit(rest, train[:, i])
    for _ in range(ROUNDS):
        for i in asked:
            own = missing[:, i]
            found[own, i] = models[i].predict(np.delete(found[own], i, axis=1))
    return found


def classifiers() -> dict[str, Callable[[], Any]]:
    """Return classifiers that take missing features; each is made anew for a table."""
    return {
        "logistic": lambda: LogisticRegression(max_iter=2000),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "boosting, hidden cells": lambda: HistGradientBoostingClassifier(random_state=0),
        "forest": lambda: RandomForestClassifier(500, random_state=0, n_jobs=1),
    }


class Predictor:
    """A classifier of a table's target; missing features are filled by mean and mode.

    With `hides`, it is trained on every row twice, the second time with cells hidden.
    """

    def __init__(self, table: MixedTable, made: Any, *, hides: bool = False) -> None:
        self.table = table
        train = table.splits["train"]
        known = ~np.isnan(train[:, table.target])
        self.native = isinstance(made, HistGradientBoostingClassifier)
        linear = isinstance(made, LogisticRegression)
        rest = np.delete(train, table.target, axis=1)
        self.usual = _mean_mode(table, train)
        self.encoder = None
        if linear:
            real = np.delete(table.is_real, table.target)
            labels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            parts = [("numbers", StandardScaler(), real), ("labels", labels, ~real)]
            self.encoder = ColumnTransformer(parts)
            self.encoder.fit(np.delete(self.usual, table.target, axis=1))
        self.model = made
        features, labels_known = self._features(rest)[known], train[known, table.target]
        if hides:
            again = np.where(hidden(features, seed=2), np.nan, features)
            features = np.concatenate([features, again])
            labels_known = np.concatenate([labels_known, labels_known])
        self.model.fit(features, labels_known)

    def _features(self, rest: Floats) -> NDArray[Any]:
        if self.native:
            return rest
        target = self.table.target
        filled = np.delete(
            _mean_mode(self.table, np.insert(rest, target, self.usual[0, target], axis=1)),
            target,
            axis=1,
        )
        return filled if self.encoder is None else self.encoder.transform(filled)

    def chances(self, rows: Floats) -> Floats:
        """Return the probability of each label of the target, in the order of all its labels."""
        found = self.model.predict_proba(self._features(np.delete(rows, self.table.target, axis=1)))
        labels = self.table.labels(self.table.target)
        every = np.zeros((len(rows), len(labels)))
        every[:, np.searchsorted(labels, self.model.classes_)] = found
        return every
