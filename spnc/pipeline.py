"""The stages in order, on one page. This is the only place that knows which follows which.

    spec -> Recipe -> prepare -> learn_forest -> link_and_lower -> fit -> evaluate -> Trained

Every stage reports what it finds into one sink; `sink.stop()` after it ends the run if any of
that is an error. A search calls the stages from `learn_forest` on for each of its tries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from spnc import checks, passes
from spnc.backends import Backend
from spnc.backends.auto import passed_over
from spnc.common.deadline import NEVER, Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer, Stage
from spnc.common.rng import random_stream
from spnc.common.views import trained_html, trained_text
from spnc.data.dataset import Dataset, Table
from spnc.diagnostics import Diagnostic, Sink
from spnc.forest.grow import add_top_sum, grow
from spnc.forest.pretraining import pretrain
from spnc.graph.forest import Forest
from spnc.graph.nodes import Graph
from spnc.model import Model
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.program.score import Score
from spnc.registry.usage import plugin_record, used_plugins
from spnc.residuals import LinkingTask
from spnc.runs.fit_metrics import ObjectiveMetrics, OptimizerMetrics, PruneMetrics
from spnc.runs.folder import RunFolder
from spnc.runs.lock import recipe_text, versions
from spnc.runs.metrics import Metrics, SplitMetrics
from spnc.runs.outcome import Outcome
from spnc.runs.preparation import Purpose, prepare
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import one_recipe_only
from spnc.training import OUT_OF_TIME, Enough, FitResult, State
from spnc.training.fit import ProgramFitter
from spnc.training.objectives.joint import Joint

Dump = Callable[[str, Graph], None]  # called with a stage's name and the graph it left


@dataclass(frozen=True, eq=False)
class Compiled:
    """A recipe turned into a program that is ready for training."""

    recipe: Recipe
    dataset: Dataset
    program: Program
    parameters: Parameters
    seconds: Mapping[str, float] = field(default_factory=dict)

    def model(self) -> Model:
        """Return the model before training."""
        return _model(self, self.parameters, self.recipe.backend)


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """A trained model, how training went, and how well every split is explained.

    `recipe` makes the same model: where training was ended early, it says after how many
    iterations. After a search it is the chosen one, and `tries` has all of them. `diagnostics`
    are the warnings; `run` is the folder that the results were written to, if there is one.
    """

    recipe: Recipe
    model: Model
    fitted: FitResult
    scores: Mapping[str, Score]
    metrics: Metrics
    tries: tuple[Outcome, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    run: Path | None = None
    # With `objective: conditional`, the scores of the target given the other cells, by split.
    conditional: Mapping[str, Score] = field(default_factory=dict)

    def __repr__(self) -> str:
        averages = {name: split.avg_ll for name, split in self.metrics.splits.items()}
        return trained_text(self.model.name, averages, self.metrics.spent, len(self.tries))

    def _repr_html_(self) -> str:
        metrics, fit = self.metrics, self.metrics.optimizer
        splits = {n: (s.rows, s.avg_ll, s.impossible_rows) for n, s in metrics.splits.items()}
        counts = {name: metrics.model[name] for name in ("edges", "parameters")}
        ended = f"{fit.method} stopped by {fit.stopped} after {fit.iterations} iterations"
        name, tries = self.model.name, len(self.tries)
        return trained_html(name, counts, splits, metrics.spent, tries, ended=ended)


def train(
    recipe: Recipe, sink: Sink, observer: Observer | None = None, run: RunFolder | None = None
) -> Trained:
    """Train a recipe without `search`: all stages, and the files of the run if it has a folder."""
    observer = observer or Observer()
    if run is None:
        compiled = compile_recipe(recipe, sink, observer, purpose=Purpose.TRAIN)
        return _fit_and_evaluate(compiled, sink, observer)
    with run.saving_on_interruption():
        compiled = compile_recipe(recipe, sink, observer, purpose=Purpose.TRAIN)
        state = run.begin(recipe, compiled.dataset, compiled.program, compiled.parameters)
        trained = _fit_and_evaluate(compiled, sink, observer, state, run.keep)
        run.finish(trained.model, trained.metrics, trained.fitted.history)
    return trained


def _fit_and_evaluate(
    compiled: Compiled,
    sink: Sink,
    observer: Observer,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Trained:
    trained = fit(compiled, sink, observer, resume=resume, keep=keep)
    trained = evaluate(trained, compiled.dataset, compiled.dataset.splits, observer)
    report_impossible_rows(trained.scores, sink)
    return trained


@gc_paused()
def compile_recipe(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    dump: Dump | None = None,
    *,
    purpose: Purpose = Purpose.COMPILE,
) -> Compiled:
    """Structure, links, checks, passes, lowering; no parameter training."""
    observer, seconds = observer or Observer(), {"data": 0.0}
    one_recipe_only(recipe, sink)
    sink.stop()
    with _timed(seconds, "data"):
        dataset = sink.require(prepare(recipe, sink, observer, purpose))
    forest = learn_forest(recipe, dataset, sink, observer, seconds)
    return link_and_lower(recipe, dataset, forest, sink, observer, seconds, dump=dump)


@gc_paused()
def learn_forest(
    recipe: Recipe,
    dataset: Dataset,
    sink: Sink,
    observer: Observer,
    seconds: dict[str, float],
    deadline: Deadline = NEVER,
) -> Forest:
    """Learn every component. Links and the sum on top are still to come."""
    deadline.check()
    observer.stage(Stage.STRUCTURE)
    with _timed(seconds, "structure"):
        forest = grow(
            recipe.forest,
            dataset,
            smoothing=recipe.smoothing,
            seed=recipe.seed,
            sink=sink,
            progress=observer.progress,
            deadline=deadline,
            backend=recipe.backend.resolved(),
            objective=recipe.objective,
        )
        sink.stop()
    return forest


@gc_paused()
def link_and_lower(
    recipe: Recipe,
    dataset: Dataset,
    forest: Forest,
    sink: Sink,
    observer: Observer,
    seconds: dict[str, float],
    *,
    deadline: Deadline = NEVER,
    dump: Dump | None = None,
) -> Compiled:
    """Draw residual links, put the sum on top, check, optimise and lower. Changes the forest."""
    deadline.check()
    observer.stage(Stage.LINKS)
    with _timed(seconds, "residual"):
        rng = random_stream(recipe.seed, "residual")
        rows, backend = dataset.distinct["train"], recipe.backend.resolved()
        fit_some = partial(pretrain, forest, rows, recipe.smoothing, backend)
        task = LinkingTask(
            forest, dataset, rng, sink, observer.progress, backend, fit_some, deadline
        )
        forest = recipe.residual.link(task)
        sink.stop()

    deadline.check()
    observer.stage(Stage.LOWERING)
    with _timed(seconds, "compile"):
        graph = add_top_sum(forest)
        if dump is not None:
            dump("forest", graph)
        checks.check(graph, sink)
        sink.stop()
        program, parameters = lower_graph(graph, dump, keep=False)
    return Compiled(recipe, dataset, program, parameters, seconds)


@gc_paused()
def lower_graph(
    graph: Graph, dump: Dump | None = None, *, keep: bool = True
) -> tuple[Program, Parameters]:
    """Run the passes over a checked graph and lower it; `keep` leaves the graph as it was."""
    return lower(passes.run(graph, passes.BEFORE_TRAINING, dump, keep=keep))


def circuit_model(graph: Graph, dump: Dump | None = None, *, optimise: bool = True) -> Model:
    """Return the model of a checked circuit that no recipe made; node by node if not `optimise`."""
    program, parameters = lower_graph(graph, dump) if optimise else lower(graph)
    used = used_plugins([], [table.distribution for table in program.leaves])
    name = str(graph.graph.get("name", "circuit"))
    return Model(name, program, parameters, plugin_record(used))


def fit(
    compiled: Compiled,
    sink: Sink,
    observer: Observer | None = None,
    *,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
    enough: Enough | None = None,
    deadline: Deadline = NEVER,
) -> Trained:
    """Fit the parameters and finish the model; its scores are those that training knows.

    `keep` is called after every iteration. `enough` is called with the history before every
    iteration, and ends training there if it returns True.
    """
    observer = observer or Observer()
    recipe, distinct = compiled.recipe, compiled.dataset.distinct
    seconds = dict(compiled.seconds)
    backend, over = recipe.backend.resolved(), passed_over(recipe.backend)

    deadline.check()
    observer.stage(Stage.PREPARING)
    with _timed(seconds, "prepare"):
        backend.prepare(compiled.program, observer.progress)

    deadline.check()
    observer.stage(Stage.TRAINING)
    with _timed(seconds, "train"):
        fitter = ProgramFitter(
            recipe.optimizer,
            recipe.objective if not recipe.refines_components else Joint(),
            recipe.prune,
            recipe.smoothing,
            recipe.seed,
            backend,
            distinct,
            sink,
            observer,
            keep,
            enough if recipe.optimizer.cut(0) is not None else None,
        )
        found = sink.require(fitter.fit(compiled.program, compiled.parameters, resume))
        fitted = found.fitted
        if fitted.stopped == OUT_OF_TIME:
            cut = recipe.optimizer.cut(fitted.history[-1].iteration)
            recipe = replace(recipe, optimizer=sink.require(cut))
        compiled = replace(compiled, recipe=recipe, program=found.program)
        model = _model(compiled, fitted.parameters, backend).finished()

    objective, refined = None, found.refined
    name, target = recipe.objective.plugin_name, tuple(getattr(recipe.objective, "target", ()))
    if refined is not None:
        objective = ObjectiveMetrics.of(name, target, refined)
    elif recipe.refines_components:
        objective = ObjectiveMetrics.of_components(name, target)
    metrics = Metrics(
        {},
        model.program.facts(),
        OptimizerMetrics.of(recipe.optimizer.plugin_name, fitted),
        seconds,
        backend.plugin_name,
        recipe.seed,
        PruneMetrics.of(found.pruning) if found.pruning is not None else None,
        f"{over.message} ({over.code})" if over is not None else None,
        objective=objective,
    )
    # An objective scores the rows that it can use, which need not be all of them.
    known = _known_scores(fitted, distinct) if refined is None else {}
    return Trained(recipe, model, fitted, known, metrics)


def evaluate(
    trained: Trained, dataset: Dataset, names: Iterable[str], observer: Observer | None = None
) -> Trained:
    """Score these splits, as far as training has not; return the training with their metrics."""
    model, metrics = trained.model, trained.metrics
    scores, splits = dict(trained.scores), dict(metrics.splits)
    conditional = dict(trained.conditional)
    (observer or Observer()).stage(Stage.EVALUATING)
    spent: dict[str, float] = {}
    with _timed(spent, "evaluate"):
        for name in names:
            if name not in scores:
                batch = model.engine.load(dataset.distinct[name], once=True)
                scores[name] = model.engine.score(model.parameters, batch)
            if name not in conditional:
                found = trained.recipe.objective.score(
                    model.engine, model.parameters, dataset.distinct[name]
                )
                conditional.update({name: found} if found is not None else {})
            splits[name] = SplitMetrics(
                **scores[name].as_json(dataset.splits[name].rows),
                conditional_ll=_average(conditional.get(name)),
            )
    seconds = {name: value for name, value in metrics.seconds.items() if name != "total"}
    seconds["evaluate"] = seconds.get("evaluate", 0.0) + spent["evaluate"]
    seconds["total"] = sum(seconds.values())
    seconds = {name: round(value, 3) for name, value in seconds.items()}
    metrics = replace(metrics, splits=splits, seconds=seconds)
    return replace(trained, scores=scores, conditional=conditional, metrics=metrics)


def _average(score: Score | None) -> float | None:
    return score.average if score is not None and score.possible > 0.0 else None


def report_impossible_rows(scores: Mapping[str, Score], sink: Sink) -> None:
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


def _known_scores(fitted: FitResult, tables: Mapping[str, Table]) -> dict[str, Score]:
    """Return the scores that training has computed of the parameters that were kept."""
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
    rules = compiled.dataset.rules.as_json()
    provenance = {
        "recipe": recipe_text(compiled.recipe),
        "data": compiled.dataset.digest,
        "versions": versions(),
        **({"table": rules} if rules else {}),
        **plugin_record(
            used_plugins([compiled.recipe], [t.distribution for t in compiled.program.leaves])
        ),
    }
    return Model(compiled.recipe.model, compiled.program, parameters, provenance, backend)


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began
