"""The run folder of a training: model, metrics, history, lock file, checkpoint while running."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import count, takewhile
from pathlib import Path

from spnc.common.atomic import write_bytes, write_text
from spnc.common.sealed import read_sealed_json
from spnc.common.signals import tidying
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink, listed, writing
from spnc.model import Model, to_bytes
from spnc.program.program import Parameters, Program
from spnc.registry.files import given_files
from spnc.runs import in_use
from spnc.runs.checkpoint import fingerprint, read_state, state_bytes
from spnc.runs.interruption import Interrupted
from spnc.runs.lock import lock_text
from spnc.runs.metrics import Metrics
from spnc.runs.results import metrics_content
from spnc.spec.recipe import Recipe
from spnc.spec.relocate import files_of
from spnc.training import Record, State

CHECKPOINT_SECONDS = 30.0
BEST = "best-*.spnc"  # the best model of a search so far


@dataclass(eq=False)
class RunFolder:
    """The files of one training."""

    path: Path
    sink: Sink
    resuming: bool = False  # whether an interrupted run in it is to be continued
    retried: bool = False  # whether it was asked to resume, if there is anything
    killed: in_use.Killed | None = None  # the run before, if it was killed
    latest: State | None = None
    _begun: bool = False  # whether there is something to resume from
    _fingerprint: str = ""
    _saved_at: float = -math.inf  # so that the first iteration is saved at once

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
        """The short recipe that `--auto` has chosen, for people."""
        return self.path / "recipe.yaml"

    @property
    def tries(self) -> Path:
        """A line per try, after a search."""
        return self.path / "tries.csv"

    @property
    def search(self) -> Path:
        """The journal of a search, while it runs."""
        return self.path / "search.json"

    @property
    def report(self) -> Path:
        """The page about the run, if one was written."""
        return self.path / "report.html"

    @property
    def checkpoint(self) -> Path:
        """The state of training, while it runs."""
        return self.path / "checkpoint.safetensors"

    def is_new(self) -> bool:
        """Return whether nothing is in the folder but what a killed run may leave at once."""
        if not self.path.is_dir():
            return not self.path.exists()
        return all(p.name == in_use.NAME or p in self.left_over() for p in self.path.iterdir())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other training use the folder (E511), and signals end the run properly."""
        with tidying(), in_use.in_use(self.path, self.sink) as self.killed:
            yield

    def is_unfinished(self) -> bool:
        """Return whether the folder holds a run that was interrupted."""
        locked = self.lock.is_file() and not self.model.is_file()
        return self.checkpoint.is_file() or self.search.is_file() or locked

    def report_nothing_to_resume(self, what: str) -> None:
        """Report that the folder has no interrupted run (E403)."""
        finished = self.model.is_file()
        self.sink.error(
            "E403",
            f"there is {what} to resume in `{self.path}`"
            + ("; it is finished" if finished else ""),
            where=str(self.path),
            help="to train again, give --overwrite (in Python: overwrite=True) or another folder"
            if finished
            else "train without --resume (in Python: resume=False)",
        )

    def resume_command(self) -> str:
        """Return the shell command that resumes what was interrupted here."""
        begun = shlex.quote(str(self.lock))
        if self.search.is_file():
            try:
                begun = shlex.join(read_sealed_json(self.search.read_bytes())["command"])
            except (OSError, LookupError, TypeError, ValueError):
                begun = ""
        try:
            locked = self.lock.read_text("utf-8", errors="replace")
        except OSError:
            locked = ""
        allow = " --allow-plugins" if re.search(r"^plugins:", locked, re.MULTILINE) else ""
        plugins = "".join(f" --plugin {shlex.quote(file)}" for file in given_files())
        out = shlex.quote(str(self.path))
        return f"spnc{plugins} train {begun or '…'} --out {out} --resume{allow}"

    def keep(self, state: State) -> None:
        """Remember the state after an iteration; write it if the last checkpoint is old enough."""
        self.latest = state
        if time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS:
            self.write_checkpoint()

    def write_checkpoint(self) -> bool:
        """Write the latest state. Return whether that worked; if not, training goes on (W403)."""
        if self.latest is None:
            return False
        self._saved_at = time.monotonic()
        try:
            write_bytes(self.checkpoint, state_bytes(self.latest, self._fingerprint))
        except OSError as error:
            if not any(d.code == "W403" for d in self.sink.diagnostics):
                reason = error.strerror or str(error)
                self.sink.warning(
                    "W403",
                    f"a checkpoint could not be written: {reason}",
                    where=str(self.checkpoint),
                    notes=["training went on without it"],
                )
            return False
        return True

    def begin(
        self, recipe: Recipe, dataset: Dataset, program: Program, parameters: Parameters
    ) -> State | None:
        """Create the folder with its lock file; from here on the run can be resumed.

        Return the state to continue from if the run is resumed, unless it was broken off before
        its first iteration.
        """
        self.attend(recipe, dataset, program, parameters)
        state = self.read_checkpoint(parameters, self.sink) if self.resuming else None
        self.sink.stop()
        with writing(self.path):
            self.clear(keep_checkpoint=state is not None)
            write_text(self.lock, lock_text(recipe, dataset, self.path, program))
        self._begun = True
        return state

    def clear(self, *, keep_checkpoint: bool) -> None:
        """Create the folder and delete an earlier run's files."""
        self.path.mkdir(parents=True, exist_ok=True)
        old = [self.model, self.metrics, self.history, self.tries, self.search, self.recipe]
        old += [self.report, *self.path.glob(BEST), *self.left_over()]
        for file in old if keep_checkpoint else [*old, self.checkpoint]:
            file.unlink(missing_ok=True)

    def left_over(self) -> list[Path]:
        """Return the temporary files of a run that was killed while it wrote."""
        names = [self.model, self.metrics, self.history, self.lock, self.recipe, self.tries]
        names += [self.search, self.report, self.checkpoint, self.path / BEST]
        return [file for name in names for file in self.path.glob(f".{name.name}.*")]

    def attend(
        self, recipe: Recipe, dataset: Dataset, program: Program, parameters: Parameters
    ) -> None:
        """Let the checkpoints from now on belong to the training of this program."""
        self._fingerprint = fingerprint(recipe, dataset, program, parameters)
        self.latest, self._saved_at = None, -math.inf

    @contextmanager
    def saving_on_interruption(self) -> Iterator[None]:
        """Write a checkpoint when the training inside is interrupted, and raise `Interrupted`.

        A run that was interrupted before its first iteration can be resumed from its lock file.
        """
        try:
            yield
        except KeyboardInterrupt:
            if not self._begun:
                raise self.nothing_kept() from None
            if self.latest is None:
                raise self.interrupted("interrupted before the first iteration") from None
            what = f"interrupted after iteration {self.latest.history[-1].iteration}"
            saved = self.write_checkpoint()
            what += f"; saved in {self.checkpoint}" if saved else "; it could not be saved"
            raise self.interrupted(what) from None

    def nothing_kept(self) -> Interrupted:
        """Return the exception that says that an interruption left nothing."""
        return Interrupted(
            "interrupted before there was anything to keep: the same command begins anew",
            self.sink.diagnostics,
        )

    def interrupted(self, what: str) -> Interrupted:
        """Return the exception that says what an interruption left, and how to resume."""
        if self.recipe.is_file():
            model = next(iter(sorted(self.path.glob(BEST))), self.path)
            what += f"\nthe best so far: {model}, from {self.recipe}"
        return Interrupted(f"{what}\ncontinue with: {self.resume_command()}", self.sink.diagnostics)

    def finish(self, model: Model, metrics: Metrics, history: Sequence[Record]) -> None:
        """Write the results and delete the checkpoint.

        The model comes last: while there is none, the run is not finished and can be resumed, so
        its results appear together or not at all. The metrics hold the checksums of all files.
        """
        content = to_bytes(model)
        with writing(self.path):
            write_text(self.history, _history_text(history))
            others = (file for file in self.results if file.is_file() and file != self.model)
            files = {file.name: file.read_bytes() for file in others}
            files[self.model.name] = content
            write_bytes(self.metrics, metrics_content(metrics, model.provenance, files))
            write_bytes(self.model, content)
            self.checkpoint.unlink(missing_ok=True)

    @property
    def results(self) -> tuple[Path, ...]:
        """The files of a finished run that its metrics have checksums of."""
        return (self.model, self.history, self.lock, self.recipe, self.tries)

    def read_checkpoint(
        self, like: Parameters, sink: Sink, *, searching: bool = False
    ) -> State | None:
        """Return the state to continue from; `like` are the first parameters of the training.

        None after reporting why there is no state, or if training starts from the beginning: a run
        that was broken off before its first iteration has a lock file and nothing else, and in a
        search the checkpoint may be that of a finished try.
        """
        where = str(self.checkpoint)
        if not searching and self.search.is_file():
            sink.error(
                "E403",
                f"`{self.path}` holds an unfinished search, and this spec has no `search`",
                where=str(self.path),
                help=f"continue with `{self.resume_command()}`, or train into another folder",
            )
            return None
        if not self.checkpoint.is_file():
            if searching or (self.lock.is_file() and not self.model.is_file()):
                return None
            self.report_nothing_to_resume("nothing")
            return None
        try:
            state = read_state(self.checkpoint, self._fingerprint, like)
        except (OSError, LookupError, ValueError, TypeError) as error:
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
                "the checkpoint belongs to another recipe or other data",
                where=where,
                help=f"continue with `{self.resume_command()}`, or train into another folder",
            )
        return state


