"""The public functions behind `import spnc`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from networkx import DiGraph

from spnc import checks
from spnc.cluster import workers_for
from spnc.cluster.training import placed
from spnc.common.budget import Budget
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer
from spnc.common.progress_display import displayed
from spnc.compilation import circuit_model, compile_recipe
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.frames import given_rows
from spnc.data.sources import FROM_PYTHON
from spnc.diagnostics import Diagnostic, InputError, Sink, counted, in_reading_order, read_source
from spnc.exports.spflow.reading import read_spflow
from spnc.finished import read_finished
from spnc.graph.files import read_circuit
from spnc.graph.interchange import from_networkx as read_networkx
from spnc.graph.interchange import from_node_link
from spnc.graph.nodes import Graph
from spnc.model import Model, read_model
from spnc.pipeline import train as train_recipe
from spnc.runs.folder import RunFolder
from spnc.runs.kept_data import DataReader
from spnc.runs.log_file import logged
from spnc.runs.opening import open_run
from spnc.runs.preparation import Purpose, prepare
from spnc.runs.watch import Watch, watched
from spnc.search.auto.loop import auto, comment
from spnc.search.auto.start import DEFAULT_BUDGET, Start, read_data, read_start
from spnc.search.grid import search
from spnc.search.journal import SearchFolder
from spnc.spec.files import kind_of
from spnc.spec.limits import Limits, read_budget
from spnc.spec.override import refuse
from spnc.spec.read import read_recipe, recipe_from, spec_source, with_table
from spnc.spec.recipe import Recipe
from spnc.trained import Trained

if TYPE_CHECKING:
    import networkx as nx


def check(
    thing: str | Path | Mapping[str, Any] | nx.DiGraph[Any], *, allow_plugins: bool = False
) -> list[Diagnostic]:
    """Return all problems of a spec, a circuit or a model; an empty list if there are none.

    `thing` is the path of any file spnc knows, a spec as a dict, a networkx graph, or a node-link
    mapping.
    `allow_plugins` permits importing the Python files that a spec names under `plugins`.
    """
    sink = Sink()
    try:
        check_thing(thing, sink, allow_plugins=allow_plugins)
    except InputError as error:
        return list(error.diagnostics)
    return in_reading_order(sink.diagnostics)


def check_thing(
    thing: Any, sink: Sink, settings: Sequence[str] | str = (), *, allow_plugins: bool = False
) -> tuple[Recipe | Graph | Model, list[str]]:
    """Check whatever a user may have; return it, and lines about what was and was not looked at.

    For a spec, that includes the data and the circuits that it names; nothing is learned or
    downloaded. Stops at errors.
    """
    found = read_thing(thing, sink, settings, allow_plugins=allow_plugins)
    notes = []
    if isinstance(found, Recipe):
        notes = _facts(found, prepare(found, sink, purpose=Purpose.CHECK), sink)
    sink.stop()
    return found, notes


def _facts(recipe: Recipe, dataset: Dataset | None, sink: Sink) -> list[str]:
    """Return what a check has found out about the data and the search of a recipe."""
    notes = []
    if dataset is not None:
        rows = ", ".join(f"{name} {table.rows:,}" for name, table in dataset.splits.items())
        notes = [f"data: {counted(len(dataset.columns), 'column')}; rows: {rows}"]
    elif not sink.failed:
        notes = [f"data: {recipe.data.source} is not on this machine yet, and was not looked at"]
    if recipe.space is not None:
        names = ", ".join(choice.name for choice in recipe.space.choices)
        tries = counted(len(recipe.space.tries), "try", "tries")
        notes.append(f"search: {tries} over {names}")
    return notes


def compile(
    thing: str | Path | Mapping[str, Any] | nx.DiGraph[Any],
    settings: Sequence[str] | str = (),
    *,
    allow_plugins: bool = False,
    n_jobs: int | None = None,
) -> Model:
    """Return the model of a spec before training, or of a circuit. Raises `InputError`.

    `settings` are overrides such as `"optimizer.max_iterations=50"`; `allow_plugins` permits
    importing the Python files that a spec names under `plugins`; `n_jobs` components are learned
    at a time (-1: one per core).
    """
    sink = Sink()
    found = read_thing(thing, sink, settings, allow_plugins=allow_plugins)
    sink.stop()
    if isinstance(found, Model):
        return found
    if isinstance(found, DiGraph):
        return circuit_model(found)
    return compile_recipe(found, sink, workers=workers_for(n_jobs)).model()


def train(
    spec: str | Path | Mapping[str, Any],
    settings: Sequence[str] | str = (),
    *,
    data: Any = None,
    out: str | Path | bool = False,
    resume: bool = False,
    overwrite: bool = False,
    progress: Observer | bool = False,
    allow_plugins: bool = False,
    budget: str | float | None = None,
    log: str | Path | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    began: float | None = None,
) -> Trained:
    """Train a spec; return the model with its history, scores and metrics. Raises `InputError`.

    Of a spec with `search`, return the best on the validation rows; it has all the `tries`.

    `spec` is the path of a file, or a dict with the same keys. `data` is a data frame, a dict of
    columns or an array, in place of the rows that the spec names; its other options about data
    apply. The rows of a Dask frame stay in its partitions, on the workers of `client` if given.

    `settings` are overrides such as `"optimizer.max_iterations=50"`. With `out`, the run is written
    to that folder as `spnc train` writes it (True: `runs/NAME`); Ctrl-C then saves a checkpoint and
    raises `Interrupted`, and `resume=True` continues from it; a run that is finished is read from
    its folder. `overwrite` replaces an earlier run. `progress` shows a progress display (True), or
    reports to an `Observer`. `allow_plugins` permits importing the Python files that the spec names
    under `plugins`.

    `budget` is a time limit, seconds or a text such as `"2h"`, in place of that of the spec: when
    it is used up, the best so far is kept. It is counted from `began` (on `time.monotonic`; None:
    now). What happens is appended to the file `log`, a line of JSON each. `n_jobs` components, or
    tries of a `search`, are computed at a time (-1: one per core), with the same result. `client`
    is a Dask client: its workers compute passes over tables in partitions, components and tries.
    """
    began, sink = time.monotonic() if began is None else began, Sink()
    given = as_settings(settings)
    seconds = read_budget(_budget_text(budget), sink) if budget is not None else None
    recipe = sink.require(_recipe(spec, sink, given, data, allow_plugins=allow_plugins))
    if seconds is not None:
        recipe = replace(recipe, limits=replace(recipe.limits or Limits(), time=seconds))
    limit = Budget(math.inf if (most := _time_limit(recipe)) is None else most, began=began)
    run = _open_run(recipe, out, sink, resume=resume, overwrite=overwrite)
    with (
        _observed(progress, log, recipe.limits, limit, sink, run) as watch,
        placed(recipe, client, n_jobs, watch) as (recipe, workers),
    ):
        found = read_finished(run, limit, sink, partial(_recipe_and_data, recipe, watch))
        if found is not None:
            trained = found
        elif recipe.space is None:
            trained = train_recipe(recipe, sink, watch, run, limit, workers)
        elif run is None:
            trained = search(recipe, sink, watch, budget=limit, workers=workers)
        else:
            journal = SearchFolder(run, [str(run.lock)])
            with journal.saving_on_interruption():
                trained = search(recipe, sink, watch, journal, limit, workers)
        watch.finished(trained.metrics)
    return _finished(trained, sink, run)


def _recipe_and_data(
    recipe: Recipe, observer: Observer, sink: Sink, read: DataReader
) -> tuple[Recipe, Dataset]:
    return recipe, sink.require(prepare(recipe, sink, observer, read=read))


def _time_limit(recipe: Recipe) -> float | None:
    return recipe.limits.time if recipe.limits is not None else None


def _budget_text(budget: str | float) -> str:
    return budget if isinstance(budget, str) else f"{budget:f}"


@contextmanager
def _observed(
    progress: Observer | bool,
    log: str | Path | None,
    limits: Limits | None,
    budget: Budget,
    sink: Sink,
    run: RunFolder | None,
) -> Iterator[Watch]:
    """Hold the run folder and the limits; yield who observes, for the display and the log."""
    with (
        logged(log, sink, budget.start) as lines,
        displayed(progress) as display,
        _held(run, budget),
        watched(display, lines, limits, budget, sink) as watch,
    ):
        yield watch


def _recipe(
    spec: str | Path | Mapping[str, Any],
    sink: Sink,
    settings: list[str],
    data: Any,
    *,
    allow_plugins: bool,
) -> Recipe | None:
    """Return the recipe of a file or a dict, with the table that was given in Python, if any."""
    table = given_rows(data, sink) if data is not None else None
    read: Callable[..., Recipe | None] = read_recipe
    where: Any = spec
    if isinstance(spec, Mapping):
        read, where = recipe_from, spec_source(spec, sink)
        if where is None:
            return None
    else:
        where = Path(spec)
    given = data is not None
    recipe = read(where, sink, settings, allow_plugins=allow_plugins, data_given=given)
    return recipe if recipe is None or table is None else with_table(recipe, table)


def train_auto(
    table: Any,
    budget: str | float = DEFAULT_BUDGET,
    settings: Sequence[str] | str = (),
    *,
    out: str | Path | bool = False,
    resume: bool = False,
    overwrite: bool = False,
    progress: Observer | bool = False,
    log: str | Path | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    began: float | None = None,
) -> Trained:
    """Return the best model of a table that was found within a time budget. Raises `InputError`.

    `table` is what `data.source` takes, or a data frame, a dict of columns or an array. `budget` is
    seconds or a text such as `"10min"`, counted from
    `began` (on `time.monotonic`; None: now); `settings` are overrides such as `"seed=3"`. The
    result has all the `tries`, and its `recipe` makes the same model again. The other arguments are
    those of `train`.
    """
    began, sink = time.monotonic() if began is None else began, Sink()
    budget_text = _budget_text(budget)
    given = as_settings(settings)
    seconds = read_budget(budget_text, sink)
    named = isinstance(table, str | Path)
    rows = None if named else given_rows(table, sink)
    name = str(table) if named else FROM_PYTHON
    start = sink.require(read_start(name, given, sink))
    if rows is not None:
        start = replace(start, recipe=with_table(start.recipe, rows))
    limit = Budget(sink.require(seconds), began=began)
    run = _open_run(start.recipe, out, sink, resume=resume, overwrite=overwrite)
    limits = start.recipe.limits
    with (
        _observed(progress, log, limits, limit, sink, run) as watch,
        placed(start.recipe, client, n_jobs, watch) as (recipe, workers),
    ):
        start = replace(start, recipe=recipe.as_trained())
        found = read_finished(run, limit, sink, partial(_start_and_data, start, watch))
        if found is not None:
            trained = found
        elif run is None:
            trained = auto(start, limit, sink, watch, limits=limits, workers=workers)
        else:
            words = ["--auto", name, "--budget", budget_text]
            words += [word for setting in given for word in ("--set", setting)]
            journal = SearchFolder(run, words, partial(comment, start))
            with journal.saving_on_interruption():
                trained = auto(start, limit, sink, watch, journal, limits, workers)
        watch.finished(trained.metrics)
    return _finished(trained, sink, run)


def _start_and_data(
    start: Start, observer: Observer, sink: Sink, read: DataReader
) -> tuple[Recipe, Dataset]:
    start, dataset = read_data(start, sink, observer, read)
    return start.recipe, dataset


def _open_run(
    recipe: Recipe, out: str | Path | bool, sink: Sink, *, resume: bool, overwrite: bool
) -> RunFolder | None:
    """Return the run folder, or None if nothing is to be written."""
    if out is False:
        if resume or overwrite:
            raise ValueError("`resume` and `overwrite` need `out`, the run folder")
        return None
    path = None if out is True else Path(out)
    return open_run(recipe, path, sink, resume=resume, overwrite=overwrite)


def _held(run: RunFolder | None, budget: Budget) -> AbstractContextManager[None]:
    """Return a context in which no other training uses the run folder, if there is one."""
    return run.held(budget) if run is not None else nullcontext()


def _finished(trained: Trained, sink: Sink, run: RunFolder | None) -> Trained:
    folder = run.path if run is not None else None
    return replace(trained, diagnostics=tuple(sink.diagnostics), run=folder)


def from_networkx(graph: nx.DiGraph[Any]) -> Model:
    """Return the model of a networkx graph, node by node. Raises `InputError`.

    The graph has the attributes that `Model.to_networkx` writes (`docs/exports.md`). `compile`
    takes the same graphs, and returns a model with the same distribution and fewer nodes.
    """
    sink = Sink()
    found = sink.require(read_networkx(graph, sink))
    checks.check(found, sink)
    sink.stop()
    return circuit_model(found, optimise=False)


def from_spflow(root: Any, columns: Sequence[str | Column] | None = None) -> Model:
    """Return the model of a circuit of SPFlow 0.0.48, given by its root. Raises `InputError`.

    `columns` are names, or columns with kinds, labels and units, in the order of SPFlow's scopes;
    without them they are x0, x1, …. Kinds follow from the leaves where they are not given.
    """
    sink = Sink()
    found = sink.require(read_spflow(root, sink, columns))
    checks.check(found, sink)
    sink.stop()
    return circuit_model(found, optimise=False)


@gc_paused()
def read_thing(
    thing: Any, sink: Sink, settings: Sequence[str] | str = (), *, allow_plugins: bool = False
) -> Recipe | Graph | Model:
    """Read a recipe, a checked graph or a model from whatever a user may have; stop at errors."""
    found: Any
    settings = as_settings(settings)
    if isinstance(thing, str | Path):
        found = _read_file(Path(thing), sink, settings, allow_plugins=allow_plugins)
    elif isinstance(thing, Mapping) and "forest" in thing:
        source = spec_source(thing, sink)
        found = None
        if source is not None:
            found = recipe_from(source, sink, settings, allow_plugins=allow_plugins)
    elif isinstance(thing, Mapping):
        found = from_node_link(thing, sink)
    else:
        found = read_networkx(thing, sink)
    if not isinstance(found, Recipe) and found is not None:
        refuse(settings, sink)
    if isinstance(found, DiGraph):
        checks.check(found, sink)
    elif isinstance(found, Model):
        checks.check(found.graph(), sink)
    sink.stop()
    return found  # type: ignore[no-any-return]


def as_settings(settings: Sequence[str] | str) -> list[str]:
    """Return overrides as a list, also if there is just one."""
    return [settings] if isinstance(settings, str) else list(settings)


def _read_file(path: Path, sink: Sink, settings: Sequence[str], *, allow_plugins: bool) -> Any:
    if path.suffix.lower() == ".spnc":
        return read_model(path, sink)
    source = read_source(path, sink)
    if source is None:
        return None
    kind = kind_of(path, source.text, sink)
    if kind in ("circuit", "node-link", "graphml"):
        return read_circuit(source, sink)
    if kind is None:
        return None
    return recipe_from(source, sink, settings, allow_plugins=allow_plugins)
