"""A made table of real and categorical columns, and a random tree over it.

The rows are drawn from a known mixture of products: in every cluster, the real columns are normal
and the categorical ones have a probability per state. All values of a real column are distinct.
The same arguments give the same table and the same tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.circuits import SMOOTHING, jittered_circuit
from benchmarks.common.flat_circuit import Flat, scale_of_doubles
from spnc.common.rng import random_stream
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.fitting import fit_column
from spnc.registry import LEAVES

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

REALS = 10
STATES = (4, 5, 6, 7, 8, 4, 5, 6, 7, 8)  # of the categorical columns
CLUSTERS = 12
# A slice with less than this share of the rows is not split. Found by trial: it gives a tree of
# 1,988 edges on 100,000 rows, between the trees over nltcs (890) and plants (5,404).
SMALLEST_SHARE = 1 / 100
_ROW_SPLITS = 0.6  # the share of splits by rows, as in the trees over binary columns
_CUTS = (0.3, 0.7)  # how much of a slice the first part of a split by rows has: least and most


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of products of normal and categorical distributions."""

    weights: Floats  # [cluster]
    means: Floats  # [cluster, real column]
    sds: Floats  # [cluster, real column]
    chances: tuple[Floats, ...]  # of every categorical column, [cluster, state]

    @staticmethod
    def drawn(reals: int, states: Sequence[int], clusters: int, seed: int) -> Mixture:
        """Draw the parameters of a mixture."""
        rng = random_stream(seed, "mixture")
        return Mixture(
            rng.dirichlet(np.full(clusters, 5.0)),
            rng.normal(0.0, 2.0, (clusters, reals)),
            rng.uniform(0.5, 1.5, (clusters, reals)),
            tuple(rng.dirichlet(np.full(k, 0.7), clusters) for k in states),
        )

    def rows(self, count: int, seed: int) -> Floats:
        """Draw rows: the real columns first, then the codes of the categorical ones."""
        rng = random_stream(seed, "rows")
        cluster = rng.choice(len(self.weights), size=count, p=self.weights)
        columns = list(rng.normal(self.means[cluster], self.sds[cluster]).T)
        for chances in self.chances:
            ends = np.cumsum(chances, axis=1)[:, :-1]
            columns.append((rng.random((count, 1)) >= ends[cluster]).sum(axis=1).astype(float))
        return np.stack(columns, axis=1)

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of every row."""
        reals = self.means.shape[1]
        found = np.tile(np.log(self.weights)[:, None], len(rows))
        for column in range(reals):
            mean, sd = self.means[:, column, None], self.sds[:, column, None]
            found -= 0.5 * ((rows[:, column] - mean) / sd) ** 2 + np.log(sd * np.sqrt(2 * np.pi))
        for column, chances in enumerate(self.chances, reals):
            found += np.log(chances[:, rows[:, column].astype(np.intp)])
        total: Floats = np.logaddexp.reduce(found, axis=0)
        return total


def known_mixture(seed: int = 0) -> Mixture:
    """Return the mixture behind `mixed_dataset`."""
    return Mixture.drawn(REALS, STATES, CLUSTERS, seed)


def mixed_dataset(rows: int, seed: int = 0) -> Dataset:
    """Return rows of ten real and ten categorical columns, drawn from `known_mixture`."""
    values = known_mixture(seed).rows(rows, seed)
    columns = [
        Column(f"x{i}", "real", 0, scale=scale_of_doubles(values[:, i])) for i in range(REALS)
    ]
    columns += [Column(f"x{i}", "categorical", k) for i, k in enumerate(STATES, REALS)]
    return Dataset("mixed", tuple(columns), {"train": Table(values)})


def mixed_circuit(dataset: Dataset, seed: int = 0) -> Flat:
    """Return the circuit over a mixed dataset that every system gets."""
    return jittered_circuit(mixed_tree(dataset, seed), seed)


def mixed_tree(dataset: Dataset, seed: int = 0, smallest_share: float = SMALLEST_SHARE) -> Graph:
    """Return a tree made by random splits of rows and of columns, as ExtraSPN makes them.

    Real columns get Gaussian leaves and categorical ones categorical leaves, fitted to the rows of
    their slice.
    """
    builder = Builder(dataset.columns)
    rows = np.arange(dataset.train.rows)
    smallest = max(2, int(smallest_share * len(rows)))
    splitter = _Splitter(
        builder, dataset.columns, dataset.train.values, smallest, random_stream(seed, "tree")
    )
    builder.graph.graph["root"] = splitter.node(rows, list(range(len(dataset.columns))))
    return builder.graph


@dataclass(frozen=True, eq=False)
class _Splitter:
    """Builds a tree over slices of a table."""

    builder: Builder
    columns: Sequence[Column]
    values: Floats
    smallest: int
    rng: np.random.Generator

    def node(self, rows: Indices, columns: list[int]) -> int:
        """Add the tree over a slice, and return its root."""
        if len(columns) == 1:
            return self._leaf(rows, columns[0])
        if len(rows) < self.smallest:
            return self.builder.product([self._leaf(rows, c) for c in columns])
        parts = self._row_parts(rows, columns) if self.rng.random() < _ROW_SPLITS else None
        if parts is not None:
            weights = [len(part) / len(rows) for part in parts]
            return self.builder.sum([self.node(part, columns) for part in parts], weights)
        order = self.rng.permutation(columns).tolist()
        cut = int(self.rng.integers(1, len(order)))
        return self.builder.product([self.node(rows, own) for own in (order[:cut], order[cut:])])

    def _row_parts(self, rows: Indices, columns: list[int]) -> tuple[Indices, Indices] | None:
        """Split rows by one column at random, values in order; None if all rows have one value.

        The states of a categorical column are in random order.
        """
        column = int(self.rng.choice(columns))
        values, share = self.values[rows, column], self.rng.uniform(*_CUTS)
        if self.columns[column].is_finite:
            values = self.rng.permutation(self.columns[column].states)[values.astype(np.intp)]
        first = values <= np.quantile(values, share, method="lower")
        if first.all():
            first = values < values.max()
        return (rows[first], rows[~first]) if first.any() else None

    def _leaf(self, rows: Indices, column: int) -> int:
        about = self.columns[column]
        kind = LEAVES["categorical" if about.is_finite else "gaussian"]
        values, weights = self.values[rows, column][None, :], np.ones((1, len(rows)))
        (row,) = fit_column(kind, about, values, weights, SMOOTHING.leaves)
        return self.builder.leaf(column, kind.from_row(row))
