"""How well the marginals of a model fit test rows: Kolmogorov-Smirnov distances of real columns.

Rounding makes many values equal, which the usual distance does not allow for. So each value becomes
its randomised rank: the model's probability of anything below the rounding interval, and a random
share of the interval's own. If the model is right, ranks are uniform between 0 and 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import Floats
from spnc.model import Model
from spnc.queries.column_marginals import leaf_shares

CHANCE = 1.36  # over the square root of the rows: what 95% of the distances are below by chance
_CELLS = 2_000_000  # leaves times values that are computed at a time


def measured(model: Model, table: DensityTable) -> dict[str, Any]:
    """Return the distance of each real column, and what it would be by chance."""
    rows = table.plain["test"]
    distances = {
        name: round(column_distance(model, table, place), 5)
        for place, name in enumerate(table.columns)
        if table.is_real[place]
    }
    return {"distances": distances, "chance": round(CHANCE / math.sqrt(len(rows)), 5)}


def column_distance(model: Model, table: DensityTable, place: int) -> float:
    """Return the distance between a real column's test values and the model's marginal."""
    values, half = table.plain["test"][:, place], table.resolution[place] / 2
    name = table.columns[place]
    below, upto = (column_cdf(model, name, values + step) for step in (-half, half))
    shares = np.random.default_rng(0).random(len(values))
    return ks_distance(below + shares * (upto - below))


def ks_distance(values: Floats) -> float:
    """Return the largest distance between the shares of values and a uniform distribution."""
    ordered, count = np.sort(values), len(values)
    above = np.arange(1, count + 1) / count - ordered
    below = ordered - np.arange(count) / count
    return float(max(above.max(), below.max()))


def column_cdf(model: Model, name: str, values: Floats) -> Floats:
    """Return the model's probability that a real column is at most each value, exactly."""
    program, parameters = model.program, model.parameters
    [place] = [i for i, column in enumerate(model.columns) if column.name == name]
    shares = leaf_shares(model.engine, parameters)
    distinct, inverse = np.unique(values, return_inverse=True)
    found = np.zeros(len(distinct))
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        own = np.flatnonzero(leaf.variables == place)
        if not len(own):
            continue
        weights, columns = shares[leaf.first : leaf.last][own], leaf.columns.take(own)
        step = max(1, _CELLS // len(own))
        for first in range(0, len(distinct), step):
            part = distinct[first : first + step]
            every = np.broadcast_to(part, (len(own), len(part)))
            found[first : first + step] += weights @ leaf.kind.cdf(table[own], every, columns)
    whole: Floats = np.minimum(found, 1.0)[inverse]
    return whole
