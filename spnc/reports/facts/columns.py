"""How often each state of each column comes, in the rows and in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.dataset import Column, Table

LEVEL = 0.05  # of the test whether a column is off by more than chance, over all columns
EXPECTED = 5.0  # rows of each state, or of rare ones together, for the test to hold


@dataclass(frozen=True, eq=False)
class Observed:
    """A column in one split, beside the model's probabilities."""

    frequencies: Floats  # of the states, among the rows that have a value
    rows: float  # that have a value
    missing: float
    divergence: float  # KL(frequencies || model), in nats
    beyond_chance: bool  # whether rows drawn from the model would hardly ever differ as much


@dataclass(frozen=True, eq=False)
class ColumnFit:
    """A column: what the model expects, and what each split has."""

    column: Column
    model: Floats
    observed: Mapping[str, Observed]


@dataclass(frozen=True, eq=False)
class ColumnsFit:
    """All columns. `independent` is each split's average log-likelihood if columns were so.

    That is of a model which has the smoothed frequencies of the training rows and nothing else:
    what every model should beat. A split that no row is known to be possible in has none.
    """

    columns: Sequence[ColumnFit]
    independent: Mapping[str, float]


def columns_fit(
    columns: Sequence[Column],
    model: Sequence[Floats],
    splits: Mapping[str, Table],
    possible: Mapping[str, Table] | None = None,
) -> ColumnsFit:
    """Every column of every split, beside the model's own probabilities of its states.

    A column is off by more than chance if the likelihood-ratio test says so at the level 0.05,
    divided by the number of columns, so that among columns that all fit one is rarely named.
    `possible` are the rows that averages of the model are over, if these are not all; what it
    would be with independent columns is then reckoned over the same.
    """
    counts = {name: _counts(columns, table) for name, table in splits.items()}
    fits = []
    for i, column in enumerate(columns):
        observed = {}
        for name, table in splits.items():
            own = counts[name][i]
            rows = float(own.sum())
            frequencies = own / rows if rows > 0.0 else np.full(column.states, np.nan)
            divergence = kl(frequencies, model[i]) if rows > 0.0 else 0.0
            observed[name] = Observed(
                frequencies,
                rows,
                float(table.weights.sum()) - rows,
                divergence,
                _beyond(own, model[i], LEVEL / len(columns)),
            )
        fits.append(ColumnFit(column, model[i], observed))
    base = counts.get("train") or next(iter(counts.values()))
    scored = dict(counts)
    if possible is not None:
        tables = {name: t for name, t in possible.items() if t is not splits.get(name)}
        counts |= {name: _counts(columns, table) for name, table in tables.items()}
        scored = {name: counts[name] for name in possible}
    return ColumnsFit(fits, _independent(base, scored, possible or splits))


def kl(observed: Floats, model: Floats) -> float:
    """KL(observed || model) in nats; infinite where something came that the model rules out."""
    some = observed > 0.0
    with np.errstate(divide="ignore"):
        terms = observed[some] * (np.log(observed[some]) - np.log(model[some]))
    return max(0.0, float(terms.sum()))


def _counts(columns: Sequence[Column], table: Table) -> list[Floats]:
    found = [np.zeros(column.states) for column in columns]
    for piece in table.pieces():
        for i, column in enumerate(columns):
            for state in range(column.states):
                found[i][state] += piece.weights[piece.values[:, i] == state].sum()
    return found


def _beyond(counts: Floats, model: Floats, level: float) -> bool:
    """Whether a likelihood-ratio test at this level says that the counts are not the model's.

    Its statistic follows its limit law only where enough rows are expected, so rare states are
    put together until they are; the rest is Williams' correction.
    """
    from scipy.stats import chi2

    rows = float(counts.sum())
    if rows <= 0.0:
        return False
    if (counts[model <= 0.0] > 0.0).any():
        return True
    order = np.argsort(model, kind="stable")
    starts, sum_ = [0], 0.0
    for k, expected in enumerate((rows * model[order]).tolist()):
        if sum_ >= EXPECTED:
            starts.append(k)
            sum_ = 0.0
        sum_ += expected
    if sum_ < EXPECTED and len(starts) > 1:
        starts.pop()
    if len(starts) < 2:
        return False
    seen, own = np.add.reduceat(counts[order], starts), np.add.reduceat(model[order], starts)
    own = own / own.sum()
    free = len(starts) - 1
    correction = 1.0 + (float((1.0 / own).sum()) - 1.0) / (6.0 * rows * free)
    statistic = 2.0 * rows * kl(seen / rows, own) / correction
    return bool(statistic > chi2.isf(level, free))


def _independent(
    base: list[Floats], counts: Mapping[str, list[Floats]], splits: Mapping[str, Table]
) -> dict[str, float]:
    logs = [np.log((own + 1.0) / (own.sum() + len(own))) for own in base]
    return {
        name: float(sum(own @ log for own, log in zip(counts[name], logs, strict=True)))
        / float(table.weights.sum())
        for name, table in splits.items()
        if table.rows
    }
