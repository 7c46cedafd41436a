"""A large circuit as text, for `benchmarks.reading`: the same for the same number of edges."""

from __future__ import annotations

import numpy as np

from spnc.common.rng import random_stream
from spnc.data.columns import Column
from spnc.graph.nodes import Builder
from spnc.graph.text import write_circuit_text
from spnc.leaves.bernoulli import Bernoulli

COLUMNS = 40
_DEPTH = 5  # of a tree, in sums
_SHARED = 0.25  # the share of leaves that another node has as well


def circuit_text(edges: int) -> str:
    """Return a valid circuit of at least this many edges over binary columns, as spnc writes it.

    It is a sum of random trees with some leaves in common: about as many nodes as edges, and
    numbers of 16 to 18 digits.
    """
    grower = _Grower(random_stream(0, "large circuit"))
    trees: list[int] = []
    while grower.edges + len(trees) < edges:
        trees.append(grower.sum(tuple(range(COLUMNS)), _DEPTH))
    builder = grower.builder
    builder.graph.graph["root"] = builder.sum(trees, [1.0 / len(trees)] * len(trees))
    return write_circuit_text(builder.graph, "large")


def with_brackets(text: str) -> str:
    """Return the circuit text with brackets, which change nothing, around its last node."""
    before, equal, last = text.rpartition(" = ")
    node, end, rest = last.partition("\n")
    return f"{before}{equal}({node}){end}{rest}"


class _Grower:
    """Grows random trees from the root down."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.builder = Builder([Column(f"x{i}") for i in range(COLUMNS)])
        self.leaves: list[list[int]] = [[] for _ in range(COLUMNS)]
        self.edges = 0

    def sum(self, scope: tuple[int, ...], depth: int) -> int:
        """Return a sum of two products, or a leaf if the scope is one column."""
        if len(scope) == 1:
            return self._leaf(scope[0])
        share = float(self.rng.random())
        self.edges += 2
        products = [self._product(scope, depth) for _ in range(2)]
        return self.builder.sum(products, [share, 1.0 - share])

    def _product(self, scope: tuple[int, ...], depth: int) -> int:
        """Return a product of two sums or, deep in the tree, of leaves."""
        if depth == 1:
            children = [self._leaf(column) for column in scope]
        else:
            mixed = tuple(self.rng.permutation(scope).tolist())
            cut = int(self.rng.integers(1, len(mixed)))
            children = [self.sum(part, depth - 1) for part in (mixed[:cut], mixed[cut:])]
        self.edges += len(children)
        return self.builder.product(children)

    def _leaf(self, column: int) -> int:
        """Return a leaf, new or known."""
        known = self.leaves[column]
        if known and self.rng.random() < _SHARED:
            return known[int(self.rng.integers(len(known)))]
        known.append(self.builder.leaf(column, Bernoulli(float(self.rng.random()))))
        return known[-1]