def _history_text(history: Sequence[Record]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f.name for f in fields(Record)]
    writer.writerow(names)
    writer.writerows([_cell(getattr(r, n)) for n in names] for r in history)
    return text.getvalue()


def _cell(value: object) -> str:
    return "" if value is None else repr(value)


def open_run(
    recipe: Recipe, out: str | Path | None, sink: Sink, *, resume: bool, overwrite: bool
) -> RunFolder:
    """Return the run folder; stop if it holds something that must not be lost (E506).

    To resume in a folder that does not exist yet is to begin. Without `out` the folder is
    `runs/NAME`, or `runs/NAME-2` and so on if that is taken.
    """
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
    inside = [f for f in sorted(files_of(recipe)) if path.resolve() in f.resolve().parents]
    if taken and overwrite and inside:
        sink.error(
            "E506",
            f"`{path}` holds files that this spec needs",
            where=str(path),
            notes=[f"it names {listed([str(file) for file in inside])}"],
            help="choose another folder for the run",
        )
    sink.stop()
    run.retried, run.resuming = (
        resume,
        resume and taken,
    )  # there may be nothing to resume yet: then the run begins
    return run


def _how_to_use(path: Path) -> str:
    """Return what to do about a folder that is not empty."""
    ways = ["choose another folder", "give --overwrite (in Python: overwrite=True)"]
    if RunFolder(path, Sink()).is_unfinished():
        ways.append("give --resume (in Python: resume=True) to continue the run in it")
    return ", or ".join(ways)


def default_folder(recipe: Recipe, *, resume: bool) -> Path:
    """Return `runs/NAME`, or the first of `runs/NAME-2`, `-3`, … that does not exist yet.

    To resume, return the latest of these that was broken off.
    """
    name = re.sub(r"[^\w.-]+", "-", recipe.model).strip(".-") or "model"
    candidates = (Path("runs") / (name if i == 1 else f"{name}-{i}") for i in count(1))
    taken = list(takewhile(lambda path: path.exists(), candidates))
    if resume:
        runs = [RunFolder(path, Sink()) for path in taken]
        begun = [r.path for r in runs if r.is_unfinished()]
        return begun[-1] if begun else Path("runs") / name
    return Path("runs") / (name if not taken else f"{name}-{len(taken) + 1}")
