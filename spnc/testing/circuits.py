"""Random circuits and rows, and slow, obvious ways to compute what circuits mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind, Scale
from spnc.data.table import Table
from spnc.graph.nodes import Builder, Graph, Leaf, Sum, children_first, find_root, payloads
from spnc.leaves import Distribution
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.indicator import Indicator
from spnc.leaves.poisson import Poisson
from spnc.leaves.uniform import Uniform

_COUNTS = Scale(1.0, 0.0, 15.0, 3.0, 2.0, 1.0, 0.7)
# Two kinds of real columns: one with values that are all different, one with values that repeat.
_REALS = (Scale(1e-9, -9.0, 9.0, 0.0, 2.0, 0.0, 1.0), Scale(0.5, -9.0, 9.0, 0.0, 2.0, 0.0, 1.0))


def random_columns(
    rng: np.random.Generator, count: int, binary_only: bool = False, numeric: float = 0.0
) -> list[Column]:
    """Mostly binary columns, some of three or four states; a share of `numeric` ones."""
    columns = []
    for i in range(count):
        if numeric > 0.0 and rng.random() < numeric:
            columns.append(_numeric_column(rng, f"x{i}"))
            continue
        states = 2 if binary_only or rng.random() < 0.7 else int(rng.integers(3, 5))
        kind: ColumnKind = "binary" if states == 2 else "categorical"
        columns.append(Column(f"x{i}", kind, states))
    return columns


def _numeric_column(rng: np.random.Generator, name: str) -> Column:
    if rng.random() < 0.3:
        return Column(name, "count", 0, scale=_COUNTS)
    return Column(name, "real", 0, scale=_REALS[int(rng.integers(2))])


class CircuitGrower:
    """Grows a valid circuit top down; with probability `share`, a finished node is used again."""

    def __init__(
        self, rng: np.random.Generator, columns: list[Column], share: float, extremes: bool
    ) -> None:
        self.rng, self.columns, self.share, self.extremes = rng, columns, share, extremes
        self.builder = Builder(columns)
        self.finished: dict[frozenset[int], list[int]] = {}

    def node(self, scope: frozenset[int], depth: int) -> int:
        """Return a node over a scope, new or finished before."""
        pool = self.finished.setdefault(scope, [])
        if pool and self.rng.random() < self.share:
            return int(self.rng.choice(pool))
        made = self._new(scope, depth)
        pool.append(made)
        return made

    def _new(self, scope: frozenset[int], depth: int) -> int:
        if len(scope) == 1 and (depth <= 0 or self.rng.random() < 0.6):
            return self._leaf(next(iter(scope)))
        if len(scope) == 1 or (depth > 0 and self.rng.random() < 0.5):
            wanted = int(self.rng.integers(1, 4))
            children = list({self.node(scope, depth - 1) for _ in range(wanted)})
            return self.builder.sum(children, self._weights(len(children)))
        parts = [frozenset([v]) for v in sorted(scope)] if depth <= 0 else self._parts(scope)
        return self.builder.product([self.node(part, depth - 1) for part in parts])

    def _parts(self, scope: frozenset[int]) -> list[frozenset[int]]:
        members = sorted(scope)
        labels = self.rng.integers(3, size=len(members))
        groups = [
            frozenset(m for m, label in zip(members, labels, strict=True) if label == k)
            for k in range(3)
        ]
        return [g for g in groups if g]

    def _weights(self, count: int) -> list[float]:
        weights = self.rng.dirichlet(np.ones(count))
        if self.extremes and count > 1 and self.rng.random() < 0.3:
            weights[0] = 0.0
            weights /= weights.sum()
        return [float(w) for w in weights]

    def _leaf(self, variable: int) -> int:
        column = self.columns[variable]
        if not column.is_finite:
            return self.builder.leaf(variable, self._numeric(column))
        if self.extremes and self.rng.random() < 0.2:
            state = float(self.rng.integers(column.states))
            return self.builder.leaf(variable, Indicator(state))
        if column.kind == "binary":
            p = float(self.rng.random())
            if self.extremes and self.rng.random() < 0.25:
                p = float(self.rng.integers(2))
            return self.builder.leaf(variable, Bernoulli(p))
        p_all = self.rng.dirichlet(np.ones(column.states))
        if self.extremes and self.rng.random() < 0.25:
            p_all = np.eye(column.states)[0]
        return self.builder.leaf(variable, Categorical(tuple(float(x) for x in p_all)))

    def _numeric(self, column: Column) -> Distribution:
        if column.kind == "count":
            return Poisson(float(self.rng.uniform(0.0, 8.0)))
        if self.extremes and self.rng.random() < 0.3:
            low, width = self.rng.uniform(-6.0, 2.0), self.rng.uniform(1.0, 6.0)
            return Uniform(float(low), float(low + width))
        narrowest = 0.01 if self.extremes else 0.4
        return Gaussian(float(self.rng.normal(0.0, 2.0)), float(self.rng.uniform(narrowest, 2.0)))


def random_circuit(
    seed: int,
    *,
    variables: int = 5,
    depth: int = 4,
    share: float = 0.4,
    extremes: bool = False,
    binary_only: bool = False,
    numeric: float = 0.0,
) -> Graph:
    """A valid circuit, usually a DAG with shared sums, products and leaves.

    About a share of `numeric` of its columns are counts and reals.
    """
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, variables, binary_only, numeric)
    grower = CircuitGrower(rng, columns, share, extremes)
    root = grower.node(frozenset(range(variables)), depth)
    graph = grower.builder.graph
    graph.graph["root"] = root
    return graph


def all_states(columns: Sequence[Column]) -> Floats:
    """Every complete row, `[row, column]`."""
    return np.array(list(itertools.product(*(range(c.states) for c in columns))), dtype=float)


def random_rows(seed: int, columns: Sequence[Column], rows: int, missing: float) -> Floats:
    """Rows of random values, some of them missing."""
    rng = np.random.default_rng(seed)
    values = np.stack([_random_cells(rng, c, rows) for c in columns], axis=1).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return values


def _random_cells(rng: np.random.Generator, column: Column, rows: int) -> NDArray[np.generic]:
    if column.kind == "count":
        return rng.poisson(3.0, size=rows)
    if column.kind == "real":
        assert column.scale is not None
        unit = column.scale.resolution
        return np.round(rng.normal(0.0, 2.0, size=rows) / unit) * unit
    return rng.integers(column.states, size=rows)


def leaf_probability(leaf: Leaf, row: Floats) -> float:
    """p(value), or its density, in the plainest way."""
    value = float(row[leaf.variable])
    if math.isnan(value):
        return 1.0
    p = leaf.distribution.row
    if isinstance(leaf.distribution, Gaussian):
        mean, sd = p
        return math.exp(-0.5 * ((value - mean) / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))
    if isinstance(leaf.distribution, Poisson):
        return math.exp(-p[0]) * p[0] ** int(value) / math.factorial(int(value))
    if isinstance(leaf.distribution, Uniform):
        low, high = p
        return 1.0 / (high - low) if low <= value <= high else 0.0
    if isinstance(leaf.distribution, Indicator):
        return float(value == p[0])
    if len(p) == 1:
        return p[0] if value == 1 else 1.0 - p[0]
    return p[int(value)]


def probability(graph: Graph, row: Floats) -> float:
    """p(row) by recursion over the graph, in ordinary numbers."""
    node = payloads(graph)
    known: dict[Hashable, float] = {}

    def value(n: Hashable) -> float:
        if n not in known:
            payload = node[n]
            if isinstance(payload, Leaf):
                known[n] = leaf_probability(payload, row)
            elif isinstance(payload, Sum):
                known[n] = sum(d["weight"] * value(c) for c, d in graph.succ[n].items())
            else:
                known[n] = math.prod(value(c) for c in graph.succ[n])
        return known[n]

    return value(find_root(graph))


def induced_trees(
    graph: Graph, n: Hashable
) -> Iterator[tuple[float, list[tuple[Hashable, Hashable]], list[Hashable]]]:
    """Every way to choose one child at each sum: (weight, sum edges used, leaves used)."""
    payload = graph.nodes[n]["node"]
    if isinstance(payload, Leaf):
        yield 1.0, [], [n]
    elif isinstance(payload, Sum):
        for child, data in graph.succ[n].items():
            for weight, edges, leaves in induced_trees(graph, child):
                yield data["weight"] * weight, [(n, child), *edges], leaves
    else:
        options = [list(induced_trees(graph, c)) for c in graph.succ[n]]
        for chosen in itertools.product(*options):
            yield (
                math.prod(w for w, _, _ in chosen),
                [e for _, edges, _ in chosen for e in edges],
                [leaf for _, _, leaves in chosen for leaf in leaves],
            )


def count_induced_trees(graph: Graph) -> int:
    """How many there are, without making them."""
    node = payloads(graph)
    total: dict[Hashable, int] = {}
    for n in children_first(graph):
        counts = [total[c] for c in graph.succ[n]]
        if isinstance(node[n], Leaf):
            total[n] = 1
        else:
            total[n] = sum(counts) if isinstance(node[n], Sum) else math.prod(counts)
    return total[find_root(graph)]


def repeated_rows(seed: int, columns: Sequence[Column], rows: int, missing: float) -> Table:
    """Rows with structure: every cell depends on one of few hidden kinds of row."""
    rng = np.random.default_rng(seed)
    kinds = random_rows(seed, columns, 6, 0.0)[rng.integers(6, size=rows)]
    noise = random_rows(seed + 1, columns, rows, missing)
    values = np.where(rng.random(kinds.shape) < 0.8, kinds, noise)
    return Table(values, rng.random(rows) + 0.5)
