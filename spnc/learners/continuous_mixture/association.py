"""The association of two columns given the latent point.

A tree that joins the columns with the most mutual information mostly joins pairs that the latent
space explains already. It is better to join the pairs that it leaves unexplained. The association
of two columns is measured on residuals (what a row has minus what is expected at a point),
averaged over rows and over the posterior distribution of their points:

    φ² = Σ_ab Q(a, b)² / (V(a) V(b)) · (1 - 1/S) (1 - 1/S')

Here Q is the covariance of "the first column is in state a" and "the second is in state b", V are
the variances, and S and S' the numbers of states. For small associations this is twice the mutual
information; for two binary columns it is their squared correlation.

The states of a column of numbers are its ranges (`spnc.data.binning`). A missing number has what is
expected of it, which leaves no residual.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.binning import Binning
from spnc.data.pairs import PairCounts
from spnc.learners.continuous_mixture.batches import CodedRows
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.mixture_fit import TreeMixture
from spnc.learners.continuous_mixture.number_leaves import Floats32, RowCells
from spnc.learners.continuous_mixture.objective import log_likelihoods

ROWS_AT_ONCE = 1024  # bounds memory
COLUMNS_AT_ONCE = 512  # bounds memory


def association(
    tree: LogLinearTree, mixture: TreeMixture, rows: CodedRows, known: PairCounts | Binning
) -> Floats:
    """Return φ² of every two columns given the point, with zeros on the diagonal.

    `known` are the counts of the pairs of columns in the same rows; or, if there are columns of
    numbers, their ranges.
    """
    outputs = mixture.logits()
    rows_under = log_likelihoods(tree, outputs, np.log(mixture.weights()).astype(np.float32))
    # By point, and by state of every column.
    expected = marginals(tree, tree.tables(outputs[: tree.logits]), outputs.shape[1])
    if isinstance(known, Binning):
        expected = _with_numbers(tree, outputs, expected, known)
        offsets = np.cumsum([0, *(column.states for column in known.columns)])
        counts: NDArray[np.floating[Any]] = np.zeros((offsets[-1], offsets[-1]))
    else:
        offsets, counts = known.offsets, known.counts
    seen = np.zeros((offsets[-1], len(expected)))
    share = np.zeros(len(expected))
    for begin in range(0, len(rows.cells), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        cells, weights = rows.cells[part], rows.weights[part]
        points = rows_under(cells).astype(np.float64)
        points = np.exp(points - points.max(axis=1, keepdims=True))
        points *= (weights / points.sum(axis=1))[:, None]
        present = np.zeros((len(cells), offsets[-1]))
        if isinstance(known, PairCounts):
            np.put_along_axis(present, cells + offsets[:-1], 1.0, axis=1)
        else:
            _put_ranges(present, cells, known, offsets, (points / weights[:, None]) @ expected)
            counts += present.T @ (present * weights[:, None])
        seen += present.T @ points
        share += points.sum(axis=0)

    def covariance(states: slice) -> Floats:
        """Return the covariance of these states with all."""
        crossed, turned = seen[states] @ expected, (seen @ expected[:, states]).T
        own = counts[states] - crossed - turned
        found: Floats = (own + (expected[:, states].T * share) @ expected) / share.sum()
        return found

    variance = np.empty(offsets[-1])
    for _, states in _parts(offsets):
        variance[states] = np.maximum(covariance(states)[:, states].diagonal(), 1e-12)
    never = counts.diagonal() == 0.0  # states that no row has give no evidence
    found = np.empty((len(offsets) - 1, len(offsets) - 1))
    for columns, states in _parts(offsets):
        squared = covariance(states) ** 2 / np.outer(variance[states], variance)
        squared[never[states], :] = squared[:, never] = 0.0
        below = np.add.reduceat(squared, offsets[:-1][columns] - states.start, 0)
        found[columns] = np.add.reduceat(below, offsets[:-1], 1)
    spared = 1.0 - 1.0 / np.diff(offsets)
    found *= np.outer(spared, spared)
    np.fill_diagonal(found, 0.0)
    return found


def _with_numbers(
    tree: LogLinearTree, outputs: Floats32, states: Floats, ranges: Binning
) -> Floats:
    """Return the probability of every state and range of all columns at each point."""
    ends = np.cumsum([0, *tree.states]).tolist()
    numbers = tree.numbers
    found = dict(zip(numbers.states_at, np.split(states, ends[1:-1], axis=1), strict=False))
    for column, own in numbers.parts(outputs[tree.logits :]):
        starts = ranges.starts[column.variable]
        assert starts is not None
        chances = column.range_chances(own, starts)  # [group, point, range]
        above = found[numbers.states_at[column.parent]].T if column.parent >= 0 else 1.0
        padded = np.zeros((len(states), ranges.columns[column.variable].states))
        padded[:, : chances.shape[2]] = (chances * np.expand_dims(above, -1)).sum(axis=0)
        found[column.variable] = padded
    return np.concatenate([found[i] for i in range(len(found))], axis=1)


def _put_ranges(
    present: Floats, cells: RowCells, ranges: Binning, offsets: Ints, expected: Floats
) -> None:
    """Set the states of all columns in `present`; those of a missing number as expected."""
    rows = np.arange(len(cells))
    for i, start in enumerate(ranges.starts):
        values, own = cells[:, i], slice(int(offsets[i]), int(offsets[i + 1]))
        codes = values if start is None else np.searchsorted(start, values, side="right")
        missing = np.isnan(values)
        known = ~missing
        present[rows[known], own.start + codes[known].astype(np.int64)] = 1.0
        present[missing, own] = expected[missing, own]


def _parts(offsets: Ints) -> Iterator[tuple[slice, slice]]:
    """Yield a part of the columns at a time, and their states."""
    for first in range(0, len(offsets) - 1, COLUMNS_AT_ONCE):
        last = min(first + COLUMNS_AT_ONCE, len(offsets) - 1)
        yield slice(first, last), slice(int(offsets[first]), int(offsets[last]))


def marginals(tree: LogLinearTree, tables: list[Floats], points: int) -> Floats:
    """Return the probability of every state of every column at each point, `[point, state]`."""
    found: list[Floats | None] = [None] * len(tables)
    for column in tree.order:
        parent = int(tree.parents[column])
        above = found[parent] if parent >= 0 else np.ones((len(tables[column]), 1))
        assert above is not None
        found[column] = (above[:, :, None] * tables[column]).sum(axis=1)
    parts = [np.empty((points, 0)), *(part for part in found if part is not None)]
    return np.concatenate(parts, axis=1)
