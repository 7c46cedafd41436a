"""The stages in order, on one page. This is the only place that knows which follows which.

    spec -> Recipe -> Dataset -> Forest -> linked -> Graph -> checked -> passes
         -> Program -> Engine -> fitted -> Model -> scores

Every stage reports what it finds into one sink; `sink.stop()` after it ends the run if any of
that is an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from spnc import checks, passes
from spnc.backends import Backend
from spnc.backends.auto import passed_over
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer, Stage
from spnc.common.rng import random_stream
from spnc.data.dataset import Dataset, Table
from spnc.data.load import load
from spnc.diagnostics import Sink
from spnc.forest.grow import crown, grow
from spnc.forest.pretraining import warm_up
from spnc.graph.nodes import Graph
from spnc.model import Model
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.program.score import Score
from spnc.registry.usage import plugin_record, used_plugins
from spnc.residuals import LinkingTask
from spnc.runs.lock import check_lock, recipe_text, versions
from spnc.runs.outcome import Outcome
from spnc.search.compile_cache import Shelf
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import one_recipe_only
from spnc.training import OUT_OF_TIME, Enough, Fitted, State
from spnc.training.fit import Fitting

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
    """A trained model, how training went, and how well every split is explained.

    `recipe` makes the same model: where training was ended early, it says after how many
    iterations. After a search it is the chosen one, and `tries` has all of them.
    """

    recipe: Recipe
    model: Model
    fitted: Fitted
    scores: dict[str, Score]
    metrics: dict[str, Any]
    tries: tuple[Outcome, ...] = ()


@gc_paused()
def compile_recipe(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    dump: Dump | None = None,
    shelf: Shelf | None = None,
) -> Compiled:
    """Structure, links, checks, passes, lowering; no parameter training.

    What lies on the shelf is not made again.
    """
    observer, shelf = observer or Observer(), shelf or Shelf()
    seconds: dict[str, float] = {}
    one_recipe_only(recipe, sink)
    sink.stop()

    observer.stage(Stage.DATA)
    with _timed(seconds, "data"):
        dataset = shelf.dataset(lambda: load(recipe.data, sink, progress=observer.progress))
        sink.stop()
        assert dataset is not None
        check_lock(recipe, dataset, sink)
        recipe.residual.verify(dataset, sink)
        sink.stop()

    observer.stage(Stage.STRUCTURE)
    with _timed(seconds, "structure"):
        forest = shelf.forest(
            recipe,
            lambda: grow(
                recipe.forest,
                dataset,
                smoothing=recipe.smoothing,
                seed=recipe.seed,
                sink=sink,
                progress=observer.progress,
            ),
        )
        sink.stop()

    observer.stage(Stage.LINKS)
    with _timed(seconds, "residual"):
        rng = random_stream(recipe.seed, "residual")
        rows, backend = dataset.distinct["train"], recipe.backend.resolved()
        warm = partial(warm_up, forest, rows, recipe.smoothing, backend)
        task = LinkingTask(forest, dataset, rng, sink, observer.progress, warm)
        forest = recipe.residual.link(task)
        sink.stop()

    observer.stage(Stage.LOWERING)
    with _timed(seconds, "compile"):
        graph = crown(forest)
        if dump is not None:
            dump("forest", graph)
        checks.check(graph, sink)
        sink.stop()
        program, parameters = lower_graph(graph, dump, keep=False)
    return Compiled(recipe, dataset, program, parameters, seconds)


def need_backend(recipe: Recipe, sink: Sink) -> None:
    """Report a backend that cannot run here: before training, not after an hour of learning."""
    trouble = recipe.backend.why_not()
    if trouble is not None:
        sink.diagnostics.append(trouble)


@gc_paused()
def lower_graph(
    graph: Graph, dump: Dump | None = None, *, keep: bool = True
) -> tuple[Program, Parameters]:
    """Passes and lowering of a checked graph, which is left as it was if it is to be kept."""
    return lower(passes.run(graph, passes.BEFORE_TRAINING, dump, keep=keep))


def train_compiled(
    compiled: Compiled,
    sink: Sink,
    observer: Observer | None = None,
    *,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Trained:
    """Fit the parameters, finish the model, score every split. `keep` sees every iteration."""
    trained = fit_compiled(compiled, sink, observer, resume=resume, keep=keep)
    evaluate(trained, compiled.dataset, compiled.dataset.splits, observer)
    report_impossible_rows(trained.scores, sink)
    return trained


def fit_compiled(
    compiled: Compiled,
    sink: Sink,
    observer: Observer | None = None,
    *,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
    enough: Enough | None = None,
) -> Trained:
    """Fit the parameters and finish the model; its scores are those that training knows.

    `enough` sees the history before every iteration, and may end training there.
    """
    observer = observer or Observer()
    recipe, distinct = compiled.recipe, compiled.dataset.distinct
    seconds = dict(compiled.seconds)
    backend, over = recipe.backend.resolved(), passed_over(recipe.backend)

    observer.stage(Stage.PREPARING)
    with _timed(seconds, "prepare"):
        backend.prepare(compiled.program, observer.progress)

    observer.stage(Stage.TRAINING)
    with _timed(seconds, "train"):
        enough = enough if recipe.optimizer.cut(0) is not None else None
        fitting = Fitting(recipe, backend, distinct, sink, observer, keep, enough)
        kept = fitting.run(compiled.program, compiled.parameters, resume)
        sink.stop()
        assert kept is not None
        fitted = kept.fitted
        if fitted.stopped == OUT_OF_TIME:
            optimizer = recipe.optimizer.cut(fitted.history[-1].iteration)
            assert optimizer is not None
            recipe = replace(recipe, optimizer=optimizer)
        compiled = replace(compiled, recipe=recipe, program=kept.program)
        model = _model(compiled, fitted.parameters, backend).finished()

    metrics = {
        "splits": {},
        "model": model.program.facts(),
        "optimizer": {
            "method": recipe.optimizer.plugin_name,
            "iterations": fitted.history[-1].iteration,
            "stopped": fitted.stopped,
            "kept": fitted.kept,
            "kept_iteration": fitted.kept_iteration,
        },
        **({"prune": kept.pruning} if kept.pruning is not None else {}),
        "seconds": seconds,
        "backend": backend.plugin_name,
        **({"passed_over": f"{over.message} ({over.code})"} if over is not None else {}),
        "seed": recipe.seed,
    }
    return Trained(recipe, model, fitted, _known_scores(fitted, distinct), metrics)


def evaluate(
    trained: Trained, dataset: Dataset, names: Iterable[str], observer: Observer | None = None
) -> None:
    """Score these splits, as far as training has not, and add that to the metrics."""
    model, splits = trained.model, trained.metrics["splits"]
    (observer or Observer()).stage(Stage.EVALUATING)
    spent: dict[str, float] = {}
    with _timed(spent, "evaluate"):
        for name in names:
            if name not in trained.scores:
                batch = model.engine.load(dataset.distinct[name], once=True)
                trained.scores[name] = model.engine.score(model.parameters, batch)
            splits[name] = trained.scores[name].as_json(dataset.splits[name].rows)
    seconds: dict[str, float] = trained.metrics["seconds"]
    seconds.pop("total", None)
    seconds["evaluate"] = seconds.get("evaluate", 0.0) + spent["evaluate"]
    seconds["total"] = sum(seconds.values())
    trained.metrics["seconds"] = {name: round(value, 3) for name, value in seconds.items()}


def _known_scores(fitted: Fitted, tables: Mapping[str, Table]) -> dict[str, Score]:
    """What training has seen of the parameters that were kept."""
    kept = fitted.history[fitted.kept_iteration]
    seen = {
        "train": (kept.train, kept.train_impossible),
        "valid": (kept.valid, kept.valid_impossible),
    }
    found = {}
    for name, (average, impossible) in seen.items():
        if average is not None and impossible is not None:
            possible = float(tables[name].weights.sum()) - impossible
            found[name] = Score(average * possible if possible > 0.0 else 0.0, possible, impossible)
    return found


def _model(compiled: Compiled, parameters: Parameters, backend: Backend) -> Model:
    provenance = {
        "recipe": recipe_text(compiled.recipe),
        "data": compiled.dataset.digest,
        "versions": versions(),
        **plugin_record(
            used_plugins([compiled.recipe], [t.distribution for t in compiled.program.leaves])
        ),
    }
    return Model(compiled.recipe.model, compiled.program, parameters, provenance, backend)


def report_impossible_rows(scores: dict[str, Score], sink: Sink) -> None:
    """Warn of rows that a model gives probability zero (W401)."""
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
