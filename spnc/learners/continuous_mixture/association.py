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

import numpy as np

from spnc.common.arrays import Floats
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.mixture_fit import CodedRows, TreeMixture

ROWS_AT_ONCE = 1024  # bounds memory


def association(tree: LogLinearTree, mixture: TreeMixture, rows: CodedRows) -> Floats:
    """Return φ² of every two columns given the point, with zeros on the diagonal."""
    logits = mixture.logits()
    theta = tree.from_logits @ logits - tree.from_normalisers @ tree.normalised(logits)[1]
    theta[0] += np.log(mixture.weights()).astype(np.float32)
    expected = marginals(tree, tree.tables(logits))  # [point, state of a column]
    offsets = np.concatenate([[0], np.cumsum(tree.states)])
    both = np.zeros((offsets[-1], offsets[-1]))
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
        both += present.T @ (present * weights[:, None])
        seen += present.T @ points
        share += points.sum(axis=0)
    crossed = seen @ expected
    covariance = both - crossed - crossed.T + (expected.T * share) @ expected
    covariance /= share.sum()
    variance = np.maximum(covariance.diagonal(), 1e-12)
    squared = covariance**2 / np.outer(variance, variance)
    never = both.diagonal() == 0.0  # states that no row has give no evidence
    squared[never, :] = squared[:, never] = 0.0
    found: Floats = np.add.reduceat(np.add.reduceat(squared, offsets[:-1], 0), offsets[:-1], 1)
    spared = 1.0 - 1.0 / tree.states
    found *= np.outer(spared, spared)
    np.fill_diagonal(found, 0.0)
    return found


def marginals(tree: LogLinearTree, tables: list[Floats]) -> Floats:
    """Return the probability of every state of every column at each point, `[point, state]`."""
    found: list[Floats | None] = [None] * len(tables)
    for column in tree.order:
        parent = int(tree.parents[column])
        above = found[parent] if parent >= 0 else np.ones((len(tables[column]), 1))
        assert above is not None
        found[column] = (above[:, :, None] * tables[column]).sum(axis=1)
    return np.concatenate([part for part in found if part is not None], axis=1)
