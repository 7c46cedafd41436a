"""The forest: components learned one by one, and the sum on top (Algorithm 2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spnc.backends import Backend
from spnc.common.deadline import NEVER, Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Progress, silent
from spnc.common.rng import random_stream
from spnc.data.dataset import Dataset, Table
from spnc.diagnostics import Sink
from spnc.forest.pretraining import Refiner, fit_alone
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Graph, Origin
from spnc.learners import LearningTask
from spnc.leaves.smoothing import Smoothing
from spnc.training import Objective

if TYPE_CHECKING:
    from spnc.spec.recipe import Component


@gc_paused()
def grow(
    components: Sequence[Component],
    dataset: Dataset,
    *,
    smoothing: Smoothing,
    seed: int,
    sink: Sink,
    progress: Progress = silent,
    deadline: Deadline = NEVER,
    backend: Backend | None = None,
    objective: Objective | None = None,
) -> Forest:
    """Learn every component into one graph, each with its own random stream.

    Components whose learner reported a problem are left out. `backend` fits those that are to be
    fitted on their own, also to the `objective` if they say so.
    """
    builder = Builder(dataset.columns)
    table = dataset.by_columns
    roots: list[int] = []
    weights: list[float] = []
    total = sum(c.count for c in components)
    index = 0
    for component in components:
        name = component.learner.plugin_name
        for _ in range(component.count):
            deadline.check()
            progress("components", index, total)
            where = partial(component.span_of, "learner")
            builder.origin = Origin(f"component {index + 1}, {name}", where)
            task = LearningTask(
                dataset.columns,
                _bootstrap_sample(table, random_stream(seed, "bootstrap", index))
                if component.bootstrap
                else table,
                smoothing,
                random_stream(seed, "component", index),
                builder,
                sink,
                dataset.splits.get("valid"),
                progress,
                deadline,
            )
            root = component.learner.learn(task)
            if root is None:
                index += 1
                break  # the next copy would only report the same problem again
            alone = Forest(builder, (root,))
            if component.fit is not None:
                assert backend is not None
                fit_alone(alone, dataset, smoothing, backend, component.fit, deadline)
            if component.refine:
                assert backend is not None
                assert objective is not None
                own_seed = int(random_stream(seed, "refine", index).integers(1 << 63))
                refiner = Refiner(objective, dataset, smoothing, backend, sink, deadline)
                refiner.refine(alone, own_seed)
            roots.append(root)
            weights.append(component.weight)
            index += 1
    progress("components", total, total)
    equal = all(weight == weights[0] for weight in weights)
    return Forest(builder, tuple(roots), None if equal else tuple(weights))


def _bootstrap_sample(table: Table, rng: np.random.Generator) -> Table:
    """Draw as many rows with replacement (bagging)."""
    rows = np.sort(rng.integers(table.rows, size=table.rows))
    return table.take(rows)


def add_top_sum(forest: Forest) -> Graph:
    """Add a sum over all components as the root, weighted by their shares. Return the graph."""
    builder = forest.builder
    builder.origin = Origin("the sum over the forest's components")
    builder.graph.graph["root"] = builder.sum(forest.roots, forest.shares)
    return builder.graph
