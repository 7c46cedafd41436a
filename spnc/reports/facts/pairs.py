"""What every two columns say about each other, in the rows and in the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.dataset import Table
from spnc.data.pairs import mutual_information, pair_counts
from spnc.model import Model
from spnc.queries.pairwise import pair_probabilities

MOST, LEAST = 100, 30  # columns in the matrix; fewer, the larger the circuit
LISTED = 20  # pairs in each table
_QUERY_EDGES = 1_000_000_000  # columns squared times edges: some ten seconds


@dataclass(frozen=True)
class Pair:
    """Two columns, by their places in the matrix; mutual information in nats."""

    first: int
    second: int
    data: float
    model: float


@dataclass(frozen=True, eq=False)
class Pairs:
    """Mutual information of the columns shown, `[column, column]`, in nats; zero on the diagonal.

    `summary` is what `spnc plot mi` says of them: means, mean difference, correlation.
    """

    names: Sequence[str]
    columns: int  # of the model; more than are shown, where these are the strongest
    rows: int  # that the data's values are from
    all_rows: int
    mean_of_all: float  # of the data's values, over all pairs of columns of the model
    by_chance: float  # what that mean would be if columns were independent
    data: Floats
    model: Floats
    summary: dict[str, Any]
    strongest: list[Pair]  # in the data
    missed: list[Pair]  # furthest apart


def pairs_fit(
    model: Model, table: Table, all_rows: int, progress: Progress | None = None
) -> Pairs | None:
    """The matrices of `table`'s rows and of the model; None if there are no two columns."""
    from spnc.reports.plots.mutual_information import Comparison

    columns = model.columns
    if len(columns) < 2:
        return None
    data = mutual_information(pair_counts(columns, table))
    every = np.triu_indices(len(columns), k=1)
    mean_of_all = float(data[every].mean())
    chosen = np.arange(len(columns))
    most = min(MOST, max(LEAST, math.isqrt(_QUERY_EDGES // max(1, model.program.edges))))
    if len(columns) > most:
        strength = data.sum(axis=0)
        chosen = np.sort(np.argsort(-strength, kind="stable")[:most])
        data = data[np.ix_(chosen, chosen)]
    asked = None if len(chosen) == len(columns) else chosen.tolist()
    own = mutual_information(
        pair_probabilities(model.engine, model.parameters, progress, columns=asked)
    )
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
    free = np.array([column.states - 1 for column in columns])
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
