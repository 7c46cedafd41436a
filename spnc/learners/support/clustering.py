"""Clustering of rows: by k-means, and by hard EM over a mixture of naive Bayes models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.binning import binned
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.learners.support.leaf_fit import Indices

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


_FIRST_BATCH = 8  # rows; small, since new clusters open early and need up-to-date parameters
_BATCHES = 8  # in a pass, at least, so that most rows stay while some are moved
_PSEUDO_ROWS = 0.1  # for each state of each column of a cluster
_ROWS_AT_ONCE = 1024  # bounds memory
_EMPTY = 1e-9  # a cluster of less weight is empty: subtracting fractional weights leaves a rest


@cache
def thread_pools() -> ThreadpoolController:
    """Return the controller of libraries that start threads; cached, since finding them is slow."""
    import sklearn.cluster  # noqa: F401  # loads OpenMP, so that the controller finds it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def parts_by_label(items: Indices, labels: Indices) -> list[Indices]:
    """Return the items of each label, without empty ones."""
    parts = (items[labels == label] for label in range(int(labels.max()) + 1))
    return [part for part in parts if len(part)]


def encoded(columns: Sequence[Column], values: Floats) -> Floats:
    """Return rows whose distances mean something, for k-means, if some columns hold numbers.

    Numbers are divided by their standard deviation, and a categorical column becomes an indicator
    for each of its states. Rows of states only are returned as they are.
    """
    if all(column.is_finite for column in columns):
        return values
    parts = []
    for column, cells in zip(columns, values.T, strict=True):
        if column.kind == "categorical":
            states = (cells[:, None] == np.arange(column.states)) / np.sqrt(2.0)
            parts.append(np.where(np.isnan(cells)[:, None], np.nan, states))
            continue
        known = cells[~np.isnan(cells)]
        spread = 1.0 if column.is_finite or len(known) == 0 else float(known.std())
        parts.append((cells / (spread or 1.0))[:, None])
    return np.concatenate(parts, axis=1)


def kmeans(values: Floats, weights: Floats, count: int, rng: np.random.Generator) -> Indices:
    """Return a label for each row by k-means; a missing cell is replaced by its column's mean.

    It runs in one thread, so that the result does not depend on the number of threads.
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

    The rows are visited in random order, several times. Each is first removed from its cluster and
    then goes to the cluster that explains it best, or opens a new cluster, which costs `penalty`
    nats for each of its cells: an exponential prior on the number of clusters. Rows are taken in
    batches, an eighth of all at most, so that a step is a product of matrices. Of several restarts,
    the one with the best penalised likelihood is returned.
    """

    penalty: float
    most: int  # clusters
    restarts: int
    passes: int = 4

    def labels(
        self, columns: Sequence[Column], values: Floats, weights: Floats, rng: np.random.Generator
    ) -> Indices:
        """Return a label for each row, 0 … clusters-1. Numbers are taken by their ranges."""
        columns, table = binned(columns, Table(values, weights))
        mixture = _Mixture(columns, table.values, weights, self.penalty)
        best, best_score = np.zeros(len(values), dtype=np.intp), -np.inf
        with thread_pools().limit(limits=1):
            for _ in range(self.restarts):
                labels, score = self._run(mixture, rng)
                if score > best_score:
                    best, best_score = labels, score
        return np.unique(best, return_inverse=True)[1].astype(np.intp)

    def _run(self, mixture: _Mixture, rng: np.random.Generator) -> tuple[Indices, float]:
        """Return the labels from one start, and their penalised log-likelihood."""
        count = len(mixture.weights)
        labels = np.full(count, -1, dtype=np.intp)
        sums = np.zeros((self.most, mixture.states))
        sizes = np.zeros(self.most)
        for number in range(self.passes):
            order, before = rng.permutation(count), labels.copy()
            for batch in _batches(order, growing=number == 0):
                cells = mixture.cells(batch)
                own = mixture.weighted(cells, batch)
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
        """Return the best cluster for each row of a batch; some rows open new clusters."""
        found = cells @ mixture.log_parameters(sums).T
        with np.errstate(divide="ignore"):
            found += np.log(sizes / max(sizes.sum(), 1e-300))
        alone = mixture.alone(cells)
        free = np.flatnonzero(sizes <= 0.0).tolist()
        opened = self.most - len(free)
        for cluster in free:
            opened += 1  # a new cluster is as likely as any other: a row without values opens none
            openers = np.flatnonzero(alone - np.log(opened) > found.max(axis=1))
            if not len(openers):
                break
            seed = openers[0]  # the first row of the new cluster; others are compared with it
            found[:, cluster] = cells @ mixture.log_parameters(own[seed][None])[0] - np.log(opened)
            found[seed, cluster] = np.inf
        best: Indices = np.argmax(found, axis=1)
        return best


class _Mixture:
    """The rows of a slice, and their likelihood under naive Bayes models.

    Rows are represented by indicators of the states of all columns, one column after another, as
    in `spnc.data.pairs`; a missing cell has no indicator.
    """

    def __init__(
        self, columns: Sequence[Column], values: Floats, weights: Floats, penalty: float
    ) -> None:
        sizes = np.array([column.states for column in columns])
        self._owners = np.repeat(np.arange(len(columns)), sizes)
        self._starts = np.cumsum(sizes) - sizes
        states = np.arange(len(self._owners)) - self._starts[self._owners]
        self._sizes = sizes
        self._indicators = np.empty((len(values), len(states)), dtype=np.bool_)
        for begin in range(0, len(values), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            np.equal(values[part][:, self._owners], states, out=self._indicators[part])
        self.weights = weights
        self._weigh = bool((weights != 1.0).any())
        # Kept from batch to batch: with many columns, new memory would take most of the time.
        size = (_largest_batch(len(values)), len(states))
        self._cells = np.empty(size)
        self._weighted = np.empty(size if self._weigh else 0)
        self.penalty = penalty
        self.states = len(states)
        # The log-likelihood of a row's cell in a cluster of that row alone, less the penalty.
        certain = np.log((1.0 + _PSEUDO_ROWS) / (1.0 + _PSEUDO_ROWS * sizes)) - penalty
        self._alone: Floats = certain[self._owners]

    def cells(self, rows: Indices) -> Floats:
        """Return the indicators of a batch of rows, `[row, state]`, until the next call."""
        found: Floats = self._cells[: len(rows)]
        np.copyto(found, self._indicators[rows])
        return found

    def weighted(self, cells: Floats, rows: Indices) -> Floats:
        """Return the indicators `cells` of a batch times its weights, until the next call."""
        if not self._weigh:
            return cells
        found: Floats = self._weighted[: len(rows)]
        np.multiply(cells, self.weights[rows, None], out=found)
        return found

    def alone(self, cells: Floats) -> Floats:
        """Return the penalised log-likelihood of each row in a cluster of its own."""
        found: Floats = cells @ self._alone
        return found

    def log_parameters(self, sums: Floats) -> Floats:
        """Return the log probabilities `[cluster, state]` for these counts of states."""
        totals = np.add.reduceat(sums, self._starts, axis=1) + _PSEUDO_ROWS * self._sizes
        return np.log((sums + _PSEUDO_ROWS) / totals[:, self._owners])

    def score(self, sums: Floats, sizes: Floats) -> float:
        """Return the penalised log-likelihood of all rows, from the clusters' counts."""
        held = sizes[sizes > 0.0]
        cells = float((sums * self.log_parameters(sums)).sum())
        shares = float((held * np.log(held / held.sum())).sum())
        return cells + shares - self.penalty * len(self._sizes) * len(held)


def _batches(order: Indices, *, growing: bool) -> Iterator[Indices]:
    """Yield all items in order, at most an eighth at once; with `growing`, few at first."""
    largest = _largest_batch(len(order))
    size, begin = (min(_FIRST_BATCH, largest) if growing else largest), 0
    while begin < len(order):
        yield order[begin : begin + size]
        begin += size
        size = min(2 * size, largest)


def _largest_batch(rows: int) -> int:
    """Return the size of most batches of this many rows."""
    return max(1, -(-rows // _BATCHES))


def _move(
    sums: Floats, sizes: Floats, labels: Indices, own: Floats, weights: Floats, sign: float
) -> None:
    """Add rows to the counts of their clusters, or (`sign` -1) remove them."""
    member = (labels[:, None] == np.arange(len(sizes))).astype(np.float64)
    sums += sign * (member.T @ own)
    sizes += sign * (weights @ member)
    if sign < 0.0:
        gone = sizes < _EMPTY
        sums[gone], sizes[gone] = 0.0, 0.0
        np.maximum(sums, 0.0, out=sums)
