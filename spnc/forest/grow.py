"""The forest: components learned one by one, and the sum on top (Algorithm 2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spnc.backends import Backend
from spnc.common.deadline import NEVER, Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Progress, silent
from spnc.common.rng import random_stream
from spnc.common.savepoints import NOTHING_KEPT, Piece, Savepoints
from spnc.data.dataset import Dataset, Table
from spnc.diagnostics import Sink
from spnc.forest.pretraining import Refiner, fit_alone
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Graph, Origin
from spnc.graph.stored_nodes import restore_nodes, stored_nodes
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
    savepoints: Savepoints = NOTHING_KEPT,
) -> Forest:
    """Learn every component into one graph, each with its own random stream.

    Components whose learner reported a problem are left out. `backend` fits those that are to be
    fitted on their own, also to the `objective` if they say so. Components are kept in
    `savepoints`, so that they are not learned again when the run is resumed.
    """
    growing = _Growing(
        dataset, smoothing, seed, sink, progress, deadline, backend, objective, savepoints
    )
    roots: list[int] = []
    weights: list[float] = []
    total = sum(c.count for c in components)
    index = 0
    for component in components:
        for _ in range(component.count):
            deadline.check()
            progress("components", index, total)
            root = growing.component(component, index)
            index += 1
            if root is None:
                break  # the next copy would only report the same problem again
            roots.append(root)
            weights.append(component.weight)
    progress("components", total, total)
    equal = all(weight == weights[0] for weight in weights)
    return Forest(growing.builder, tuple(roots), None if equal else tuple(weights))


@dataclass(eq=False)
class _Growing:
    """What the components of a forest have in common."""

    dataset: Dataset
    smoothing: Smoothing
    seed: int
    sink: Sink
    progress: Progress
    deadline: Deadline
    backend: Backend | None
    objective: Objective | None
    savepoints: Savepoints

    def __post_init__(self) -> None:
        self.builder = Builder(self.dataset.columns)

    def component(self, component: Component, index: int) -> int | None:
        """Add a component, as it was kept or else learned now. Return its root."""
        name, where = component.learner.plugin_name, partial(component.span_of, "learner")
        self.builder.origin = Origin(f"component {index + 1}, {name}", where)
        own = self.savepoints.within(f"component {index}, ")
        kept = self._restored(own, "done")
        if kept is not None:
            return kept
        first = self.builder.next_name
        fitted = self._restored(own, "fitted")
        structure = fitted if fitted is not None else self._restored(own, "structure")
        root = structure if structure is not None else self._learned(component, index, own)
        if root is None:
            return None
        make = partial(self._stored, range(first, self.builder.next_name), root)
        alone = Forest(self.builder, (root,))
        if component.fit is not None and fitted is None:
            if structure is None:
                own.later("structure", make)
            assert self.backend is not None
            fit_alone(
                alone, self.dataset, self.smoothing, self.backend, component.fit, self.deadline, own
            )
            own.cancel("structure")
        if component.refine:
            if fitted is None:
                own.later("fitted", make)
            self._refine(alone, index, own)
            own.cancel("fitted")
        own.later("done", make, replaces="")
        return root

    def _learned(self, component: Component, index: int, savepoints: Savepoints) -> int | None:
        """Learn the structure and the first parameters of a component."""
        dataset = self.dataset
        table = dataset.by_columns
        if component.bootstrap:
            table = _bootstrap_sample(table, random_stream(self.seed, "bootstrap", index))
        task = LearningTask(
            dataset.columns,
            table,
            self.smoothing,
            random_stream(self.seed, "component", index),
            self.builder,
            self.sink,
            dataset.splits.get("valid"),
            self.progress,
            self.deadline,
            savepoints.within("learning, "),
        )
        return component.learner.learn(task)

    def _refine(self, alone: Forest, index: int, savepoints: Savepoints) -> None:
        """Fit a component to the objective."""
        assert self.backend is not None
        assert self.objective is not None
        own_seed = int(random_stream(self.seed, "refine", index).integers(1 << 63))
        refiner = Refiner(
            self.objective, self.dataset, self.smoothing, self.backend, self.sink, self.deadline
        )
        refiner.refine(alone, own_seed, savepoints)

    def _stored(self, names: range, root: int) -> Piece | None:
        """Return the component with these nodes, for keeping."""
        found = stored_nodes(self.builder, names, self.builder.graph.nodes[root]["node"].origin)
        if found is None:
            return None
        return Piece({**found.about, "root": root - names.start}, found.arrays)

    def _restored(self, savepoints: Savepoints, name: str) -> int | None:
        """Add a component that was kept under this name. Return its root."""
        piece = savepoints.load(name)
        if piece is None:
            return None
        try:
            root = piece.about["root"]
            if type(root) is not int or not 0 <= root < len(piece.arrays["kinds"]):
                raise ValueError("it has no root")
            return restore_nodes(self.builder, piece, self.builder.origin) + root
        except (LookupError, TypeError, ValueError) as error:
            savepoints.unusable(name, str(error) or type(error).__name__)
            return None


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
