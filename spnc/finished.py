"""Resuming a run that is finished: it is read back from its folder, and nothing is trained.

So a command with `--resume` can be repeated until it succeeds, even if the process is killed after
its last write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from spnc.common.budget import Budget
from spnc.common.wording import duration
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink, writing
from spnc.model import Model, read_model
from spnc.pipeline import report_impossible_rows
from spnc.program.score import Score
from spnc.runs.folder import RunFolder
from spnc.runs.history import read_records
from spnc.runs.kept_data import DataReader
from spnc.runs.lock import recipe_text, request_digest
from spnc.runs.metrics import Metrics, TryMetrics
from spnc.runs.outcome import Outcome
from spnc.runs.results import metrics_of, report_changed_files, request_of
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Recipe
from spnc.trained import Trained
from spnc.training import FitResult

# Reads the recipe that a run is resumed with, and its data; stops at errors.
Read = Callable[[Sink, DataReader], tuple[Recipe, Dataset]]


def read_finished(run: RunFolder | None, budget: Budget, sink: Sink, read: Read) -> Trained | None:
    """Return the run in a folder that is to be resumed, if it is finished; None if it is not.

    Stops if it is the run of another recipe or of other data, or if more time is given than the
    budget that ended it (E403), and if its files were changed (E606, E603).
    """
    if run is None or not run.resuming or not run.model.is_file():
        return None
    # Killed before it was tidied up: what is left can still be resumed, if need be.
    resumable, own = run.is_unfinished(), Sink()
    lost = [file.name for file in (run.metrics, run.history, run.lock) if not file.is_file()]
    if lost and not resumable:
        run.report_nothing_to_resume("nothing", [f"`{name}` is missing" for name in lost])
        sink.stop()
    changed = lost or report_changed_files(run.metrics, run.results, own)
    metrics = metrics_of(run, own) if not changed else None
    model = read_model(run.model, own) if metrics is not None else None
    if metrics is None or model is None:
        if resumable:
            return None
        sink.diagnostics += own.diagnostics
        sink.stop()
        return None
    recipe, dataset = read(own, run.read_data)
    difference = _difference(run, model, metrics, recipe, dataset, budget)
    if difference is not None:
        if resumable:
            return None
        run.report_nothing_to_resume("nothing", [difference])
        sink.stop()
    sink.diagnostics += own.diagnostics
    trained = _trained(run, model, metrics, recipe, dataset, sink)
    with writing(run.path, sink):
        run.tidy()
    return trained


def _difference(
    run: RunFolder, model: Model, metrics: Metrics, recipe: Recipe, dataset: Dataset, budget: Budget
) -> str | None:
    """Return why the run in a folder is not the one that is asked for; None if it is."""
    asked = request_digest(recipe_text(recipe), dataset.digest)
    made_from = (str(model.provenance.get(key)) for key in ("recipe", "data"))
    if asked == request_digest(*made_from):
        return None  # also where the lock file is given, which a search or a time limit changes
    if asked != request_of(run):
        return "it belongs to another recipe or other data"
    limits, search = metrics.limits, metrics.search
    given = limits.time if limits is not None and limits.ended is not None else None
    if search is not None and search.budget is not None:
        given = search.budget
    if given is not None and budget.seconds > given:
        return f"it had a time limit of {duration(given)}, and cannot go on with more time"
    return None


def _trained(
    run: RunFolder, model: Model, metrics: Metrics, recipe: Recipe, dataset: Dataset, sink: Sink
) -> Trained:
    """Return a finished run. Its scores are made from the averages in the metrics."""
    if recipe_text(recipe) != model.provenance.get("recipe"):
        # The chosen recipe of a search, or that of a training that was ended early.
        own = Sink()
        allowed = recipe.plugins is not None
        given = recipe.data.is_given
        chosen = own.require(read_recipe(run.lock, own, allow_plugins=allowed, data_given=given))
        recipe = replace(chosen, data=recipe.data, lock=None)
    recipe = recipe.as_trained()
    model.backend = recipe.backend.resolved()
    history = sink.require(read_records(run.history, sink))
    fit = metrics.optimizer
    fitted = FitResult(model.parameters, history, fit.stopped, fit.kept, fit.kept_iteration)
    weights = {name: table.total for name, table in dataset.splits.items()}
    weights.setdefault("valid", weights["train"])  # these rows were held out in folds
    scores = {
        name: _score(split.avg_ll, split.impossible_rows, weights[name])
        for name, split in metrics.splits.items()
    }
    report_impossible_rows(scores, sink)
    tries = metrics.search.tries if metrics.search is not None else ()
    return Trained(
        recipe,
        model,
        fitted,
        scores,
        metrics,
        tuple(_outcome(one, weights) for one in tries),
        conditional=_conditional(model, metrics, recipe, dataset),
        was_finished=True,
    )


def _conditional(
    model: Model, metrics: Metrics, recipe: Recipe, dataset: Dataset
) -> dict[str, Score]:
    """Return the scores of a conditional objective, whose weights the metrics do not tell."""
    scored = [
        n
        for n, split in metrics.splits.items()
        if split.conditional_ll is not None and n in dataset.splits
    ]
    found = {
        name: recipe.objective.score(model.engine, model.parameters, dataset.distinct[name])
        for name in scored
    }
    return {name: score for name, score in found.items() if score is not None}


def _score(average: float | None, impossible: int, weight: float) -> Score:
    possible = weight - impossible if average is not None else 0.0
    return Score((average or 0.0) * possible, possible, float(impossible))


def _outcome(found: TryMetrics, weights: Mapping[str, float]) -> Outcome:
    """Return a try as far as the metrics tell about it."""
    return Outcome(
        found.number,
        found.values,
        _score(found.valid, found.valid_impossible, weights["valid"]),
        _score(found.train, found.train_impossible, weights["train"]),
        found.edges,
        found.iterations,
        found.seconds,
        found.chosen,
    )
