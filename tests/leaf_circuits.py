"""Circuits with every kind of leaf, for tests of what has to know all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.graph.nodes import Builder, Graph
from spnc.registry import LEAVES
from spnc.testing.leaf_cases import LeafCase

KINDS = sorted(LEAVES)


def leaf_circuit(seed: int, kinds: Sequence[str] = KINDS) -> tuple[Graph, Floats]:
    """A mixture of products over one column per kind of leaf, and rows of it.

    The rows have values of the columns, samples of the leaves, values outside of their support,
    and missing cells.
    """
    rng = np.random.default_rng(seed)
    cases = [LeafCase.of(LEAVES[kind], int(rng.integers(10**6))) for kind in kinds]
    columns = [_named(case.column, f"x{i}") for i, case in enumerate(cases)]
    builder = Builder(columns)
    products = []
    for k in range(len(cases[0].table)):
        leaves = [builder.leaf(i, c.leaf.from_row(c.table[k])) for i, c in enumerate(cases)]
        products.append(builder.product(leaves))
    root = builder.sum(products, rng.dirichlet(np.ones(len(products))).tolist())
    builder.graph.graph["root"] = root
    return builder.graph, np.stack([_values(case, rng) for case in cases], axis=1)


def _named(column: Column, name: str) -> Column:
    unit = "days" if column.kind == "date" else ""
    return replace(column, name=name, unit=unit)


def _values(case: LeafCase, rng: np.random.Generator) -> Floats:
    parts: Iterable[Floats] = (case.some_values(20, 1)[0], case.samples(5).reshape(-1))
    values = np.concatenate([*parts])
    if not case.leaf.is_finite:
        values = np.concatenate([values, [0.0, 1.0, values.max() * 3.0 + 1.0, -1.0]])
        values = values if case.column.kind != "count" else np.maximum(np.rint(values), 0.0)
    else:
        values = np.concatenate([values, values[:4]])
    values[rng.random(len(values)) < 0.2] = np.nan
    return values
