"""Rows put into clusters: by k-means, and by hard EM over a mixture of naive Bayes models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.dataset import Column
from spnc.learners.support.leaf_fit import Indices

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


_FIRST_BATCH = 8  # clusters are opened early on: their parameters must not lag behind
_BATCHES = 8  # a pass takes at least so many, so that most rows stay while some are moved
_PSEUDO_ROWS = 0.1  # for each state of each column of a cluster


@cache
def thread_pools() -> ThreadpoolController:
    """The libraries that start threads, looked for once: that takes milliseconds."""
    import sklearn.cluster  # noqa: F401  # brings OpenMP, which could not be found before
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def parts_by_label(items: Indices, labels: Indices) -> list[Indices]:
    """The items under each label, where there are any."""
    parts = (items[labels == label] for label in range(int(labels.max()) + 1))
    return [part for part in parts if len(part)]


def kmeans(values: Floats, weights: Floats, count: int, rng: np.random.Generator) -> Indices:
    """A label for each row by k-means, seeded; a missing cell has its column's mean.

    One thread, so that the bits do not depend on many.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    seed = int(rng.integers(2**31))
    if np.isnan(values).any():
        filled = np.where(np.isnan(values), 0.0, values).sum(axis=0)
        means = filled / np.maximum(1, (~np.isnan(values)).sum(axis=0))
        values = np.where(np.isnan(values), means, values)
    if (values == values[0]).all():
        return np.zeros(len(values), dtype=np.intp)
    model = KMeans(n_clusters=min(count, len(values)), n_init=3, random_state=seed)
    with thread_pools().limit(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        return np.asarray(model.fit(values, sample_weight=weights).labels_, dtype=np.intp)


@dataclass(frozen=True, kw_only=True)
class HardEm:
    """Online hard EM over a mixture of naive Bayes models (Gens & Domingos 2013).

    The rows come in random order, several times. Each goes to the cluster that explains it best
    after its own part in the clusters was taken out of them; or it opens a new cluster, which
    costs `penalty` nats for each of its cells: an exponential prior on the number of clusters.
    Rows are taken in batches, an eighth of all at most, so that a step is a product of matrices.
    Of several restarts, the one with the best penalised likelihood is answered.
    """

    penalty: float
    most: int  # clusters
    restarts: int
    passes: int = 4

    def labels(
        self, columns: Sequence[Column], values: Floats, weights: Floats, rng: np.random.Generator
    ) -> Indices:
        """A label for each row, 0 … clusters-1."""
        mixture = _Mixture(columns, values, weights, self.penalty)
        best, best_score = np.zeros(len(values), dtype=np.intp), -np.inf
        with thread_pools().limit(limits=1):
            for _ in range(self.restarts):
                labels, score = self._run(mixture, rng)
                if score > best_score:
                    best, best_score = labels, score
        return np.unique(best, return_inverse=True)[1].astype(np.intp)

    def _run(self, mixture: _Mixture, rng: np.random.Generator) -> tuple[Indices, float]:
        """Labels from one start, and the penalised log-likelihood of rows in such clusters."""
        count = len(mixture.weights)
        labels = np.full(count, -1, dtype=np.intp)
        sums = np.zeros((self.most, mixture.states))
        sizes = np.zeros(self.most)
        for number in range(self.passes):
            order, before = rng.permutation(count), labels.copy()
            for batch in _batches(order, growing=number == 0):
                cells = mixture.cells(batch)
                own = cells * mixture.weights[batch, None]
                if number:
                    _move(sums, sizes, labels[batch], own, mixture.weights[batch], -1.0)
                labels[batch] = self._assign(mixture, cells, own, sums, sizes)
                _move(sums, sizes, labels[batch], own, mixture.weights[batch], 1.0)
            if (labels == before).all():
                break
        return labels, mixture.score(sums, sizes)

    def _assign(
        self, mixture: _Mixture, cells: Floats, own: Floats, sums: Floats, sizes: Floats
    ) -> Indices:
        """The best cluster for each row of a batch; some rows open new ones."""
        found = cells @ mixture.log_parameters(sums).T
        with np.errstate(divide="ignore"):
            found += np.log(sizes / max(sizes.sum(), 1e-300))
        alone = mixture.alone(cells)
        free = np.flatnonzero(sizes <= 0.0).tolist()
        opened = self.most - len(free)
        for cluster in free:
            opened += 1  # a new cluster is as likely as any: a row of no values opens none
            rebels = np.flatnonzero(alone - np.log(opened) > found.max(axis=1))
            if not len(rebels):
                break
            seed = rebels[0]  # it is in the cluster from now on: others are compared with it
            found[:, cluster] = cells @ mixture.log_parameters(own[seed][None])[0] - np.log(opened)
            found[seed, cluster] = np.inf
        best: Indices = np.argmax(found, axis=1)
        return best


class _Mixture:
    """The rows of a slice, and what naive Bayes models say about them.

    Rows are taken as indicators of the states of all columns, one after another, as in
    `spnc.data.pairs`; a missing cell indicates none.
    """

    def __init__(
        self, columns: Sequence[Column], values: Floats, weights: Floats, penalty: float
    ) -> None:
        sizes = np.array([column.states for column in columns])
        self._owners = np.repeat(np.arange(len(columns)), sizes)
        self._starts = np.cumsum(sizes) - sizes
        states = np.arange(len(self._owners)) - self._starts[self._owners]
        self._sizes = sizes
        self._indicators = values[:, self._owners] == states
        self.weights = weights
        self.penalty = penalty
        self.states = len(states)
        # What a cluster of one row says about a cell of that row, less the penalty.
        certain = np.log((1.0 + _PSEUDO_ROWS) / (1.0 + _PSEUDO_ROWS * sizes)) - penalty
        self._alone: Floats = certain[self._owners]

    def cells(self, rows: Indices) -> Floats:
        """The indicators of some rows, `[row, state]`."""
        found: Floats = self._indicators[rows].astype(np.float64)
        return found

    def alone(self, cells: Floats) -> Floats:
        """How well rows would be explained by a cluster of their own."""
        found: Floats = cells @ self._alone
        return found

    def log_parameters(self, sums: Floats) -> Floats:
        """The log probability of every state in clusters with such counts, `[cluster, state]`."""
        totals = np.add.reduceat(sums, self._starts, axis=1) + _PSEUDO_ROWS * self._sizes
        return np.log((sums + _PSEUDO_ROWS) / totals[:, self._owners])

    def score(self, sums: Floats, sizes: Floats) -> float:
        """The penalised log-likelihood of all rows in clusters with such counts."""
        held = sizes[sizes > 0.0]
        cells = float((sums * self.log_parameters(sums)).sum())
        shares = float((held * np.log(held / held.sum())).sum())
        return cells + shares - self.penalty * len(self._sizes) * len(held)


def _batches(order: Indices, *, growing: bool) -> Iterator[Indices]:
    """All items in order, an eighth at once at most; starting with few if the size is to grow."""
    largest = max(1, -(-len(order) // _BATCHES))
    size, begin = (min(_FIRST_BATCH, largest) if growing else largest), 0
    while begin < len(order):
        yield order[begin : begin + size]
        begin += size
        size = min(2 * size, largest)


def _move(
    sums: Floats, sizes: Floats, labels: Indices, own: Floats, weights: Floats, sign: float
) -> None:
    """Add rows to the counts of their clusters, or take them out."""
    member = (labels[:, None] == np.arange(len(sizes))).astype(np.float64)
    sums += sign * (member.T @ own)
    sizes += sign * (weights @ member)
    if sign < 0.0:  # of weights that are no whole numbers something may be left
        gone = sizes < 1e-9
        sums[gone], sizes[gone] = 0.0, 0.0
        np.maximum(sums, 0.0, out=sums)
