"""The association of two columns given the latent point.

A tree that joins the columns with the most mutual information mostly joins pairs that the latent
space explains already. It is better to join the pairs that it leaves unexplained. The association
of two columns is measured on residuals (what a row has minus what is expected at a point),
averaged over rows and over the posterior distribution of their points:

    φ² = Σ_ab Q(a, b)² / (V(a) V(b)) · (1 - 1/S) (1 - 1/S')

Here Q is the covariance of "the first column is in state a" and "the second is in state b", V are
the variances, and S and S' the numbers of states. For small associations this is twice the mutual
information; for two binary columns it is their squared correlation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.pairs import PairCounts
from spnc.learners.continuous_mixture.batches import CodedRows
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.mixture_fit import TreeMixture

ROWS_AT_ONCE = 1024  # bounds memory
COLUMNS_AT_ONCE = 512  # bounds memory


def association(
    tree: LogLinearTree, mixture: TreeMixture, rows: CodedRows, pairs: PairCounts
) -> Floats:
    """Return φ² of every two columns given the point, with zeros on the diagonal.

    `pairs` are the counts of the pairs of columns in the same rows.
    """
    logits = mixture.logits()
    theta = tree.from_logits @ logits - tree.from_normalisers @ tree.normalised(logits)[1]
    theta[0] += np.log(mixture.weights()).astype(np.float32)
    expected = marginals(tree, tree.tables(logits))  # [point, state of a column]
    offsets = pairs.offsets
    seen = np.zeros((offsets[-1], len(expected)))
    share = np.zeros(len(expected))
    for begin in range(0, len(rows.codes), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        codes, weights = rows.codes[part], rows.weights[part]
        points = (tree.statistics(codes) @ theta).astype(np.float64)
        points = np.exp(points - points.max(axis=1, keepdims=True))
        points *= (weights / points.sum(axis=1))[:, None]
        present = np.zeros((len(codes), offsets[-1]))
        np.put_along_axis(present, codes + offsets[:-1], 1.0, axis=1)
        seen += present.T @ points
        share += points.sum(axis=0)

    def covariance(states: slice) -> Floats:
        """Return the covariance of these states with all."""
        crossed, turned = seen[states] @ expected, (seen @ expected[:, states]).T
        own = pairs.counts[states] - crossed - turned
        found: Floats = (own + (expected[:, states].T * share) @ expected) / share.sum()
        return found

    variance = np.empty(offsets[-1])
    for _, states in _parts(offsets):
        variance[states] = np.maximum(covariance(states)[:, states].diagonal(), 1e-12)
    never = pairs.counts.diagonal() == 0.0  # states that no row has give no evidence
    found = np.empty((len(tree.states), len(tree.states)))
    for columns, states in _parts(offsets):
        squared = covariance(states) ** 2 / np.outer(variance[states], variance)
        squared[never[states], :] = squared[:, never] = 0.0
        below = np.add.reduceat(squared, offsets[:-1][columns] - states.start, 0)
        found[columns] = np.add.reduceat(below, offsets[:-1], 1)
    spared = 1.0 - 1.0 / tree.states
    found *= np.outer(spared, spared)
    np.fill_diagonal(found, 0.0)
    return found


def _parts(offsets: Ints) -> Iterator[tuple[slice, slice]]:
    """Yield a part of the columns at a time, and their states."""
    for first in range(0, len(offsets) - 1, COLUMNS_AT_ONCE):
        last = min(first + COLUMNS_AT_ONCE, len(offsets) - 1)
        yield slice(first, last), slice(int(offsets[first]), int(offsets[last]))


def marginals(tree: LogLinearTree, tables: list[Floats]) -> Floats:
    """Return the probability of every state of every column at each point, `[point, state]`."""
    found: list[Floats | None] = [None] * len(tables)
    for column in tree.order:
        parent = int(tree.parents[column])
        above = found[parent] if parent >= 0 else np.ones((len(tables[column]), 1))
        assert above is not None
        found[column] = (above[:, :, None] * tables[column]).sum(axis=1)
    return np.concatenate([part for part in found if part is not None], axis=1)
