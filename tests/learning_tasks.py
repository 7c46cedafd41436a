"""Learning tasks: a learner run on a table, outside of a forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder, Graph
from spnc.learners import Learner, LearningTask
from spnc.leaves.smoothing import Smoothing


def learning_task(
    columns: Sequence[Column], table: Table, seed: int = 0, alpha: float = 0.1
) -> LearningTask:
    """Return what a learner would be given."""
    rng = np.random.default_rng(seed)
    return LearningTask(tuple(columns), table, Smoothing.of(alpha), rng, Builder(columns), Sink())


def learn(
    learner: Learner, columns: Sequence[Column], table: Table, seed: int = 0, alpha: float = 0.1
) -> Graph:
    """Return the component that a learner learns."""
    task = learning_task(columns, table, seed, alpha)
    task.builder.graph.graph["root"] = learner.learn(task)
    return task.builder.graph


def binary(count: int) -> list[Column]:
    """Return columns of zeros and ones."""
    return [Column(f"x{i}") for i in range(count)]
