"""The stages of a training in order. This is the only place that knows which follows which.

    spec -> Recipe -> compile_recipe -> fit -> evaluate -> Trained

`spnc.compilation` has the stages from data to program. Every stage reports what it finds into one
sink; `sink.stop()` after it ends the run if any of that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from spnc.backends.auto import passed_over
from spnc.backends.parted import score_of
from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Observer, Stage
from spnc.common.workers import SERIAL, Workers
from spnc.compilation import (
    KEEP_NOTHING,
    Compiled,
    Grown,
    Keeping,
    compile_recipe,
    compile_rows,
    model_of,
    timed,
)
from spnc.data.dataset import Dataset
from spnc.data.folds import folds_of
from spnc.diagnostics import Sink
from spnc.held_out import CompileFold, HeldOut, hold_out
from spnc.program.score import Score
from spnc.runs.ended_early import ended_early
from spnc.runs.fit_metrics import ObjectiveMetrics, OptimizerMetrics, PruneMetrics
from spnc.runs.folder import RunFolder
from spnc.runs.limit_metrics import LimitMetrics
from spnc.runs.lock import lock_text
from spnc.runs.metrics import Metrics, SplitMetrics
from spnc.runs.preparation import Purpose
from spnc.runs.watch import expect_training
from spnc.spec.recipe import Recipe
from spnc.trained import Trained
from spnc.training import Enough, State
from spnc.training.fit import ProgramFitter
from spnc.training.objectives.joint import Joint
from spnc.training.time_limit import TimeLimit


def train(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    run: RunFolder | None = None,
    budget: Budget | None = None,
    workers: Workers = SERIAL,
) -> Trained:
    """Train a recipe without `search`: all stages, and the files of the run if it has a folder.

    `workers` learn components.

    Raises `OutOfTimeError` if the budget is used up before there are parameters to keep.
    """
    observer, budget = observer or Observer(), budget or Budget()
    if run is None:
        compiled, held = _compiled(recipe, sink, observer, budget.deadline(), workers)
        return _fit_and_evaluate(recipe, compiled, held, sink, observer, budget)
    with run.saving_on_interruption():
        # With a checkpoint, there are parameters to keep, however late it is.
        deadline = budget.deadline() if not run.has_checkpoint else NEVER
        compiled, held = _compiled(recipe, sink, observer, deadline, workers, run)
        state = run.begin(recipe, compiled.dataset, compiled.program, compiled.parameters)
        trained = _fit_and_evaluate(recipe, compiled, held, sink, observer, budget, state, run.keep)
        locked = {}
        if trained.ended is not None:
            program = trained.model.program
            locked[run.lock] = lock_text(trained.recipe, compiled.dataset, run.path, program)
        run.finish(trained.model, trained.metrics, trained.fitted.history, locked)
    return trained


def _compiled(
    recipe: Recipe,
    sink: Sink,
    observer: Observer,
    deadline: Deadline,
    workers: Workers,
    keeping: Keeping = KEEP_NOTHING,
) -> tuple[Compiled, HeldOut | None]:
    """Compile a recipe for training, which has to fit into the memory that it may take.

    With folds, each is held out before, and the recipe that they have shown to be best is compiled.
    """
    held: list[HeldOut] = []

    def settle(dataset: Dataset) -> Recipe:
        compiling = partial(compile_rows, recipe, workers=workers)
        folds = (partial(compiling, rows) for rows in folds_of(dataset, recipe.data))
        held.append(hold_out_folds(recipe, folds, observer, deadline))
        return held[0].shorter

    compiled = compile_recipe(
        recipe,
        sink,
        observer,
        purpose=Purpose.TRAIN,
        keeping=keeping,
        deadline=deadline,
        workers=workers,
        settle=settle if recipe.data.folds is not None else None,
    )
    expect_training(recipe.limits, compiled.parameters, compiled.dataset)
    return compiled, held[0] if held else None


def _fit_and_evaluate(
    recipe: Recipe,
    compiled: Compiled,
    held: HeldOut | None,
    sink: Sink,
    observer: Observer,
    budget: Budget,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Trained:
    dataset = compiled.dataset
    if held is None:
        limit = TimeLimit.of(budget, dataset)
        trained = fit(compiled, sink, observer, resume=resume, keep=keep, limit=limit)
    else:
        trained = fit_after_folds(recipe, compiled, held, sink, observer, resume=resume, keep=keep)
    trained = evaluate(trained, dataset, dataset.splits, observer)
    report_impossible_rows(trained.scores, sink)
    limits = LimitMetrics.of(recipe.limits, budget, trained.ended and trained.ended.fit)
    return replace(trained, metrics=replace(trained.metrics, limits=limits))


def fit(
    compiled: Compiled,
    sink: Sink,
    observer: Observer | None = None,
    *,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
    enough: Enough | None = None,
    deadline: Deadline = NEVER,
    limit: TimeLimit | None = None,
    asked: Recipe | None = None,
) -> Trained:
    """Fit the parameters and finish the model; its scores are those that training knows.

    `asked` is the recipe that the model is from, if it is fitted by another. `keep` is called after
    every iteration. `enough` is called with the history before every iteration, and ends training
    there if it returns True; so does `limit`, in any of the fits.
    """
    observer = observer or Observer()
    recipe, distinct = compiled.recipe, compiled.dataset.distinct
    seconds = dict(compiled.seconds)
    backend, over = recipe.backend.resolved(), passed_over(recipe.backend)

    deadline.check()
    observer.stage(Stage.PREPARING)
    with timed(seconds, "prepare"):
        sink.add(backend.prepare(compiled.program, observer.progress))

    deadline.check()
    observer.stage(Stage.TRAINING)
    with timed(seconds, "train"):
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
            limit,
        )
        found = sink.require(fitter.fit(compiled.program, compiled.parameters, resume))
        fitted = found.fitted
        if found.ended is not None:
            recipe = sink.require(ended_early(recipe, found.ended))
        recipe = asked or recipe
        compiled = replace(compiled, recipe=recipe, program=found.program)
        model = model_of(compiled, fitted.parameters, backend).finished()
    seconds = _with_planning(seconds, sum(fitter.planning))

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
    known = fitted.known_scores(distinct) if refined is None else {}
    recipe = recipe.as_trained()
    return Trained(recipe, model, fitted, known, metrics, ended=found.ended, kept=found.kept)


def hold_out_folds(
    recipe: Recipe, folds: Iterable[CompileFold], observer: Observer, deadline: Deadline
) -> HeldOut:
    """Hold out every fold once.

    Raises `OutOfTimeError` if the deadline leaves no time for that and for training on all rows.
    """

    def train_fold(compile_fold: CompileFold, own: Sink) -> tuple[Trained, Grown | None]:
        part = compile_fold(own, observer, deadline)
        found = fit(part, own, observer, keep=lambda _: deadline.check(), deadline=deadline)
        return evaluate(found, part.dataset, ["valid"], observer), part.grown

    held = hold_out(recipe, folds, train_fold, observer)
    held.expect_training(deadline)
    return held


def fit_after_folds(
    recipe: Recipe,
    compiled: Compiled,
    held: HeldOut,
    sink: Sink,
    observer: Observer,
    *,
    resume: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Trained:
    """Fit to all rows as the folds have shown to be best; add the score of the rows held out."""
    found = fit(compiled, sink, observer, resume=resume, keep=keep, asked=recipe)
    return held.completed(evaluate(found, compiled.dataset, ["train"], observer))


def _with_planning(seconds: Mapping[str, float], planning: float) -> dict[str, float]:
    """Return the seconds with those of planning apart from those of training."""
    rest = {name: value for name, value in seconds.items() if name != "train"}
    return {**rest, "plan": planning, "train": max(0.0, seconds["train"] - planning)}


def evaluate(
    trained: Trained, dataset: Dataset, names: Iterable[str], observer: Observer | None = None
) -> Trained:
    """Score these splits, as far as training has not; return the training with their metrics."""
    model, metrics = trained.model, trained.metrics
    scores, splits = dict(trained.scores), dict(metrics.splits)
    conditional = dict(trained.conditional)
    (observer or Observer()).stage(Stage.EVALUATING)
    spent: dict[str, float] = {}
    with timed(spent, "evaluate"):
        for name in names:
            if name not in scores:
                scores[name] = score_of(
                    model.backend, model.engine, model.parameters, dataset.distinct[name]
                )
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
