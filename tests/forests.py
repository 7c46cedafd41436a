"""Small random forests, and what tests of residual strategies need around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spnc.backends.numba import NumbaBackend
from spnc.backends.numpy import NumpyBackend
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.pretraining import pretrain
from spnc.graph.copying import copy_below
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Origin, Product
from spnc.leaves.smoothing import Smoothing
from spnc.residuals import LinkingTask
from spnc.testing.forests import linking_task, small_forest
from tests.circuits import random_circuit, random_rows

__all__ = ["circuits_forest", "linking", "small_forest"]


def linking(
    forest: Forest, dataset: Dataset, seed: int = 0, sink: Sink | None = None
) -> LinkingTask:
    """What a strategy is given."""
    rows = dataset.distinct["train"]
    task = linking_task(
        forest,
        dataset,
        seed,
        lambda iterations: pretrain(forest, rows, Smoothing.of(0.1), NumpyBackend(), iterations),
        NumbaBackend(),
    )
    return replace(task, sink=sink) if sink is not None else task


def circuits_forest(seed: int, components: int = 3) -> tuple[Forest, Dataset]:
    """Random DAGs with shared nodes, zeros and ties among them, and no rows behind their nodes."""
    rng = np.random.default_rng(seed)
    first = random_circuit(seed, variables=5, depth=5, share=0.5, extremes=True, binary_only=True)
    columns = first.graph["columns"]
    values = random_rows(seed, columns, 60, missing=0.05)
    tables = {"train": Table(values), "valid": Table(values[:20])}
    builder, roots = Builder(columns), []
    for i in range(components):
        graph = random_circuit(
            seed + 1000 * i, variables=5, depth=5, share=0.5, extremes=True, binary_only=True
        )
        builder.origin = Origin(f"component {i + 1}")
        root = graph.graph["root"]
        if i != 1:
            roots.append(copy_below(builder, graph, root)[root])
            continue
        # The second has its circuit twice, all of it tied: a mixture of one thing with itself.
        for n, data in graph.nodes(data=True):
            if not isinstance(data["node"], Product):
                data["node"] = replace(data["node"], tie=f"n{n}")
        twice = [copy_below(builder, graph, root)[root] for _ in range(2)]
        share = float(rng.random())
        roots.append(builder.sum(twice, [share, 1.0 - share]))
    return Forest(builder, tuple(roots)), Dataset("random", columns, tables)
