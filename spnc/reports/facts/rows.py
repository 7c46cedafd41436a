"""How well single rows are explained: their log-likelihoods, and the worst of them cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.data.dataset import SPLITS, Dataset
from spnc.data.load import split_rows
from spnc.data.options import DataOptions
from spnc.data.table import Table
from spnc.model import Model
from spnc.queries.cell_probabilities import cell_log_probabilities
from spnc.reports.facts.histograms import Histogram

WORST = 12  # rows shown
CELLS = 6  # shown of each row, the most surprising
BINS = 40


@dataclass(frozen=True)
class UnexpectedCell:
    """A cell of a row: the place of its column, its value, and log p(cell | rest of the row).

    That of a number is, to first order, the probability of a range around it that is as wide as a
    bin of its histogram. The probability is None if the rest alone is impossible.
    """

    column: int
    value: float
    log_probability: float | None


@dataclass(frozen=True, eq=False)
class BadRow:
    """A row with a low log-likelihood. `number` counts from one, in the file or in the split."""

    number: int
    times: int  # that the row occurs
    log_likelihood: float
    values: Floats
    cells: Sequence[UnexpectedCell]  # most surprising first
    surprise: Floats  # -log p(cell | the rest) of every cell; NaN where it is missing


@dataclass(frozen=True, eq=False)
class RowsFit:
    """The rows of a split by log-likelihood.

    Densities are per nat, over the bins between `edges`, without impossible rows.
    """

    split: str
    looked_at: int
    all_rows: int
    numbered_in: str  # the file or split in which rows are numbered
    median: float
    impossible: int  # among those looked at
    edges: Floats
    densities: Mapping[str, Floats]
    worst: Sequence[BadRow]


def some_rows(table: Table, most: int, label: str) -> tuple[Table, Ints]:
    """Return at most `most` rows, always the same ones, and their places in the table."""
    rows = np.arange(table.rows)
    if table.rows > most:
        rows = np.sort(
            random_stream(0, "report", label).choice(table.rows, size=most, replace=False)
        )
        return table.take(rows), rows
    return table, rows


def log_likelihoods(model: Model, table: Table, progress: Progress | None = None) -> Floats:
    """Return log p of every row; equal rows are computed once."""
    found, done = [np.empty(0)], 0
    for piece in table.pieces():
        distinct, inverse = piece.distinct_with_inverse()
        batch = model.engine.load(distinct, once=True)
        found.append(model.engine.log_likelihood(model.parameters, batch)[inverse])
        done += piece.rows
        if progress is not None:
            progress("rows", done, table.rows)
    return np.concatenate(found)


def rows_fit(
    model: Model,
    dataset: Dataset,
    options: DataOptions | None,
    most: int,
    progress: Progress | None = None,
    histograms: Mapping[int, Histogram] | None = None,
) -> RowsFit:
    """Return how likely the rows of test, else valid, else train are, and the least likely ones.

    `histograms` are those of the numeric columns.
    """
    split = [name for name in SPLITS if name in dataset.splits][-1]
    scored: dict[str, Floats] = {}
    for name in dict.fromkeys([split, "train"]):
        if name in dataset.splits:
            table, at = some_rows(dataset.in_memory(name), most, name)
            scored[name] = log_likelihoods(model, table, progress)
            if name == split:
                rows, places = table, at
    numbers, where = _numbers(dataset, options, split)
    edges, densities = _histogram(scored)
    return RowsFit(
        split,
        rows.rows,
        dataset.splits[split].rows,
        where,
        float(np.median(scored[split])),
        int(np.isneginf(scored[split]).sum()),
        edges,
        densities,
        _worst(model, rows, scored[split], numbers[places], histograms or {}, progress),
    )


def _worst(
    model: Model,
    table: Table,
    found: Floats,
    numbers: Ints,
    histograms: Mapping[int, Histogram],
    progress: Progress | None,
) -> list[BadRow]:
    """Return the distinct rows with the lowest log-likelihood; ties go to the first in the file."""
    distinct, inverse = table.distinct_with_inverse()
    first = np.full(distinct.rows, np.iinfo(np.int64).max)
    np.minimum.at(first, inverse, numbers)
    own = np.empty(distinct.rows)
    own[inverse] = found
    order = np.lexsort((first, own))[:WORST]
    values = distinct.values[order]
    cells = cell_log_probabilities(model.engine, model.parameters, values, progress)
    for i, histogram in histograms.items():
        cells[:, i] += np.log(histogram.bin_width)
    cells = np.minimum(cells, 0.0)
    times = np.bincount(inverse, minlength=distinct.rows)
    return [
        BadRow(
            int(first[n]),
            int(times[n]),
            float(own[n]),
            values[k],
            _surprising(values[k], cells[k]),
            -cells[k],
        )
        for k, n in enumerate(order.tolist())
    ]


def _surprising(row: Floats, cells: Floats) -> list[UnexpectedCell]:
    """Return the least likely cells given the rest of the row, if their probability is known."""
    order = np.argsort(np.where(np.isnan(cells), np.inf, cells), kind="stable")[:CELLS]
    return [
        UnexpectedCell(int(i), float(row[i]), float(cells[i]))
        for i in order.tolist()
        if not np.isnan(cells[i])
    ]


def _numbers(dataset: Dataset, options: DataOptions | None, split: str) -> tuple[Ints, str]:
    """Return the number of each row of a split, from one, and what the numbers count.

    Rows are numbered in the source if spnc has split it, otherwise in the split.
    """
    rows = dataset.splits[split].rows
    if dataset.cut and options is not None and options.fractions is not None:
        total = sum(table.rows for table in dataset.splits.values())
        parts = split_rows(options.fractions, options.split_seed, total)
        own = dict(zip(SPLITS, parts, strict=True))[split]
        if len(own) == rows:
            return own + 1, dataset.name
    names = {"train": "training", "valid": "validation"}
    return np.arange(rows) + 1, f"the {names.get(split, split)} rows"


def _histogram(scored: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """Return densities over common bins; up to 0.1 % of the rows lie outside at either end."""
    finite = {name: v[np.isfinite(v)] for name, v in scored.items()}
    every = np.concatenate([np.empty(0), *finite.values()])
    if not len(every):
        return np.array([-1.0, 0.0]), {name: np.zeros(1) for name in scored}
    low = float(np.quantile(every, 0.001, method="lower"))
    high = float(np.quantile(every, 0.999, method="higher"))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    width = edges[1] - edges[0]
    return edges, {
        name: np.histogram(v, edges)[0] / (max(1, len(scored[name])) * width)
        for name, v in finite.items()
    }
