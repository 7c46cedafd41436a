"""Predicting one column of a table from the other cells of each row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.program.program import Parameters
from spnc.queries.column_given_rows import Mask
from spnc.queries.leaf_weights import columns_given_rows, without


@dataclass(frozen=True, eq=False)
class Prediction:
    """The distribution of a target in every row, given the row's other known cells.

    `probabilities[row, state]` and `best`, the most probable state, are those of a column with
    states; `mean`, `sd`, `median`, `low` and `high` those of a number, the first two without tails
    far from the training values (`ColumnGivenRows.usual_moments`). Each is None for a column of the
    other kind. Rows whose known cells have probability zero have NaN. `log_truth` is the log
    probability, or log density, of the target's own cell, NaN where it is missing.
    """

    column: Column
    impossible: Mask
    truth: Floats
    log_truth: Floats
    probabilities: Floats | None = None
    best: Floats | None = None
    mean: Floats | None = None
    sd: Floats | None = None
    median: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None

    def scores(self) -> dict[str, float]:
        """Return how good the prediction is on rows whose target is known; empty without any.

        With states: `rows`, `accuracy` and `log_loss`; numbers: `rows`, `rmse` and
        `log_density`. Rows that the model holds to be impossible are left out of the averages.
        """
        known = ~np.isnan(self.truth) & ~self.impossible
        if not known.any():
            return {}
        logs = float(self.log_truth[known].mean())
        found: dict[str, float] = {"rows": int(known.sum())}
        if self.best is not None:
            right = self.best[known] == self.truth[known]
            return {**found, "accuracy": float(right.mean()), "log_loss": -logs}
        assert self.mean is not None
        apart = self.mean[known] - self.truth[known]
        apart = apart[~np.isnan(apart)]
        return {**found, "rmse": math.sqrt(float((apart**2).mean())), "log_density": logs}


def prediction(
    engine: Engine,
    parameters: Parameters,
    table: Table,
    target: int,
    *,
    interval: float = 0.9,
    progress: Progress | None = None,
) -> Prediction:
    """Predict a column; `interval` is the probability between `low` and `high`, at the centre."""
    column, truth = engine.program.columns[target], table.column(target)
    names = ("mean", "sd", "median", "low", "high")
    answers = {name: np.empty(table.rows) for name in names}
    chances = np.empty((table.rows, column.states))
    impossible = np.empty(table.rows, dtype=np.bool_)
    log_truth = np.full(table.rows, np.nan)
    tail = 0.5 * (1.0 - interval)
    rest = without(table, [target])
    for rows, found in columns_given_rows(engine, parameters, rest, [target], progress):
        given, own = found[target], truth[rows]
        impossible[rows] = given.impossible
        if column.is_finite:
            chances[rows] = given.probabilities()
            states = np.nan_to_num(own).astype(np.int64)
            dense = chances[rows][np.arange(len(own)), states]
        else:
            mean, variance = given.usual_moments()
            answers["mean"][rows], answers["sd"][rows] = mean, np.sqrt(variance)
            for name, share in (("median", 0.5), ("low", tail), ("high", 1.0 - tail)):
                answers[name][rows] = given.quantile(share)
            dense = given.density(np.nan_to_num(own))
        with np.errstate(divide="ignore"):
            log_truth[rows] = np.where(np.isnan(own), np.nan, np.log(dense))
    if not column.is_finite:
        return Prediction(column, impossible, truth, log_truth, **answers)
    best = np.argmax(np.nan_to_num(chances), axis=1).astype(np.float64)
    best[impossible] = np.nan
    return Prediction(column, impossible, truth, log_truth, chances, best)
