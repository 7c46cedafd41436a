"""Files of run folders, and how spnc reads them: what is damaged, and what then has to come out.

A reader returns everything that a user gets from the file, as bytes, or raises `InputError`.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import spnc
from benchmarks.attack.keeping import keep_every
from spnc.common.observer import Observer, Stage
from spnc.diagnostics import InputError, Sink
from spnc.model import to_bytes
from spnc.reports.facts.reading import read_run
from spnc.runs.files import RunFiles
from spnc.runs.history import read_history
from spnc.runs.in_use import NAME as IN_USE
from spnc.runs.kept_work import ENDING
from spnc.runs.kept_work import NAME as KEPT_WORK
from spnc.runs.lock import recipe_text
from spnc.spec.read import read_recipe
from tests.choosing import choose

SPEC = """model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest: [{learner: extra-spn, count: COUNT, min_instances: 600}]
optimizer: {max_iterations: 3}
backend: numpy
"""
AUTO_SECONDS, AUTO_TICK = 6.0, 0.05  # on a clock that every look at it moves on by a tick
_KERNEL = """from spnc.backends.planning.compiling import kernel


@kernel
def added(first, second):
    return first + second
"""

Read = Callable[[Path], bytes]  # from the run folder, or from the file where that is enough


@dataclass(frozen=True)
class Victim:
    """A file that is damaged. `read` gets `folder`, in which everything else is intact."""

    name: str
    reader: str  # in words
    folder: Path
    file: str
    read: Read
    weight: int = 1  # share of the damages; slow readers have a small one
    others: tuple[bytes, ...] = ()  # the same file of other runs

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / self.file


class _InterruptsSecondTry(Observer):
    """Interrupts a search when its second try is about to begin."""

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        del total, what, best
        if done == 1:
            raise KeyboardInterrupt


class _InterruptsAt(Observer):
    """Interrupts a run when a stage begins."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def stage(self, stage: Stage | str) -> None:
        if stage is self._stage:
            raise KeyboardInterrupt


class _InterruptsAfter(Observer):
    """Interrupts a run after some iterations, counted over all tries."""

    def __init__(self, iterations: int) -> None:
        self.left = iterations

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        del number, train, valid, is_best
        self.left -= 1
        if self.left <= 0:
            raise KeyboardInterrupt


def victims(home: Path) -> list[Victim]:
    """Make runs in a folder, finished and unfinished ones, and return their files.

    From then on, this process keeps all work at once.
    """
    keep_every(0.0)
    single, grid = home / "single.yaml", home / "grid.yaml"
    single.write_text(SPEC.replace("COUNT", "2"), encoding="utf-8")
    grid.write_text(SPEC.replace("COUNT", "{search: [1, 2, 3]}"), encoding="utf-8")
    return [
        *_finished(home, single),
        *_unfinished(home / "structure", single, lambda _: _InterruptsAt(Stage.LINKS)),
        *_unfinished(home / "training", single, lambda late: _InterruptsAfter(2 + late)),
        *_unfinished(home / "search", grid, lambda late: _InterruptsAfter(6 + late)),
        *_auto(home),
        *_compiled_code(home),
    ]


def _finished(home: Path, spec: Path) -> list[Victim]:
    """Return the files of finished runs, of which `--auto` leaves the most."""
    run, other = home / "finished", home / "other"
    spnc.train(spec, out=run)
    spnc.train(spec, ["seed=5"], out=other)
    found = [
        Victim("model.spnc", "spnc.load", run, "model.spnc", _loaded, 100),
        Victim("recipe.lock.yaml", "as a spec", run, "recipe.lock.yaml", _locked, 30),
        Victim("history.csv", "spnc plot history", run, "history.csv", _curve, 30),
    ]
    chosen, elsewhere = home / "auto", home / "auto-other"
    choose(chosen, AUTO_SECONDS, AUTO_TICK)
    choose(elsewhere, AUTO_SECONDS, AUTO_TICK, given=["seed=5"])
    for one, two, weight in ((run, other, 12), (chosen, elsewhere, 25)):
        for file in sorted(one.iterdir()):
            others = ((two / file.name).read_bytes(),)
            found.append(
                Victim(file.name, "spnc report", one, file.name, _reported, weight, others)
            )
    return found


