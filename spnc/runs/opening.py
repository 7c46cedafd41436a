"""Which folder a run is written to, and whether it may be."""

from __future__ import annotations

import re
from itertools import count, takewhile
from pathlib import Path

from spnc.diagnostics import Sink, listed, writing
from spnc.runs.files import RunFiles
from spnc.runs.folder import RunFolder
from spnc.spec.recipe import Recipe
from spnc.spec.relocate import files_of

_LONGEST_NAME = 60  # characters of a model's name in that of its folder, which has up to 255 bytes
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # in Windows


def open_run(
    recipe: Recipe, out: str | Path | None, sink: Sink, *, resume: bool, overwrite: bool
) -> RunFolder:
    """Return the run folder; stop if it holds something that must not be lost (E506).

    To resume in a folder that does not exist yet is to begin. Without `out` the folder is
    `runs/NAME`, or `runs/NAME-2` and so on if that is taken.
    """
    with writing("runs" if out is None else out):  # it may not be possible to look into it
        path = default_folder(recipe, resume=resume) if out is None else Path(out)
        run = RunFolder(path, sink, resume)
        taken = not run.is_new()
    if taken and not (path.is_dir() and (resume or overwrite)):
        sink.error(
            "E506",
            f"`{path}` is not empty" if path.is_dir() else f"`{path}` is not a folder",
            where=str(path),
            help=_how_to_use(path) if path.is_dir() else "give the name of a folder; it may be new",
        )
    sink.stop()
    folder = path.resolve()
    inside = [f for f in sorted(files_of(recipe)) if folder in (f.resolve(), *f.resolve().parents)]
    if taken and overwrite and inside:
        sink.error(
            "E506",
            f"`{path}` holds files that this spec needs",
            where=str(path),
            notes=[f"it names {listed([str(file) for file in inside])}"],
            help="choose another folder for the run",
        )
    sink.stop()
    # There may be nothing to resume yet: then the run begins.
    run.retried, run.resuming, run.limits = resume, resume and taken, recipe.limits
    run.cluster = recipe.cluster.address if recipe.cluster is not None else None
    return run


def _how_to_use(path: Path) -> str:
    """Return what to do about a folder that is not empty."""
    ways = ["choose another folder", "give --overwrite (in Python: overwrite=True)"]
    if RunFiles(path).is_unfinished():
        ways.append("give --resume (in Python: resume=True) to continue the run in it")
    return ", or ".join(ways)


def _folder_name(model: str) -> str:
    """Return a name for a folder, which every system accepts, for a model of this name."""
    name = re.sub(r"[^\w.-]+", "-", model)[:_LONGEST_NAME].strip(".-") or "model"
    return f"run-{name}" if _RESERVED.fullmatch(name) else name


def default_folder(recipe: Recipe, *, resume: bool) -> Path:
    """Return `runs/NAME`, or the first of `runs/NAME-2`, `-3`, … that does not exist yet.

    To resume, return the latest of these that was broken off, or else the latest.
    """
    name = _folder_name(recipe.model)
    candidates = (Path("runs") / (name if i == 1 else f"{name}-{i}") for i in count(1))
    taken = list(takewhile(lambda path: path.exists(), candidates))
    if resume:
        runs = [RunFiles(path) for path in taken]
        begun = [r.path for r in runs if r.is_unfinished()]
        return (begun or taken or [Path("runs") / name])[-1]
    return Path("runs") / (name if not taken else f"{name}-{len(taken) + 1}")
