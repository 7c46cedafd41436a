"""Mutual information of pairs of columns, in the rows and in the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.model import Model
from spnc.queries.discretise import BINS, Cuts, discretised_columns, discretised_table
from spnc.queries.pairwise import pair_probabilities

MOST, LEAST = 100, 30  # columns in the matrix; large circuits get fewer
LISTED = 20  # pairs in each table
_QUERY_EDGES = 1_000_000_000  # columns squared times edges; takes about ten seconds


@dataclass(frozen=True)
class Pair:
    """Two columns, by their places in the matrix, and their mutual information in nats."""

    first: int
    second: int
    data: float
    model: float


@dataclass(frozen=True, eq=False)
class Pairs:
    """Mutual information of the columns shown, `[column, column]`, in nats; zero on the diagonal.

    `summary` has the numbers of `spnc plot mi`: means, mean absolute difference, correlation.
    """

    names: Sequence[str]
    columns: int  # of the model; if not all are shown, those with the strongest pairs are
    rows: int  # from which the values of the data are
    all_rows: int
    mean_of_all: float  # mutual information in the data, over all pairs of columns
    by_chance: float  # expected mean for independent columns
    data: Floats
    model: Floats
    summary: dict[str, Any]
    strongest: list[Pair]  # in the data
    missed: list[Pair]  # largest difference between data and model


def pairs_fit(
    model: Model,
    table: Table,
    all_rows: int,
    progress: Progress | None = None,
    cuts: Cuts | None = None,
) -> Pairs | None:
    """Return the matrices of the rows and of the model; None if there is only one column.

    `cuts` divide the numeric columns into bins.
    """
    from spnc.reports.plots.mutual_information import Comparison

    cuts = cuts or {}
    columns = discretised_columns(model.columns, cuts)
    table = discretised_table(table, model.columns, cuts).distinct()
    if len(columns) < 2:
        return None
    data = mutual_information(pair_counts(columns, table))
    every = np.triu_indices(len(columns), k=1)
    mean_of_all = float(data[every].mean())
    chosen = np.arange(len(columns))
    # A query per pair of states but the first: one for a pair of binary columns, 49 for numbers.
    free = np.array([column.states - 1 for column in columns])
    cost = max(1, model.program.edges) * (BINS - 1 if cuts else 1) ** 2
    most = min(MOST, max(LEAST, math.isqrt(_QUERY_EDGES // cost)))
    if len(columns) > most:
        strength = data.sum(axis=0)
        chosen = np.sort(np.argsort(-strength, kind="stable")[:most])
        data = data[np.ix_(chosen, chosen)]
    asked = None if len(chosen) == len(columns) else chosen.tolist()
    engine, parameters = model.discretised(cuts)
    own = mutual_information(pair_probabilities(engine, parameters, progress, columns=asked))
    above = np.triu_indices(len(chosen), k=1)

    def best(keys: Floats) -> list[Pair]:
        order = np.argsort(-keys, kind="stable")[:LISTED]
        places = [(int(above[0][k]), int(above[1][k])) for k in order]
        return [Pair(i, j, float(data[i, j]), float(own[i, j])) for i, j in places]

    rows = round(float(table.weights.sum()))
    names = [columns[i].name for i in chosen.tolist()]
    summary = Comparison("", data, own).facts()
    strongest, missed = best(data[above]), best(np.abs(data - own)[above])
    # To first order, from the degrees of freedom of each pair (Miller and Madow).
    by_chance = float((np.outer(free, free)[every] / (2.0 * max(1, rows))).mean())
    return Pairs(
        names,
        len(columns),
        rows,
        all_rows,
        mean_of_all,
        by_chance,
        data,
        own,
        summary,
        strongest,
        missed,
    )
