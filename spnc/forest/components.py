"""One component after another: learned, fitted on its own if that is asked for, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spnc.backends import Backend
from spnc.common.deadline import Deadline
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.common.savepoints import Piece, Savepoints
from spnc.data.dataset import Dataset
from spnc.data.parted import PartedTable
from spnc.data.row_sums import Sums
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.pretraining import Refiner, fit_alone
from spnc.graph.circuit_arrays import compact
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Origin
from spnc.graph.stored_nodes import restore_nodes, stored_nodes
from spnc.learners import LearningTask
from spnc.leaves.smoothing import Smoothing
from spnc.training import Objective

if TYPE_CHECKING:
    from spnc.spec.recipe import Component

DONE = "done"  # the name that a finished component is kept under


@dataclass(eq=False)
class Components:
    """Adds components to one graph; what they have in common."""

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
        self.fits: dict[int, int] = {}  # the iteration that was kept, by component fitted alone
        self.builder = Builder(self.dataset.columns)

    def add(self, component: Component, index: int, learned: Piece | None = None) -> int | None:
        """Add a component: as a worker has learned it, as it was kept, or else learned now.

        Return its root, or None if a problem was reported.
        """
        name, where = component.learner.plugin_name, partial(component.span_of, "learner")
        self.builder.origin = Origin(f"component {index + 1}, {name}", where)
        if learned is not None:
            if (kept_iteration := learned.about.get("fit")) is not None:
                self.fits[index] = kept_iteration
            return self._restored_from(learned)
        own = self.kept_of(index)
        kept = self._restored(own, DONE)
        if kept is not None:
            return kept
        first = self.builder.next_name
        fitted = self._restored(own, "fitted")
        structure = fitted if fitted is not None else self._restored(own, "structure")
        root = structure if structure is not None else self._learned(component, index, own)
        if root is None:
            return None
        names = range(first, self.builder.next_name)
        make = partial(self._stored, names, root, self.builder.origin)
        alone = Forest(self.builder, (root,))
        if component.fit is not None and fitted is None:
            if structure is None:
                own.later("structure", make)
            assert self.backend is not None
            self.fits[index] = fit_alone(
                alone,
                self.dataset,
                self.smoothing_of(component),
                self.backend,
                component.fit,
                self.deadline,
                own,
            )
            own.cancel("structure")
        if component.refine:
            if fitted is None:
                own.later("fitted", make)
            self._refine(alone, component, index, own)
            own.cancel("fitted")
        own.later(DONE, make, replaces="")
        return root

    def smoothing_of(self, component: Component) -> Smoothing:
        """Return the smoothing that a component is learned and fitted alone with."""
        return component.smoothing or self.smoothing

    def kept_of(self, index: int) -> Savepoints:
        """Return where a component is kept."""
        return self.savepoints.within(f"component {index}, ")

    def _learned(self, component: Component, index: int, savepoints: Savepoints) -> int | None:
        """Learn the structure and the first parameters of a component."""
        dataset = self.dataset
        table = dataset.by_columns
        if component.bootstrap:
            table = _bootstrap_sample(table, random_stream(self.seed, "bootstrap", index))
        task = LearningTask(
            dataset.columns,
            table,
            self.smoothing_of(component),
            random_stream(self.seed, "component", index),
            self.builder,
            self.sink,
            dataset.in_memory("valid") if "valid" in dataset.splits else None,
            self.progress,
            self.deadline,
            savepoints.within("learning, "),
            self._sums(component),
            self.parted_rows_of(component),
        )
        root = component.learner.learn(task)
        compact(self.builder)
        return root

    def _sums(self, component: Component) -> Sums | None:
        """Return the sums over all rows that a component is learned from, if it has a sample."""
        sums = self.dataset.sums
        return None if sums is None else sums.of(component.reads, self.summing)

    def summing(self, label: str, done: int, total: int | None) -> None:
        """Report how far a sum over all rows has come, unless the time is over."""
        self.deadline.check()
        self.progress(label, done, total)

    def parted_rows_of(self, component: Component) -> PartedTable | None:
        """Return the training rows in partitions, if that is what a component is learned from."""
        rows = self.dataset.splits["train"]
        return rows if isinstance(rows, PartedTable) and "rows" in component.reads else None

    def _refine(
        self, alone: Forest, component: Component, index: int, savepoints: Savepoints
    ) -> None:
        """Fit a component to the objective."""
        assert self.backend is not None
        assert self.objective is not None
        own_seed = int(random_stream(self.seed, "refine", index).integers(1 << 63))
        refiner = Refiner(
            self.objective,
            self.dataset,
            self.smoothing_of(component),
            self.backend,
            self.sink,
            self.deadline,
        )
        refiner.refine(alone, own_seed, savepoints)

    def whole(self, root: int) -> Piece | None:
        """Return the only component, as arrays; None if it cannot be stored."""
        found = self._stored(range(self.builder.next_name), root, self.builder.origin)
        if found is None or not self.fits:
            return found
        (iteration,) = self.fits.values()
        return Piece({**found.about, "fit": iteration}, found.arrays)

    def _stored(self, names: range, root: int, origin: Origin | None) -> Piece | None:
        """Return the component with these nodes, for keeping."""
        found = stored_nodes(self.builder, names, origin)
        if found is None:
            return None
        return Piece({**found.about, "root": root - names.start}, found.arrays)

    def _restored(self, savepoints: Savepoints, name: str) -> int | None:
        """Add a component that was kept under this name. Return its root."""
        piece = savepoints.load(name)
        if piece is None:
            return None
        try:
            return self._restored_from(piece)
        except (LookupError, TypeError, ValueError) as error:
            savepoints.unusable(name, str(error) or type(error).__name__)
            return None

    def _restored_from(self, piece: Piece) -> int:
        """Add a stored component. Return its root.

        Raises LookupError, TypeError or ValueError if it is damaged.
        """
        root = piece.about["root"]
        if type(root) is not int or not 0 <= root < len(piece.arrays["kinds"]):
            raise ValueError("it has no root")
        return restore_nodes(self.builder, piece, self.builder.origin) + root


@dataclass(frozen=True, eq=False)
class OneByOne:
    """The components of a forest, learned in this process when they are asked for."""

    components: Components
    listed: Sequence[Component]

    def add(self, index: int) -> int | None:
        """Add a component. Return its root, or None if a problem was reported."""
        self.components.progress("components", index, len(self.listed))
        return self.components.add(self.listed[index], index)

    def close(self) -> None:
        """End the work: there is none under way."""


def _bootstrap_sample(table: Table, rng: np.random.Generator) -> Table:
    """Draw as many rows with replacement (bagging)."""
    rows = np.sort(rng.integers(table.rows, size=table.rows))
    return table.take(rows)
