"""Components learned side by side by workers, which return them as arrays.

A component depends on the data, its options and its number, not on the others: each has random
streams of its own. So it is the same wherever it is learned.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from spnc.backends import Backend
from spnc.common.deadline import Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.savepoints import NOTHING_KEPT, Piece
from spnc.common.workers import Check, Workers, here_first
from spnc.data.dataset import Dataset
from spnc.diagnostics import Diagnostic, Sink
from spnc.forest.components import DONE, Components
from spnc.leaves.smoothing import Smoothing
from spnc.training import Objective

if TYPE_CHECKING:
    from spnc.spec.recipe import Component


@dataclass(frozen=True, eq=False)
class _Task:
    """A component to learn."""

    component: Component
    index: int
    dataset: Dataset
    smoothing: Smoothing
    seed: int
    ends: float  # when the deadline is, on `time.time`, which other machines have too
    backend: Backend | None
    objective: Objective | None


@dataclass(frozen=True, eq=False)
class Learned:
    """What became of a component."""

    piece: Piece | None  # None if it failed, or was kept, or cannot be stored as arrays
    failed: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


class _Checking(Deadline):
    """A deadline that also checks whatever else the work has to keep to."""

    def __init__(self, ends: float, check: Check) -> None:
        super().__init__(lambda: ends - time.time())
        self._other = check

    def check(self) -> None:
        """Raise `OutOfTimeError` if the deadline has passed, or what the other check raises."""
        super().check()
        self._other()


@gc_paused()
def learn(task: _Task, check: Check) -> Learned:
    """Learn a component."""
    sink = Sink()
    components = Components(
        task.dataset,
        task.smoothing,
        task.seed,
        sink,
        lambda *_: check(),
        _Checking(task.ends, check),
        task.backend,
        task.objective,
        NOTHING_KEPT,
    )
    root = components.add(task.component, task.index)
    if root is None:
        return Learned(None, failed=True, diagnostics=tuple(sink.diagnostics))
    piece = components.whole(root)
    return Learned(piece, diagnostics=tuple(sink.diagnostics) if piece is not None else ())


class SideBySide:
    """The components of a forest as workers learn them, or as they were kept."""

    def __init__(
        self, components: Components, listed: Sequence[Component], workers: Workers
    ) -> None:
        """`listed` has every component, in the order of the forest."""
        self._components, self._listed = components, listed
        numbers = range(len(listed))
        missing = [i for i in numbers if components.kept_of(i).load(DONE) is None]
        self._todo = [i for i in missing if not self._is_learned_here(listed[i])]
        self._found = {i: Learned(None) for i in numbers if i not in self._todo}
        self._done = len(listed) - len(missing)
        fits = any(each.fit is not None or each.refine for each in listed)
        rows = _rows_to_learn_from(components.dataset, fits=fits)
        sums = components.dataset.sums
        if sums is not None:  # computed here, once, and not by every worker
            reads = (listed[index].reads for index in self._todo)
            vars(rows)["sums"] = sums.known_for(reads, components.summing)
        tasks = [self._task(listed[index], index, rows) for index in self._todo]
        self._results = here_first(workers, learn, tasks)

    def add(self, index: int) -> int | None:
        """Add a component once it is learned. Return its root, or None if a problem was reported.

        Components are added in their order, so that nodes have the names that they always have.
        """
        learned = self._taken(index)
        self._components.sink.diagnostics += learned.diagnostics
        if learned.failed:
            return None
        return self._components.add(self._listed[index], index, learned.piece)

    def _is_learned_here(self, component: Component) -> bool:
        """Whether a component reads all partitions, which workers may not reach.

        What it computes of them is divided among the workers of a cluster anyway.
        """
        return self._components.parted_rows_of(component) is not None

    def close(self) -> None:
        """End the work that is not finished."""
        self._results.close()

    def _taken(self, index: int) -> Learned:
        """Wait for a component; keep those that are finished before it."""
        while index not in self._found:
            place, learned = next(self._results)
            number = self._todo[place]
            self._found[number] = learned
            if learned.piece is not None:
                kept = self._components.kept_of(number)
                kept.later(DONE, partial(_itself, learned.piece), replaces="")
            self._done += 1
            self._components.progress("components", self._done, len(self._listed))
            self._components.deadline.check()
        return self._found.pop(index)

    def _task(self, component: Component, index: int, rows: Dataset) -> _Task:
        own = self._components
        return _Task(
            component,
            index,
            rows,
            own.smoothing,
            own.seed,
            time.time() + own.deadline.left(),
            own.backend,
            own.objective,
        )


def _rows_to_learn_from(dataset: Dataset, *, fits: bool) -> Dataset:
    """Return what learners read of a dataset, and what fitting reads if a component is fitted."""
    splits = {"train": dataset.by_columns}
    if "valid" in dataset.splits:
        splits["valid"] = dataset.in_memory("valid")
    found = replace(dataset, splits=splits)
    if fits:  # computed once, here: this is where the cached property looks
        vars(found)["distinct"] = {name: dataset.distinct[name] for name in splits}
    return found


def _itself(piece: Piece) -> Piece:
    return piece
