"""The run folder of a training: model, metrics, history, lock file, checkpoint while running."""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from spnc.common.atomic import flush, replacing, write_bytes, write_text, write_together
from spnc.common.budget import Budget
from spnc.common.savepoints import Savepoints
from spnc.common.sealed import read_sealed_json
from spnc.common.signals import tidying
from spnc.data.dataset import Dataset
from spnc.diagnostics import InputError, Sink, writing
from spnc.model import Model, to_bytes
from spnc.program.program import Parameters, Program
from spnc.registry.files import given_files
from spnc.runs import in_use, kept_data, kept_work, time_used
from spnc.runs.checkpoint import fingerprint, read_state, state_bytes
from spnc.runs.files import BEST, RunFiles
from spnc.runs.history import history_text
from spnc.runs.interruption import Interrupted
from spnc.runs.kept_data import DataReader
from spnc.runs.kept_work import WorkFolder
from spnc.runs.lock import lock_text, recipe_text, request_digest
from spnc.runs.lost_cluster import is_lost_cluster
from spnc.runs.metrics import Metrics
from spnc.runs.results import metrics_content
from spnc.spec.limits import Limits
from spnc.spec.recipe import Recipe
from spnc.training import Record, State

# Between two checkpoints: with the iteration under way, a kill costs less than thirty seconds.
CHECKPOINT_SECONDS = 15.0


