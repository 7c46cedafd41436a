"""The run folder of a training: model, metrics, history, lock file, checkpoint while running."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import shlex
import time
from dataclasses import dataclass, fields, replace
from itertools import count, takewhile
from pathlib import Path

from spnc.common.atomic import write_bytes, write_text
from spnc.runs.checkpoint import read_state, state_bytes
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.runs.lock import recipe_text, versions
from spnc.pipeline import Compiled, Trained
from spnc.program.program import Program
from spnc.registry.usage import suppliers, used_plugins
from spnc.spec.recipe import Lock, Recipe
from spnc.spec.relocate import relocated
from spnc.spec.write_yaml import write_yaml
from spnc.training import Record, State

CHECKPOINT_SECONDS = 30.0
BEST = "best-*.spnc"  # the best model of a search so far


@dataclass(eq=False)
class RunFolder:
    """Where one training keeps its files. `keep` is called on every iteration."""

    path: Path
    sink: Sink
    fingerprint: str = ""
    latest: State | None = None
    _saved_at: float = -math.inf  # the first iteration is kept at once

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.path / "model.spnc"

    @property
    def metrics(self) -> Path:
        """How training went, in numbers."""
        return self.path / "metrics.json"

    @property
    def history(self) -> Path:
        """A line per iteration."""
        return self.path / "history.csv"

    @property
    def lock(self) -> Path:
        """The spec that repeats the run."""
        return self.path / "recipe.lock.yaml"

    @property
    def recipe(self) -> Path:
        """The recipe that `--auto` has come to, short, for people."""
        return self.path / "recipe.yaml"

    @property
    def tries(self) -> Path:
        """A line per try, after a search."""
        return self.path / "tries.csv"

    @property
    def search(self) -> Path:
        """Where a search stands, while it runs."""
        return self.path / "search.json"

    @property
    def report(self) -> Path:
        """The page about the run, if one was written."""
        return self.path / "report.html"

    @property
    def checkpoint(self) -> Path:
        """Where training stands, while it runs."""
        return self.path / "checkpoint.safetensors"

    def go_on(self) -> str:
        """The command that goes on with what was broken off here, as a shell takes it."""
        begun = shlex.quote(str(self.lock))
        if self.search.is_file():
            try:
                begun = shlex.join(json.loads(self.search.read_text("utf-8"))["command"])
            except (OSError, LookupError, RecursionError, TypeError, ValueError):
                begun = ""
        locked = self.lock.read_text("utf-8") if self.lock.is_file() else ""
        allow = " --allow-plugins" if re.search(r"^plugins:", locked, re.MULTILINE) else ""
        return f"spnc train {begun or '…'} --out {shlex.quote(str(self.path))} --resume{allow}"

    def keep(self, state: State) -> None:
        """Remember the state; write it when the last write is some time ago."""
        self.latest = state
        if time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS:
            self.write_checkpoint()

    def write_checkpoint(self) -> bool:
        """Write the latest state, if there is one; training can go on where that fails."""
        if self.latest is None:
            return False
        self._saved_at = time.monotonic()
        try:
            write_bytes(self.checkpoint, state_bytes(self.latest, self.fingerprint))
        except OSError as error:
            if not any(d.code == "W403" for d in self.sink.diagnostics):
                reason = error.strerror or str(error)
                self.sink.warning(
                    "W403",
                    f"a checkpoint could not be written: {reason}",
                    where=str(self.checkpoint),
                    notes=["training went on without"],
                )
            return False
        return True

    def begin(self, compiled: Compiled, *, resuming: bool) -> None:
        """Make the folder, with the lock file in it: from here on the run can be resumed."""
        self.clear(keep_checkpoint=resuming)
        self.attend(compiled)
        text = lock_text(compiled.recipe, compiled.dataset, self.path, compiled.program)
        write_text(self.lock, text)

    def clear(self, *, keep_checkpoint: bool) -> None:
        """Make the folder; what an earlier run left there is removed, so that no file is of it."""
        self.path.mkdir(parents=True, exist_ok=True)
        old = [self.model, self.metrics, self.history, self.tries, self.search, self.recipe]
        old += [self.report, *self.path.glob(BEST), *self.left_over()]
        for file in old if keep_checkpoint else [*old, self.checkpoint]:
            file.unlink(missing_ok=True)

    def left_over(self) -> list[Path]:
        """What a run that was killed while it wrote has left: halves of files."""
        names = [self.model, self.metrics, self.history, self.lock, self.recipe, self.tries]
        names += [self.search, self.report, self.checkpoint, self.path / BEST]
        return [file for name in names for file in self.path.glob(f".{name.name}.*")]

    def attend(self, compiled: Compiled) -> None:
        """Checkpoints are of this from now on."""
        self.fingerprint = _fingerprint(compiled)
        self.latest, self._saved_at = None, -math.inf

    def finish(self, trained: Trained) -> None:
        """Write the results; the checkpoint has served."""
        trained.model.save(self.model)
        text = json.dumps(trained.metrics, indent=2)
        write_text(self.metrics, text + "\n")
        write_text(self.history, _history_text(trained.fitted.history))
        self.checkpoint.unlink(missing_ok=True)

    def read_checkpoint(
        self, compiled: Compiled, sink: Sink, *, searching: bool = False
    ) -> State | None:
        """The state to go on from. None after reporting why there is none, or to start anew:

        a run that was broken off before its first iteration has a lock file and nothing else;
        in a search, the checkpoint may be that of a finished try.
        """
        from safetensors import SafetensorError

        where = str(self.checkpoint)
        if not searching and self.search.is_file():
            sink.error(
                "E403",
                f"`{self.path}` holds a search that is not finished, and this is no search",
                where=str(self.path),
                help=f"go on with `{self.go_on()}`, or train into another folder",
            )
            return None
        if not self.checkpoint.is_file():
            if searching or (self.lock.is_file() and not self.model.is_file()):
                return None
            done = "; it is finished" if self.model.is_file() else ""
            sink.error(
                "E403",
                f"there is nothing to resume in `{self.path}`{done}",
                where=str(self.path),
                help="train without --resume",
            )
            return None
        try:
            state = read_state(self.checkpoint, _fingerprint(compiled), compiled.parameters)
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            sink.error(
                "E403",
                "the checkpoint cannot be read",
                where=where,
                notes=[(str(error) or type(error).__name__).splitlines()[0]],
                help="train without --resume",
            )
            return None
        if state is None and not searching:
            sink.error(
                "E403",
                "the checkpoint is of another recipe or other data",
                where=where,
                help=f"go on with `{self.go_on()}`, or train into another folder",
            )
        return state


def lock_text(
    recipe: Recipe, dataset: Dataset, folder: Path, program: Program | None = None
) -> str:
    """A spec that repeats the run: every default resolved, file names seen from `folder`.

    `program` is its circuit, where that is known: leaves can come from plug-ins too.
    """
    leaves = [table.distribution for table in program.leaves] if program is not None else []
    tries = [one.recipe for one in recipe.space.tries] if recipe.space is not None else [recipe]
    plugins = suppliers(used_plugins(tries, leaves))
    lock = Lock(data=dataset.digest, versions=versions(), plugins=plugins)
    recipe = relocated(recipe, lambda file: Path(os.path.relpath(file, folder)).as_posix())
    head = "# Written by spnc: every option of the run, and what it was made from.\n"
    search = recipe.search if recipe.space is not None else None
    recipe = replace(recipe, backend=recipe.backend.resolved(), search=search, lock=lock)
    return head + write_yaml(recipe, full=True)


def short_text(recipe: Recipe, folder: Path) -> str:
    """A spec that repeats the run, for people: only what is not the default."""
    return write_yaml(
        relocated(recipe, lambda file: Path(os.path.relpath(file, folder)).as_posix())
    )


def _fingerprint(compiled: Compiled) -> str:
    """What a checkpoint belongs to: the recipe, the data, the circuit and where it started."""
    sha = hashlib.sha256(compiled.dataset.digest.encode())
    sha.update(recipe_text(compiled.recipe).encode())
    for segment in compiled.program.segments:
        sha.update(f"{segment.is_sum} {segment.first} {segment.last}".encode())
        sha.update(segment.starts.tobytes() + segment.children.tobytes())
    sha.update(compiled.parameters.weights.tobytes())
    for leaf, table in zip(compiled.program.leaves, compiled.parameters.tables, strict=True):
        sha.update(leaf.distribution.encode() + leaf.variables.tobytes() + table.tobytes())
    return sha.hexdigest()


def _history_text(history: tuple[Record, ...]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f.name for f in fields(Record)]
    writer.writerow(names)
    writer.writerows([_cell(getattr(r, n)) for n in names] for r in history)
    return text.getvalue()


def _cell(value: object) -> str:
    return "" if value is None else repr(value)


def default_folder(recipe: Recipe, *, resume: bool) -> Path:
    """`runs/NAME`, or the first of `runs/NAME-2`, `-3`, … that is not there yet.

    To resume, the latest of these that was broken off.
    """
    name = re.sub(r"[^\w.-]+", "-", recipe.model).strip(".-") or "model"
    candidates = (Path("runs") / (name if i == 1 else f"{name}-{i}") for i in count(1))
    taken = list(takewhile(lambda path: path.exists(), candidates))
    if resume:
        runs = [RunFolder(path, Sink()) for path in taken]
        begun = [r.path for r in runs if r.checkpoint.is_file() or r.search.is_file()]
        return begun[-1] if begun else Path("runs") / name
    return Path("runs") / (name if not taken else f"{name}-{len(taken) + 1}")
