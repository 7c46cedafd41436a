"""A table of real and categorical columns, and circuits over it, for measurements.

The rows come from a mixture of clusters, so that columns depend on one another. `mixed_tree` splits
rows and columns at random, as ExtraSPN does; `mixed_forest` has hidden trees under one sum, whose
sums share all their children, as hidden Chow-Liu trees do. Both are deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.rng import random_stream
from spnc.data.columns import Column, Scale
from spnc.data.dataset import Dataset, Table, packed
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.fitting import fit_column
from spnc.registry import LEAVES

CLUSTERS = 12  # of the rows
RESOLUTION = 1e-6  # of real columns: fine enough for all values to be distinct


def mixed_table(rows: int = 100_000, real: int = 10, finite: int = 10, seed: int = 0) -> Dataset:
    """Draw a table of real columns, then of categorical columns with 4 to 8 states."""
    rng = random_stream(seed, "mixed table")
    cluster = rng.integers(CLUSTERS, size=rows)
    columns, cells = [], []
    for i in range(real):
        centre, width = rng.normal(0.0, 3.0, CLUSTERS), rng.uniform(0.2, 1.5, CLUSTERS)
        values = np.round(rng.normal(centre[cluster], width[cluster]), 6)
        scale = Scale(
            RESOLUTION, values.min(), values.max(), float(values.mean()), float(values.std())
        )
        columns.append(Column(f"r{i}", "real", 0, scale=scale))
        cells.append(values)
    for i in range(finite):
        states = 4 + i % 5
        ends = np.cumsum(rng.dirichlet(np.full(states, 0.5), CLUSTERS), axis=1)[:, :-1]
        codes = (rng.random((rows, 1)) > ends[cluster]).sum(axis=1)
        columns.append(Column(f"c{i}", "categorical", states))
        cells.append(packed(codes.astype(np.float64), states))
    return Dataset("mixed", tuple(columns), {"train": Table.of_columns(cells)})


@dataclass(frozen=True, eq=False)
class _Grower:
    """Grows circuits over a dataset; leaves are fitted to some of its rows."""

    dataset: Dataset
    builder: Builder
    rng: np.random.Generator

    def leaf(self, column: int, rows: np.ndarray) -> int:
        """Add a leaf over a column, fitted to some rows."""
        own = self.dataset.columns[column]
        kind = LEAVES["categorical" if own.is_finite else "gaussian"]
        values = self.dataset.train.at(rows, np.full(len(rows), column))[None]
        table = fit_column(kind, own, values, np.ones_like(values), 0.1)
        return self.builder.leaf(column, kind.from_row(table[0]))

    def tree(self, rows: np.ndarray, columns: np.ndarray, least: int, split: bool) -> int:
        """Split rows into two, then columns into two, and so on."""
        if len(columns) == 1:
            return self.leaf(int(columns[0]), rows)
        if split and len(rows) >= least:
            axis = self.dataset.train.at(rows, np.full(len(rows), self.rng.choice(columns)))
            side = axis > self.rng.choice(axis)
            parts = [part for part in (rows[side], rows[~side]) if len(part)]
            children = [self.tree(part, columns, least, False) for part in parts]
            if len(parts) > 1:
                return self.builder.sum(children, [len(part) / len(rows) for part in parts])
            return children[0]
        if len(rows) < least:
            return self.builder.product([self.leaf(int(c), rows) for c in columns])
        mixed = self.rng.permutation(columns)
        cut = int(self.rng.integers(1, len(columns)))
        parts = [np.sort(mixed[:cut]), np.sort(mixed[cut:])]
        return self.builder.product([self.tree(rows, part, least, True) for part in parts])

    def hidden_tree(self, states: int) -> int:
        """Add a latent variable with this number of states for every column, in a random tree."""
        count, rows = len(self.dataset.columns), self.dataset.train.rows
        parent = [int(self.rng.integers(max(0, i - 3), i)) if i else -1 for i in range(count)]
        sums: dict[int, list[int]] = {}
        for v in reversed(range(count)):
            below = [sums[c] for c in range(count) if parent[c] == v]
            nodes = []
            for k in range(states):
                leaf = self.leaf(v, self.rng.choice(rows, 300))
                nodes.append(
                    self.builder.product([leaf, *(s[k] for s in below)]) if below else leaf
                )
            sums[v] = [
                self.builder.sum(nodes, self.rng.dirichlet(np.ones(states)).tolist())
                for _ in range(states if v else 1)
            ]
        return sums[0][0]


def mixed_tree(dataset: Dataset, least: int = 700, seed: int = 0) -> Graph:
    """Return a tree; rows are split until fewer than `least` are left."""
    grower = _Grower(dataset, Builder(dataset.columns), random_stream(seed, "mixed tree"))
    rows, columns = np.arange(dataset.train.rows), np.arange(len(dataset.columns))
    grower.builder.graph.graph["root"] = grower.tree(rows, columns, least, True)
    return grower.builder.graph


def mixed_forest(dataset: Dataset, trees: int = 2, states: int = 16, seed: int = 0) -> Graph:
    """Return hidden trees under one sum, full of dense blocks."""
    grower = _Grower(dataset, Builder(dataset.columns), random_stream(seed, "mixed forest"))
    roots = [grower.hidden_tree(states) for _ in range(trees)]
    grower.builder.graph.graph["root"] = grower.builder.sum(roots, [1.0 / trees] * trees)
    return grower.builder.graph
