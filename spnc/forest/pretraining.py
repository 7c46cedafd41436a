"""Fitting a forest, or some of its components, before the whole is put together and trained.

Before links are judged, a few iterations of EM tell nodes apart: those of randomly split components
are all alike until their parameters are fitted, and no link between them is worth much. Components
with `fit` or `refine` are fitted on their own: the mean of several that err in different ways is
better than one large model, and others in the forest may not have to be changed at all.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from spnc.backends import Backend
from spnc.backends.parted import open_engine
from spnc.common.deadline import NEVER, Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import silent
from spnc.common.savepoints import NOTHING_KEPT, Piece, Savepoints
from spnc.data.dataset import Dataset
from spnc.data.parted import Rows
from spnc.diagnostics import Sink
from spnc.graph.equality import representatives
from spnc.graph.forest import Forest
from spnc.graph.nodes import Leaf, Sum, below, children, children_first, payloads
from spnc.leaves.smoothing import Smoothing
from spnc.passes.share import share_tied
from spnc.program.lift import lift
from spnc.program.lower import lower_with_numbers
from spnc.program.program import Parameters
from spnc.program.validity import parameter_problems
from spnc.training import FitTask, Objective, State
from spnc.training.m_step import m_step
from spnc.training.stored_state import (
    restored_parameters,
    restored_state,
    stored_parameters,
    stored_state,
)

PATIENCE = 5  # iterations of EM without a better log-likelihood of the validation rows


@gc_paused()
def pretrain(
    forest: Forest,
    train: Rows,
    smoothing: Smoothing,
    backend: Backend,
    iterations: int,
    savepoints: Savepoints = NOTHING_KEPT,
    deadline: Deadline = NEVER,
) -> None:
    """Run EM on the forest without links, and change the parameters of its nodes in place.

    `train` has distinct rows with weights.
    """
    if iterations == 0:
        return
    work = Work(forest)
    engine = open_engine(backend, work.program)
    batch, parameters, done = engine.load(train), work.parameters, 0
    kept = _restored(savepoints, "warm-up", work)
    if kept is not None and kept.iteration <= iterations:
        parameters, done = kept.parameters, kept.iteration
    for iteration in range(done, iterations):
        deadline.check()
        counts = engine.expected_counts(parameters, batch)
        parameters = m_step(work.program, parameters, counts, smoothing)
        if savepoints.is_due():
            _Progress(iteration + 1, parameters, parameters, 0, None).save(savepoints, "warm-up")
    work.put_back(parameters)


@gc_paused()
def fit_alone(
    forest: Forest,
    dataset: Dataset,
    smoothing: Smoothing,
    backend: Backend,
    iterations: int,
    deadline: Deadline = NEVER,
    savepoints: Savepoints = NOTHING_KEPT,
) -> int:
    """Run EM on a forest, usually of one component, and change its nodes in place.

    With validation rows, the best iteration is kept, and EM ends when `PATIENCE` iterations have
    brought nothing better. Return the iteration that was kept.
    """
    work = Work(forest)
    backend.prepare(work.program, silent)
    distinct = dataset.distinct
    rows = distinct.get("valid")
    engine = open_engine(backend, work.program)
    train = engine.load(distinct["train"])
    valid = None if rows is None else engine.load(rows)
    now = _restored(savepoints, "fit", work) or _Progress(
        0, work.parameters, work.parameters, 0, None
    )
    parameters, best = now.parameters, now.best
    best_iteration, best_score = now.best_iteration, now.best_score
    for iteration in range(now.iteration, iterations + 1):
        deadline.check()
        if valid is not None and rows is not None:
            score = engine.score(parameters, valid).rank
            if best_score is None or score > best_score:
                best, best_score, best_iteration = parameters, score, iteration
            elif iteration - best_iteration >= PATIENCE:
                break
        if iteration < iterations:
            counts = engine.expected_counts(parameters, train)
            parameters = m_step(work.program, parameters, counts, smoothing)
        if savepoints.is_due():
            now = _Progress(iteration + 1, parameters, best, best_iteration, best_score)
            now.save(savepoints, "fit")
    work.put_back(parameters if valid is None else best)
    return iterations if valid is None else best_iteration


@dataclass(frozen=True, eq=False)
class _Progress:
    """How far EM has come on a forest."""

    iteration: int  # the next
    parameters: Parameters
    best: Parameters
    best_iteration: int
    best_score: tuple[float, float] | None

    def save(self, savepoints: Savepoints, name: str) -> None:
        """Keep this, in case the run is killed."""
        about = {
            "iteration": self.iteration,
            "best_iteration": self.best_iteration,
            "best_score": self.best_score,
        }
        arrays = stored_parameters("", self.parameters) | stored_parameters("best.", self.best)
        savepoints.save(name, Piece(about, arrays))


def _restored(savepoints: Savepoints, name: str, work: Work) -> _Progress | None:
    """Return how far EM had come when the run was killed, if that was kept."""
    piece = savepoints.load(name)
    if piece is None:
        return None
    try:
        about = piece.about
        iteration, best_iteration = about["iteration"], about["best_iteration"]
        if not 0 <= best_iteration <= iteration:
            raise ValueError("its iterations are not those of a fit")
        score = about["best_score"]
        if score is not None:
            score = (float(score[0]), float(score[1]))
        parameters = restored_parameters("", piece.arrays, work.parameters)
        best = restored_parameters("best.", piece.arrays, work.parameters)
        problems = [
            p for each in (parameters, best) for p in parameter_problems(work.program, each)
        ]
        if problems:
            raise ValueError(problems[0])
    except (LookupError, TypeError, ValueError) as error:
        savepoints.unusable(name, str(error) or type(error).__name__)
        return None
    return _Progress(iteration, parameters, best, best_iteration, score)


@dataclass(frozen=True, eq=False)
class Refiner:
    """Fits forests, usually of one component, to an objective, and changes their nodes in place."""

    objective: Objective
    dataset: Dataset
    smoothing: Smoothing
    backend: Backend
    sink: Sink
    deadline: Deadline = NEVER

    @gc_paused()
    def refine(self, forest: Forest, seed: int, savepoints: Savepoints = NOTHING_KEPT) -> None:
        """Fit the parameters of a forest; leave them if a problem was reported."""
        work = Work(forest)
        self.backend.prepare(work.program, silent)
        distinct = self.dataset.distinct

        def monitor(state: State) -> None:
            self.deadline.check()
            if savepoints.is_due():
                savepoints.save("refining", stored_state(state))

        task = FitTask(
            open_engine(self.backend, work.program),
            work.parameters,
            distinct["train"],
            distinct.get("valid"),
            self.smoothing,
            self.sink,
            seed,
            self._kept_state(savepoints, work),
            monitor,
        )
        fitted = self.objective.refine(task)
        if fitted is not None:
            work.put_back(fitted.parameters)

    def _kept_state(self, savepoints: Savepoints, work: Work) -> State | None:
        piece = savepoints.load("refining")
        if piece is None:
            return None
        try:
            return restored_state(piece, work.parameters)
        except (LookupError, TypeError, ValueError) as error:
            savepoints.unusable("refining", str(error) or type(error).__name__)
            return None


class Work:
    """A forest lowered for fitting, and where the fitted parameters belong."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        graph = forest.builder.graph
        own = set(below(graph, *forest.roots))
        work = (graph if len(own) == len(graph) else graph.subgraph(own)).copy()
        work.add_node("top", node=Sum())
        edges = zip(forest.roots, forest.shares, strict=True)
        work.add_weighted_edges_from(("top", root, share) for root, share in edges)
        work.graph["root"] = "top"
        # As in training, an edge of weight zero is absent, and keeps its weight.
        weighed = [(n, c, data.get("weight")) for n, c, data in work.edges(data=True)]
        work.remove_edges_from([(n, c) for n, c, weight in weighed if weight == 0.0])
        self.reached = set(below(work, "top"))
        work.remove_nodes_from([n for n in work if n not in self.reached])
        self.same = representatives(work, children_first(work), finished=False)
        self.program, self.parameters, self.number = lower_with_numbers(share_tied(work))

    def put_back(self, parameters: Parameters) -> None:
        """Change the parameters of the forest's nodes."""
        fitted = lift(self.program, parameters)
        payload, weights = payloads(fitted), children(fitted)
        number, same = self.number, self.same
        graph = self.forest.builder.graph
        below_each = children(graph)
        for n in self.reached - {"top"}:
            own, edges, at = graph.nodes[n], below_each[n], number[same[n]]
            if isinstance(own["node"], Leaf):
                found: Any = payload[at]
                own["node"] = replace(own["node"], distribution=found.distribution)
            elif isinstance(own["node"], Sum):
                kept = {c: data["weight"] for c, data in edges.items() if data["weight"] > 0.0}
                for child, weight in self._untied(kept, weights[at]).items():
                    edges[child]["weight"] = weight

    def _untied(self, before: dict[Any, float], fitted: Any) -> dict[Any, float]:
        """Return the fitted weights of a sum's children.

        Tied children have become one child, whose weight is the sum of theirs.
        """
        together: dict[int, float] = defaultdict(float)
        for child, weight in before.items():
            together[self.number[self.same[child]]] += weight
        found = {}
        for child, weight in before.items():
            one = self.number[self.same[child]]
            found[child] = weight * (fitted[one]["weight"] / together[one])
        return found
