"""Random circuits for tests: those of `spnc.testing`, and some that only our own tests need."""

from __future__ import annotations

import numpy as np

from spnc.data.columns import Column
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.testing.circuits import (
    CircuitGrower,
    all_states,
    count_induced_trees,
    induced_trees,
    leaf_probability,
    probability,
    random_circuit,
    random_columns,
    random_rows,
    repeated_rows,
)

__all__ = [
    "CircuitGrower",
    "all_states",
    "count_induced_trees",
    "hidden_tree",
    "induced_trees",
    "leaf_probability",
    "node_link_leaf",
    "probability",
    "random_circuit",
    "random_columns",
    "random_rows",
    "repeated_rows",
]


def node_link_leaf(name: str, variable: str, p: float, **more: object) -> dict[str, object]:
    """A Bernoulli leaf in node-link form."""
    kind = {"kind": "leaf", "variable": variable, "distribution": "bernoulli"}
    return {"id": name, **kind, "p": p, **more}


def hidden_tree(columns: list[Column], states: int, seed: int) -> Graph:
    """A latent variable of so many states per column, in a random tree: full of dense blocks.

    Every state of a column's latent is a product of a leaf and, for each column below it, a sum
    over all states of that column's latent.
    """
    rng = np.random.default_rng(seed)
    builder = Builder(columns)
    parent = [int(rng.integers(i)) if i else -1 for i in range(len(columns))]
    sums: dict[int, list[int]] = {}
    for v in reversed(range(len(columns))):
        below = [sums[c] for c in range(len(columns)) if parent[c] == v]
        products = []
        for k in range(states):
            leaf = builder.leaf(v, Bernoulli(float(rng.uniform(0.05, 0.95))))
            products.append(builder.product([leaf, *(s[k] for s in below)]) if below else leaf)
        rows = 1 if parent[v] < 0 else states
        sums[v] = [
            builder.sum(products, [float(w) for w in rng.dirichlet(np.ones(states))])
            for _ in range(rows)
        ]
    builder.graph.graph["root"] = sums[0][0]
    return builder.graph
