"""The forest: components learned one by one, and the sum on top (Algorithm 2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from spnc.backends import Backend
from spnc.common.deadline import NEVER, Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Progress, silent
from spnc.common.savepoints import NOTHING_KEPT, Savepoints
from spnc.common.workers import SERIAL, Workers
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.forest.components import Components, OneByOne
from spnc.forest.shares import with_fitted_shares
from spnc.forest.side_by_side import SideBySide
from spnc.graph.forest import Forest
from spnc.graph.nodes import Graph, Origin, Sum
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
    workers: Workers = SERIAL,
    fits_shares: bool = False,
) -> Forest:
    """Learn every component into one graph, each with its own random stream.

    Components whose learner reported a problem are left out. `backend` fits those that are to be
    fitted on their own, also to the `objective` if they say so. Components are kept in
    `savepoints`, so that they are not learned again when the run is resumed. `workers` learn them
    side by side, with the same result. With `fits_shares`, validation rows say what each entry
    counts in the sum on top.
    """
    made = Components(
        dataset, smoothing, seed, sink, progress, deadline, backend, objective, savepoints
    )
    roots: list[int] = []
    weights: list[float] = []
    entries: list[int] = []
    numbers = [i for i, component in enumerate(components) for _ in range(component.count)]
    listed = [component for component in components for _ in range(component.count)]
    total = len(listed)
    side_by_side = workers.count > 1 and total > 1
    source = SideBySide(made, listed, workers) if side_by_side else OneByOne(made, listed)
    failed: Component | None = None
    with closing(source):
        for index, component in enumerate(listed):
            if component is failed:
                continue  # the next copy would only report the same problem again
            deadline.check()
            root = source.add(index)
            if root is None:
                failed = component
                continue
            roots.append(root)
            weights.append(component.weight)
            entries.append(numbers[index])
    progress("components", total, total)
    equal = all(weight == weights[0] for weight in weights)
    fits = tuple((numbers[index], kept) for index, kept in sorted(made.fits.items()))
    forest = Forest(
        made.builder, tuple(roots), None if equal else tuple(weights), tuple(entries), fits
    )
    if fits_shares and len(set(entries)) > 1 and backend is not None:
        valid = dataset.distinct_in_memory["valid"]
        forest = with_fitted_shares(forest, entries, valid, backend)
    return forest


def put_top_sum(forest: Forest) -> None:
    """Add a sum over all components as the root, weighted by their shares."""
    builder = forest.builder
    builder.origin = Origin("the sum over the forest's components")
    first = builder.next_name
    edges = zip(forest.roots, forest.shares, strict=True)
    top = builder.extend([Sum(0.0, builder.origin)], ((0, c - first, w) for c, w in edges))
    builder.declare_root(top)


def add_top_sum(forest: Forest) -> Graph:
    """Do the same, and return the graph."""
    put_top_sum(forest)
    return forest.builder.graph