@dataclass(eq=False)
class RunFolder(RunFiles):
    """The folder of one training, from its beginning to its end."""

    sink: Sink
    resuming: bool = False  # whether an interrupted run in it is to be continued
    retried: bool = False  # whether it was asked to resume, if there is anything
    limits: Limits | None = None  # given with this run, and to be given again to resume it
    cluster: str | None = None  # its address, likewise
    latest: State | None = None
    _hold: in_use.Hold | None = None
    _locked: str | None = None  # the content of the lock file, once it is written
    _begun: bool = False  # whether there is something to resume from
    _work: WorkFolder | None = None
    _work_began: bool = False  # whether something of this run was kept
    _data: DataReader | None = None
    _request: str = ""  # the `request_digest` of this run, once its data are read
    _fingerprint: str = ""
    _saved_at: float = -math.inf  # so that the first iteration is saved at once

    @contextmanager
    def held(self, budget: Budget | None = None) -> Iterator[None]:
        """Let no other training use the folder (E511), and signals end the run properly.

        The time that the run took before it was interrupted or killed is added to the budget.
        """
        budget = budget or Budget()
        with tidying(), in_use.in_use(self.path, self.sink) as self._hold:
            if self.resuming or self.retried:
                budget.before += time_used.read(self.path, self.killed, self.sink)
                self.sink.stop()
            time_used.note(self.path, budget.used())
            try:
                yield
            finally:
                time_used.note(self.path, budget.used() if self.is_unfinished() else None)

    @property
    def has_checkpoint(self) -> bool:
        """Whether a training is resumed that has parameters already."""
        return self.resuming and self.checkpoint.is_file()

    @property
    def killed(self) -> in_use.Killed | None:
        """The run before, if it was killed."""
        return self._hold.killed if self._hold is not None else None

    def renew(self) -> None:
        """Take the folder again if it was removed under the run (W406). Raises OSError.

        Called before something is written, or files of two runs could be mixed.
        """
        if self._hold is None or not self._hold.renew():
            return
        self.sink.warning(
            "W406",
            "the run folder was removed during the run, and was created again",
            where=str(self.path),
        )
        if self._locked is not None:
            write_text(self.lock, self._locked)

    def report_nothing_to_resume(self, what: str, notes: Sequence[str] = ()) -> None:
        """Report that the folder has no interrupted run (E403)."""
        finished = self.model.is_file()
        self.sink.error(
            "E403",
            f"there is {what} to resume in `{self.path}`"
            + ("; it is finished" if finished else ""),
            where=str(self.path),
            notes=notes,
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
        limits = self.limits.options_beside(begun) if self.limits is not None else ""
        if self.cluster is not None and "cluster.address=" not in begun:
            limits += f" --cluster {shlex.quote(self.cluster)}"
        return f"spnc{plugins} train {begun or '…'} --out {out}{limits} --resume{allow}"

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
            self.renew()
            write_bytes(self.checkpoint, state_bytes(self.latest, self._fingerprint))
        except OSError as error:
            self.report_unwritten(error)
            return False
        return True

    def report_unwritten(self, error: OSError) -> None:
        """Warn, once, that the state of training could not be written (W403)."""
        if not any(d.code == "W403" for d in self.sink.diagnostics):
            reason = error.strerror or str(error)
            self.sink.warning(
                "W403",
                f"a checkpoint could not be written: {reason}",
                where=str(self.checkpoint),
                notes=["training went on without it"],
            )

    def keep_work(self, recipe: Recipe, dataset: Dataset) -> Savepoints:
        """Return where the run keeps what it learns before training.

        Nothing is written in the first seconds. Stops if work of another run is to be resumed.
        """

        def establish() -> None:
            if not self._begun:
                text = lock_text(recipe, dataset, self.path)
                self.replace(text, keep_checkpoint=self.resuming)
                self._begun = True

        request = request_digest(recipe_text(recipe), dataset.digest)
        return self.open_work(request, establish)

    def open_work(self, request: str, establish: Callable[[], None]) -> WorkFolder:
        """Return where work is kept; `establish` makes the folder one that can be resumed.

        `request` is the `request_digest` of the run.
        """
        self._request = request
        others = kept_work.fingerprints(self.work, but=kept_data.NAME) if self.resuming else set()
        if others and request not in others:
            self.sink.error(
                "E403",
                "the kept work belongs to another recipe or other data",
                where=str(self.work),
                help=f"continue with `{self.resume_command()}`, or train into another folder",
            )
            self.sink.stop()

        def prepare() -> None:
            establish()
            self.renew()
            if not self.resuming and not self._work_began:
                kept_work.remove(self.work)  # what another run has left
            self._work_began = True

        self._work = self._work_of(request, prepare)
        if self._data is not None:
            self._data.keep(prepare)
        return self._work

    def _work_of(self, fingerprint: str, prepare: Callable[[], None]) -> WorkFolder:
        return WorkFolder(self.work, fingerprint, self.sink, prepare, resuming=self.resuming)

    @property
    def read_data(self) -> DataReader:
        """Reads the data of the run; what took long is kept with the other work."""
        if self._data is None:
            self._data = DataReader(self._work_of, resuming=self.resuming)
        return self._data

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
        with writing(self.path, self.sink):
            text = lock_text(recipe, dataset, self.path, program)
            self.replace(text, keep_checkpoint=state is not None)
            if self._work is None or not self._work.is_established:
                kept_work.remove(self.work)
        self._begun = True
        return state

    def replace(self, locked: str, *, keep_checkpoint: bool = False) -> None:
        """Write the lock file and delete an earlier run's files, if the former fits on the disk."""
        self.renew()
        old = [self.model, self.metrics, self.history, self.tries, self.search, self.recipe]
        old += [self.report, *self.path.glob(BEST), *self.left_over()]
        with replacing(self.lock) as file:
            file.write(locked.encode())
            flush(file)
            for path in old if keep_checkpoint else [*old, self.checkpoint]:
                path.unlink(missing_ok=True)
        self._locked = locked

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
            if self._work is not None and self._work.is_established:
                self._begun = True
            if not self._begun:
                raise self.nothing_kept() from None
            if self.latest is None:
                raise self.interrupted("interrupted before the first iteration") from None
            what = f"interrupted after iteration {self.latest.history[-1].iteration}"
            saved = self.write_checkpoint()
            what += f"; saved in {self.checkpoint}" if saved else "; it could not be saved"
            raise self.interrupted(what) from None
        except InputError as error:
            raise self.cut_short(error) from error.__cause__

    def cut_short(self, error: InputError) -> InputError:
        """Write a checkpoint if a cluster was lost; return the error, which says how to resume."""
        if not (is_lost_cluster(error) and self.is_unfinished()):
            return error
        found, *others = error.diagnostics
        notes = found.notes
        if self.latest is not None and self.write_checkpoint():
            iteration = self.latest.history[-1].iteration
            notes = (*notes, f"after iteration {iteration}; saved in {self.checkpoint}")
        help = f"{found.help}; continue with: {self.resume_command()}"
        return InputError([replace(found, notes=notes, help=help), *others])

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

    def finish(
        self,
        model: Model,
        metrics: Metrics,
        history: Sequence[Record],
        others: Mapping[Path, str] | None = None,
    ) -> None:
        """Write the results, with `others` besides, and delete what resuming needed.

        The model comes last: while there is none, the run is not finished and can be resumed, so
        its results appear together or not at all. The metrics hold the checksums of all files.
        """
        with writing(self.path, self.sink, self.how_to_continue):
            self.renew()
            files = {file: file.read_bytes() for file in self.results if file.is_file()}
            texts = {**(others or {}), self.history: history_text(history)}
            new = {file: text.encode() for file, text in texts.items()}
            new[self.model] = to_bytes(model)
            named = {file.name: content for file, content in {**files, **new}.items()}
            about = metrics_content(metrics, model.provenance, self._request, named)
            write_together({self.metrics: about, **new})
            self.tidy()

    def tidy(self) -> None:
        """Delete what a finished run needs no more. Raises OSError."""
        old = [self.checkpoint, self.search, *self.path.glob(BEST), *self.left_over()]
        for file in old:
            file.unlink(missing_ok=True)
        kept_work.remove(self.work)

    def how_to_continue(self) -> str | None:
        """Return what to do when the results could not be written."""
        if not self.is_unfinished():
            return None
        return f"once it can be written, continue with `{self.resume_command()}`"

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
