"""Read a finished run: model, metrics, learning curve, lock file, and the data if available."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from spnc.common.observer import Observer
from spnc.data.dataset import Dataset
from spnc.diagnostics import Diagnostic, Sink, read_source
from spnc.learners.support.warps import warped_for
from spnc.model import Model, read_model
from spnc.runs.folder import RunFolder
from spnc.runs.history import History, read_history
from spnc.runs.metrics import Metrics
from spnc.runs.preparation import Purpose, prepare
from spnc.runs.results import metrics_of, report_changed_files
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run. If `dataset` is None, `no_data` says why in a few words."""

    path: Path
    model: Model
    metrics: Metrics
    history: History
    lock_text: str
    recipe: Recipe | None
    dataset: Dataset | None
    no_data: str | None


def read_run(
    path: Path,
    sink: Sink,
    observer: Observer,
    *,
    with_data: bool = True,
    allow_plugins: bool = False,
) -> Run | None:
    """Return the run in a folder, or None after reporting why there is none (E603, E606).

    Data that cannot be read is a warning (W601). Data that has changed since the run is an error
    (E405), because everything that the page said about it would be wrong.
    """
    observer.stage("reading the run")
    folder = RunFolder(path, sink)
    if not _is_finished(folder, sink):
        return None
    metrics = metrics_of(folder, sink)
    if metrics is None or report_changed_files(folder.metrics, folder.results, sink):
        return None
    history = read_history(path, sink)
    model = read_model(folder.model, sink)
    lock = read_source(folder.lock, sink)
    if history is None or model is None or lock is None:
        return None
    recipe, dataset, trouble = _data(folder, observer, with_data, allow_plugins)
    wrong = [d for d in trouble if d.code == "E405"]
    if wrong:
        help = "restore the data, or give --no-data for a page without it"
        sink.diagnostics += [replace(d, help=help) for d in wrong]
        return None
    no_data = None if dataset is not None else "left out on request"
    if dataset is not None and dataset.columns != model.columns:
        dataset, no_data = None, "its columns are not those of the model"
    if trouble:
        no_data = trouble[0].message
    if no_data is not None and with_data:
        notes = [f"{d.message} ({d.code})" for d in trouble] or [no_data]
        sink.warning(
            "W601",
            "the page leaves out the sections that need the data of the run",
            where=str(folder.lock),
            notes=notes,
            help="give --allow-plugins (in Python: allow_plugins=True), or --no-data"
            if any(d.code == "E138" for d in trouble)
            else "restore the data to where the lock file says, or give --no-data",
        )
    return Run(path, model, metrics, history, lock.text, recipe, dataset, no_data)


def _is_finished(folder: RunFolder, sink: Sink) -> bool:
    path = folder.path
    if not path.is_dir():
        found = "is a file, not a run folder" if path.exists() else "does not exist"
        message, help = f"`{path}` {found}", "give the folder that `spnc train` wrote"
    elif not folder.lock.is_file():
        message, help = f"`{path}` is not a run folder", "give a folder that `spnc train` wrote"
    elif all(file.is_file() for file in (folder.model, folder.metrics, folder.history)):
        return True
    elif folder.model.is_file() and not (folder.checkpoint.is_file() or folder.search.is_file()):
        lost = [f for f in (folder.metrics, folder.history) if not f.is_file()]
        message = f"the run in `{path}` has lost {' and '.join(f'`{f.name}`' for f in lost)}"
        help = "restore the file, or train again"
    else:
        message, help = (
            f"the run in `{path}` is not finished",
            f"continue with `{folder.resume_command()}`",
        )
        if folder.checkpoint.is_file():
            help += f"; `spnc plot history {shlex.quote(str(path))}` shows its progress"
    sink.error("E603", message, where=str(path), help=help)
    return False


def _data(
    folder: RunFolder, observer: Observer, with_data: bool, allow_plugins: bool
) -> tuple[Recipe | None, Dataset | None, list[Diagnostic]]:
    """Return the recipe and its data, as far as they can be read, and the errors met.

    Nothing is downloaded. Warnings are dropped: training has already given them.
    """
    own = Sink()
    recipe = read_recipe(folder.lock, own, allow_plugins=allow_plugins)
    if recipe is None or not with_data:
        return recipe, None, [d for d in own.diagnostics if d.severity == "error"]
    dataset = prepare(recipe, own, observer, Purpose.REPORT)
    if dataset is not None:
        dataset = warped_for(recipe, dataset)
    return recipe, dataset, [d for d in own.diagnostics if d.severity == "error"]
