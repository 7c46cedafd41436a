"""Shares of the states of each column, in the rows and in the model.

The states of a numeric column are the bins of its histogram.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.cells import cell_text
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.reports.facts.histograms import Histogram

LEVEL = 0.05  # significance level of the test for differences, over all columns together
EXPECTED = 5.0  # rows per state that the test needs (the usual rule); rarer states are merged


@dataclass(frozen=True, eq=False)
class Observed:
    """A column in one split, beside the model's probabilities."""

    frequencies: Floats  # of the states, among rows with a value
    rows: float  # with a value
    missing: float
    divergence: float  # KL(frequencies || model), in nats
    beyond_chance: bool  # whether the difference is significant


@dataclass(frozen=True, eq=False)
class ColumnFit:
    """A column: its probabilities in the model, and what was observed in each split.

    `texts` are its states in words. A numeric column has a `histogram`, whose bins are its states,
    and perhaps a `curve`: points and the model's density there.
    """

    column: Column
    model: Floats
    observed: Mapping[str, Observed]
    texts: Sequence[str]
    histogram: Histogram | None = None
    curve: tuple[Floats, Floats] | None = None

    @property
    def states(self) -> int:
        """The number of states or bins."""
        return len(self.model)


@dataclass(frozen=True, eq=False)
class ColumnsFit:
    """All columns, and the average log-likelihood of each split under independent columns.

    `independent` is a baseline that every model should beat: a model of independent columns with
    the smoothed frequencies of the training rows, for numbers a histogram with these frequencies.
    A split without possible rows has no value.
    """

    columns: Sequence[ColumnFit]
    independent: Mapping[str, float]


def columns_fit(
    columns: Sequence[Column],
    model: Sequence[Floats],
    splits: Mapping[str, Table],
    possible: Mapping[str, Table] | None = None,
    histograms: Mapping[int, Histogram] | None = None,
) -> ColumnsFit:
    """Compare every column of every split with the probabilities in the model.

    A column is beyond chance if a likelihood-ratio test rejects it at the level 0.05 divided by
    the number of columns (Bonferroni). `model` has the probabilities of the states of each column,
    or of the bins of its histogram. `possible` are the rows with a positive probability under
    the model, if these are not all; the baseline is then computed over the same rows.
    """
    bins = histograms or {}
    counts = {name: _counts(columns, table, bins) for name, table in splits.items()}
    fits = []
    for i, column in enumerate(columns):
        observed = {}
        for name, table in splits.items():
            own = counts[name][i]
            rows = float(own.sum())
            frequencies = own / rows if rows > 0.0 else np.full(len(own), np.nan)
            divergence = kl(frequencies, model[i]) if rows > 0.0 else 0.0
            observed[name] = Observed(
                frequencies,
                rows,
                float(table.weights.sum()) - rows,
                divergence,
                _beyond(own, model[i], LEVEL / len(columns)),
            )
        histogram = bins.get(i)
        texts = _state_texts(column) if histogram is None else histogram.texts
        fits.append(ColumnFit(column, model[i], observed, texts, histogram))
    base = counts.get("train") or next(iter(counts.values()))
    scored = dict(counts)
    if possible is not None:
        tables = {name: t for name, t in possible.items() if t is not splits.get(name)}
        counts |= {name: _counts(columns, table, bins) for name, table in tables.items()}
        scored = {name: counts[name] for name in possible}
    return ColumnsFit(fits, _independent(base, scored, possible or splits, bins))


def _state_texts(column: Column) -> list[str]:
    return [cell_text(column, float(state)) for state in range(column.states)]


def kl(observed: Floats, model: Floats) -> float:
    """Return KL(observed || model) in nats; infinite if an impossible state was observed."""
    some = observed > 0.0
    with np.errstate(divide="ignore"):
        terms = observed[some] * (np.log(observed[some]) - np.log(model[some]))
    return max(0.0, float(terms.sum()))


def _counts(
    columns: Sequence[Column], table: Table, histograms: Mapping[int, Histogram]
) -> list[Floats]:
    found = [
        np.zeros(histograms[i].states if i in histograms else column.states)
        for i, column in enumerate(columns)
    ]
    for piece in table.pieces():
        for i, column in enumerate(columns):
            cells = piece.column(i)
            if i in histograms:
                codes = np.searchsorted(histograms[i].edges, cells, side="left")
                known = ~np.isnan(cells)
                found[i] += np.bincount(codes[known], piece.weights[known], len(found[i]))
                continue
            for state in range(column.states):
                found[i][state] += piece.weights[cells == state].sum()
    return found


def _beyond(counts: Floats, model: Floats, level: float) -> bool:
    """Return whether a likelihood-ratio test at this level rejects the model.

    The statistic is close to its limit distribution only if enough rows are expected per state,
    so rare states are merged; Williams' correction improves it further.
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
    base: list[Floats],
    counts: Mapping[str, list[Floats]],
    splits: Mapping[str, Table],
    histograms: Mapping[int, Histogram],
) -> dict[str, float]:
    logs = [np.log((own + 1.0) / (own.sum() + len(own))) for own in base]
    for i, histogram in histograms.items():
        logs[i] = logs[i] - np.log(histogram.widths)
    return {
        name: float(sum(own @ log for own, log in zip(counts[name], logs, strict=True)))
        / float(table.weights.sum())
        for name, table in splits.items()
        if table.rows
    }
