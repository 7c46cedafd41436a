"""The stages in order, on one page. This is the only place that knows which follows which.

    spec -> Recipe -> Dataset -> Forest -> linked -> Graph -> checked -> passes
         -> Program -> Engine -> fitted -> Model -> scores

Every stage reports what it finds into one sink; `sink.stop()` after it ends the run if any of
that is an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from spnc import checks, passes
from spnc.backends import Backend
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.diagnostics import Sink
from spnc.fitting import Fitting
from spnc.forest import crown, grow
from spnc.garbage import uncollected
from spnc.graph.nodes import Graph
from spnc.lock import check_lock, recipe_text, versions
from spnc.lower import lower
from spnc.model import Model
from spnc.program import Parameters, Program
from spnc.residuals import Linking
from spnc.score import Score
from spnc.spec.recipe import Recipe
from spnc.streams import stream
from spnc.training import Fitted, State
from spnc.warm_up import warm_up
from spnc.watch import Watch

Dump = Callable[[str, Graph], None]  # called with a stage's name and the graph it left


@dataclass(eq=False)
class Compiled:
    """A recipe turned into a program that is ready for training."""

    recipe: Recipe
    dataset: Dataset
    program: Program
    parameters: Parameters
    seconds: dict[str, float] = field(default_factory=dict)

    def model(self) -> Model:
        """The model before training."""
        return _model(self, self.parameters, self.recipe.backend)


@dataclass(eq=False)
class Trained:
    """A trained model, how training went, and how well every split is explained."""

    model: Model
    fitted: Fitted
    scores: dict[str, Score]
    metrics: dict[str, Any]


@uncollected()
def compile_recipe(
    recipe: Recipe, sink: Sink, watch: Watch | None = None, dump: Dump | None = None
) -> Compiled:
    """Structure, links, checks, passes, lowering; no parameter training."""
    watch = watch or Watch()
    seconds: dict[str, float] = {}

    watch.stage("reading data")
    with _timed(seconds, "data"):
        dataset = load(recipe.data, sink, progress=watch.progress)
        sink.stop()
        assert dataset is not None
        check_lock(recipe, dataset, sink)
        recipe.residual.verify(dataset, sink)
        sink.stop()

    watch.stage("learning structure")
    with _timed(seconds, "structure"):
        forest = grow(
            recipe.forest,
            dataset,
            smoothing=recipe.smoothing,
            seed=recipe.seed,
            sink=sink,
            progress=lambda done, total: watch.progress("components", done, total),
        )
        sink.stop()

    watch.stage("drawing residual links")
    with _timed(seconds, "residual"):
        rng = stream(recipe.seed, "residual")
        warm = partial(warm_up, forest, dataset.train, recipe.smoothing, recipe.backend.resolved())
        task = Linking(forest, dataset, rng, sink, watch.progress, warm)
        forest = recipe.residual.link(task)
        sink.stop()

    watch.stage("checking and lowering")
    with _timed(seconds, "compile"):
        graph = crown(forest)
        if dump is not None:
            dump("forest", graph)
        checks.check(graph, sink)
        sink.stop()
        program, parameters = lower_graph(graph, dump, keep=False)
    return Compiled(recipe, dataset, program, parameters, seconds)


@uncollected()
def lower_graph(
    graph: Graph, dump: Dump | None = None, *, keep: bool = True
) -> tuple[Program, Parameters]:
    """Passes and lowering of a checked graph, which is left as it was if it is to be kept."""
    return lower(passes.run(graph, passes.BEFORE_TRAINING, dump, keep=keep))


def train_compiled(
    compiled: Compiled,
    sink: Sink,
    watch: Watch | None = None,
    *,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Trained:
    """Fit the parameters, finish the model, score every split. `keep` sees every iteration."""
    watch = watch or Watch()
    recipe, splits = compiled.recipe, compiled.dataset.splits
    seconds = dict(compiled.seconds)
    backend = recipe.backend.resolved()

    watch.stage("preparing the backend")
    with _timed(seconds, "prepare"):
        backend.prepare(compiled.program, watch.progress)

    watch.stage("training")
    with _timed(seconds, "train"):
        distinct = {name: table.distinct() for name, table in splits.items()}
        fitting = Fitting(recipe, backend, distinct, sink, watch, keep)
        outcome = fitting.run(compiled.program, compiled.parameters, resume)
        sink.stop()
        assert outcome is not None
        fitted = outcome.fitted
        compiled = replace(compiled, program=outcome.program)
        model = _model(compiled, fitted.parameters, backend).finished()

    watch.stage("evaluating")
    with _timed(seconds, "evaluate"):
        scores = {
            name: model.engine.score(model.parameters, model.engine.load(table, once=True))
            for name, table in distinct.items()
        }
        _report_impossible_rows(scores, sink)

    seconds["total"] = sum(seconds.values())
    metrics = {
        "splits": {name: score.as_json(splits[name].rows) for name, score in scores.items()},
        "model": model.program.facts(),
        "optimizer": {
            "method": recipe.optimizer.plugin_name,
            "iterations": fitted.history[-1].iteration,
            "stopped": fitted.stopped,
            "kept": fitted.kept,
            "kept_iteration": fitted.kept_iteration,
        },
        **({"prune": outcome.pruning} if outcome.pruning is not None else {}),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "backend": backend.plugin_name,
        "seed": recipe.seed,
    }
    return Trained(model, fitted, scores, metrics)


def _model(compiled: Compiled, parameters: Parameters, backend: Backend) -> Model:
    provenance = {
        "recipe": recipe_text(compiled.recipe),
        "data": compiled.dataset.digest,
        "versions": versions(),
    }
    return Model(compiled.recipe.model, compiled.program, parameters, provenance, backend)


def _report_impossible_rows(scores: dict[str, Score], sink: Sink) -> None:
    bad = {name: s for name, s in scores.items() if s.impossible > 0}
    if bad:
        sink.warning(
            "W401",
            "the model gives some rows probability zero; averages leave them out",
            notes=[
                f"{name}: {int(s.impossible):,} of {int(s.impossible + s.possible):,} rows"
                for name, s in bad.items()
            ],
            help="a `smoothing` above 0 leaves nothing impossible",
        )


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began
