"""Read a finished run: model, metrics, learning curve, lock file, and the data if available."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spnc.common.observer import Observer, Stage
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.diagnostics import Diagnostic, Sink, read_source
from spnc.model import Model, read_model
from spnc.runs.folder import RunFolder
from spnc.runs.history import History, read_history
from spnc.runs.lock import check_lock
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Recipe

_NUMBER = (int, float)
_MAYBE = (int, float, type(None))
_ABSURD = 1e15
# The parts of `metrics.json` that the page uses, and their types.
_WANTED: dict[str, Any] = {
    "model": {"nodes": int, "edges": int, "layers": int, "parameters": int},
    "optimizer": {"method": str, "iterations": int, "stopped": str, "kept": str},
    "seconds": {"total": _NUMBER},
    "backend": str,
    "seed": int,
}
_PRUNE: dict[str, Any] = {"edges": {"before": int, "after": int}, "kept": str, "fits": list}
_SPLIT = {"rows": int, "avg_ll": _MAYBE, "impossible_rows": int}
_TRY = {
    "try": int,
    "values": dict,
    "valid": _MAYBE,
    "train": _MAYBE,
    "edges": int,
    "iterations": int,
    "seconds": _NUMBER,
    "chosen": bool,
}


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run. If `dataset` is None, `no_data` says why in a few words."""

    path: Path
    model: Model
    metrics: dict[str, Any]
    history: History
    lock_text: str
    recipe: Recipe | None
    dataset: Dataset | None
    no_data: str | None


def read_run(path: Path, sink: Sink, observer: Observer, *, with_data: bool = True) -> Run | None:
    """Return the run in a folder, or None after reporting why there is none (E603).

    Data that cannot be read is a warning (W601). Data that has changed since the run is an error
    (E405), because everything that the page said about it would be wrong.
    """
    observer.stage("reading the run")
    folder = RunFolder(path, sink)
    if not _is_finished(folder, sink):
        return None
    metrics = metrics_of(folder, sink)
    history = read_history(path, sink)
    model = read_model(folder.model, sink)
    lock = read_source(folder.lock, sink)
    if metrics is None or history is None or model is None or lock is None:
        return None
    recipe, dataset, trouble = _data(folder, observer, with_data=with_data)
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
            help="restore the data to where the lock file says, or give --no-data",
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
        message, help = f"the run in `{path}` is not finished", f"continue with `{folder.go_on()}`"
        if folder.checkpoint.is_file():
            help += f"; `spnc plot history {shlex.quote(str(path))}` shows its progress"
    sink.error("E603", message, where=str(path), help=help)
    return False


def metrics_of(folder: RunFolder, sink: Sink) -> dict[str, Any] | None:
    """Return the metrics, or None after reporting that `spnc train` did not write them so."""
    try:
        text = folder.metrics.read_text(encoding="utf-8")
        found = json.loads(text, parse_constant=_sensible, parse_float=_sensible)
        _expect(found, _WANTED, "metrics")
        for name, split in found["splits"].items():
            _expect(split, _SPLIT, name)
        if "search" in found:
            _expect(found["search"], {"tries": list}, "search")
        tries = found.get("search", {}).get("tries", [])
        for one in tries:
            _expect(one, _TRY, "a try")
            if list(one["values"]) != list(tries[0]["values"]):
                raise ValueError("its tries do not choose the same things")
        if "prune" in found:
            _expect(found["prune"], _PRUNE, "prune")
            for fit in found["prune"]["fits"]:
                _expect(fit, {"iterations": int}, "a fit")
        if not all(isinstance(s, _NUMBER) for s in found["seconds"].values()):
            raise ValueError("its seconds are not numbers")
    except (OSError, LookupError, RecursionError, TypeError, ValueError, AttributeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        sink.error(
            "E603",
            "the metrics of the run cannot be read",
            where=str(folder.metrics),
            notes=[f"there is no {reason}" if isinstance(error, KeyError) else reason],
            help="the file was changed; train again",
        )
        return None
    return found  # type: ignore[no-any-return]


def _sensible(text: str) -> float:
    """A number of the file; no log-likelihood and no time is beyond what is allowed here."""
    value = float(text)
    if not math.isfinite(value) or abs(value) > _ABSURD:
        raise ValueError(f"{text} is no sensible number")
    return value


def _expect(found: Any, wanted: dict[str, Any], name: str) -> None:
    for key, kind in wanted.items():
        if isinstance(kind, dict):
            _expect(found[key], kind, key)
        elif not isinstance(found[key], kind):
            raise TypeError(f"`{key}` of {name} is not what it should be")


def _data(
    folder: RunFolder, observer: Observer, *, with_data: bool
) -> tuple[Recipe | None, Dataset | None, list[Diagnostic]]:
    """Return the recipe and its data, as far as they can be read, and the errors met.

    Nothing is downloaded. Warnings are dropped: training has already given them.
    """
    own = Sink()
    recipe = read_recipe(folder.lock, own)
    if recipe is None or not with_data:
        return recipe, None, [d for d in own.diagnostics if d.severity == "error"]
    observer.stage(Stage.DATA)
    dataset = load(recipe.data, own, offline=True, progress=observer.progress)
    if dataset is not None:
        check_lock(recipe, dataset, own)
    return recipe, dataset, [d for d in own.diagnostics if d.severity == "error"]