def _unfinished(run: Path, spec: Path, interrupts: Callable[[bool], Observer]) -> list[Victim]:
    """Return the files of a run that was interrupted; they are read by resuming it.

    Its files of a later moment take their places too, and those of a run with another seed.
    """
    folders: list[Path] = []
    for late, settings in ((False, ()), (True, ()), (False, ("seed=5",))):
        folder = run.with_name(f"{run.name}-{len(folders)}")
        try:
            spnc.train(spec, settings, out=folder, progress=interrupts(late))
        except spnc.Interrupted:
            folders.append(folder)
    first, *rest = folders
    (first / IN_USE).write_text(
        json.dumps({"host": "here", "process": 1, "since": "2026-01-01T00:00:00+00:00"})
    )

    def resumed(folder: Path) -> bytes:
        again = folder.with_name(f"{folder.name}-again")
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(folder, again)
        spnc.train(spec, out=again, resume=True)
        return (again / "model.spnc").read_bytes()

    found = []
    for path in sorted(path for path in first.rglob("*") if path.is_file()):
        file = str(path.relative_to(first))
        twins = [other / file for other in rest if (other / file).is_file()]
        others = tuple(twin.read_bytes() for twin in twins)
        weight = 1 if path.name in (IN_USE, "recipe.lock.yaml") else 6  # which are always accepted
        reader = f"resuming a {run.name}"
        found.append(Victim(_shown(path), reader, first, file, resumed, weight, others))
    return found


def _shown(path: Path) -> str:
    """Return how a file is called on the page; those of one sort have one name."""
    if path.suffix == ENDING:
        return f"{KEPT_WORK}/*{ENDING}"
    return "best-N.spnc" if path.suffix == ".spnc" else path.name


def _auto(home: Path) -> list[Victim]:
    """Return the journal of `--auto` and its best model; resuming has to choose the same."""
    run = home / "choosing"
    with suppress(KeyboardInterrupt):
        choose(run, AUTO_SECONDS, AUTO_TICK, observer=_InterruptsSecondTry())

    def resumed(folder: Path) -> bytes:
        again = folder.with_name("choosing-again")
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(folder, again)
        choose(again, AUTO_SECONDS, AUTO_TICK, resuming=True)
        return (again / "model.spnc").read_bytes()

    files = [run / "search.json", *run.glob("best-*.spnc")]
    return [Victim(_shown(file), "resuming --auto", run, file.name, resumed, 4) for file in files]


def _compiled_code(home: Path) -> list[Victim]:
    """Return the files in which Numba keeps a compiled kernel: an index, and machine code."""
    module = home / "damaged_kernel.py"
    module.write_text(_KERNEL, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(module.stem, module)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module.stem] = loaded  # numba looks for it there
    spec.loader.exec_module(loaded)
    compiled: Any = loaded.added
    compiled(1.0, 2.0)
    cache = compiled._cache._cache_file

    def used(_: Path) -> bytes:
        """Return what numba would run; nothing if it would compile anew."""
        index = cache._load_index()
        try:
            return b"".join(repr(cache._load_data(name)).encode() for name in index.values())
        except OSError:  # which numba takes as absent
            return b""

    folder = Path(cache._index_path).parent
    return [
        Victim(f"Numba's *{file.suffix}", "a call", folder, file.name, _refusing_nothing(used), 10)
        for file in sorted(folder.glob("damaged_kernel.added*"))
        if file.suffix in (".nbi", ".nbc")
    ]


def _refusing_nothing(used: Read) -> Read:
    """Return the reader with code that is compiled anew as a refusal."""

    def read(folder: Path) -> bytes:
        found = used(folder)
        if not found:
            raise InputError([])
        return found

    return read


def _loaded(folder: Path) -> bytes:
    return to_bytes(spnc.load(folder / "model.spnc"))


def _locked(folder: Path) -> bytes:
    sink = Sink()
    recipe = read_recipe(folder / "recipe.lock.yaml", sink)
    return recipe_text(sink.require(recipe)).encode()


def _curve(folder: Path) -> bytes:
    sink = Sink()
    found = read_history(folder, sink)
    return repr(astuple(sink.require(found))).encode()


def _reported(folder: Path) -> bytes:
    """Return everything that a report is made from."""
    sink = Sink()
    run = sink.require(read_run(folder, sink, Observer(), with_data=False))
    texts = [json.dumps(run.metrics.to_json()), repr(run.history), run.lock_text]
    extra = [file for file in RunFiles(folder).results if file.suffix != ".spnc"]
    contents = [file.read_bytes() for file in extra if file.is_file()]
    return to_bytes(run.model) + "".join(texts).encode() + b"".join(contents)
