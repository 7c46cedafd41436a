"""Journals of many tries: those finished and the best model so far, so that they can be resumed.

A search keeps one, and so does `--auto`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from spnc.common.atomic import write_bytes, write_text
from spnc.common.savepoints import NOTHING_KEPT, Savepoints
from spnc.common.sealed import read_sealed_json, sealed_json
from spnc.compilation import Compiled
from spnc.data.dataset import Dataset
from spnc.diagnostics import InputError, Sink, counted, writing
from spnc.model import read_model, to_bytes
from spnc.program.score import Score
from spnc.runs.files import BEST
from spnc.runs.folder import RunFolder
from spnc.runs.lock import lock_text, recipe_text, request_digest, short_text
from spnc.runs.metrics import Metrics
from spnc.runs.outcome import Outcome, outcomes_text
from spnc.spec.recipe import Recipe
from spnc.trained import Trained
from spnc.training import FitResult, Record, State

Plan = Mapping[str, Any]  # a try that is about to begin, as plain values


class TryReader(Protocol):
    """Understands what a journal has kept. Both methods may raise LookupError, TypeError or

    ValueError, if that was damaged.
    """

    def recipe_of(self, outcome: Outcome) -> Recipe:
        """Return the recipe that makes the model of a finished try."""
        ...

    def proposal_of(self, plan: Plan) -> Any:
        """Return what was planned."""
        ...


@dataclass(frozen=True, eq=False)
class Begun:
    """What there is already when tries begin or are resumed."""

    outcomes: tuple[Outcome, ...] = ()  # of the finished tries
    trained: Trained | None = None  # the best of these
    under_way: Any = None  # what the `TryReader` made of the plan of the unfinished try


class Journal:
    """A journal that stores nothing; the base of `SearchFolder`."""

    trying: int = 0  # the number of the present or the last try; 0 before the first
    at_a_time: int = 1  # how many tries are under way at a time

    @property
    def has_checkpoint(self) -> bool:
        """Whether the next try has parameters already."""
        return False

    def open(self, recipe: Recipe, dataset: Dataset, sink: Sink, reader: TryReader) -> Begun:
        """Return what there is of the tries for this recipe."""
        del recipe, dataset, sink, reader
        return Begun()

    def establish(self) -> None:
        """Make the tries resumable from here on; otherwise they are once the first one trains."""

    @property
    def read_data(self) -> Callable[..., Dataset | None] | None:
        """Reads data in place of `spnc.data.load.load`, if there may be kept ones."""
        return None

    @property
    def savepoints(self) -> Savepoints:
        """Where tries keep what they learn before they train; known once the journal is open."""
        return NOTHING_KEPT

    def planned(self, plan: Plan | None) -> None:
        """Note which try is about to begin; None if it is given up."""

    def begin(self, compiled: Compiled, sink: Sink) -> State | None:
        """Note that a try begins its training. Return the state to continue from.

        `sink` is the try's own: what is wrong with a checkpoint ends the try, not the search.
        """
        del compiled, sink
        return None

    def keep(self, state: State) -> None:
        """Note the state of training after an iteration."""

    def finished(self, outcome: Outcome, best: Trained | None) -> None:
        """Note that a try is finished; `best` is its model if it is the best so far."""

    def end(self, trained: Trained, dataset: Dataset) -> None:
        """Note that all tries are over; `trained` is the chosen one."""


@dataclass(eq=False)
class SearchFolder(Journal):
    """Keeps tries in a run folder."""

    run: RunFolder
    words: list[str] = field(default_factory=list)  # what `spnc train` was given, to resume with
    comment: Callable[[Outcome], str] | None = None  # head of `recipe.yaml`; None: no such file
    trying: int = 0
    at_a_time: int = 1
    outcomes: list[Outcome] = field(default_factory=list)
    _plan: Plan | None = None
    _fingerprint: str = ""
    _about_best: dict[str, Any] | None = None
    _begin_with: tuple[Recipe, Dataset] | None = None
    _work: Savepoints | None = None

    @property
    def has_checkpoint(self) -> bool:
        """Whether the next try has parameters already."""
        return self.run.has_checkpoint

    @contextmanager
    def saving_on_interruption(self) -> Iterator[None]:
        """Write what there is when the tries inside are interrupted, and raise `Interrupted`."""
        try:
            with writing(self.run.path, self.run.sink, self.run.how_to_continue):
                yield
        except InputError as error:
            raise self.run.cut_short(error) from error.__cause__
        except KeyboardInterrupt:
            begun = self.trying > 0 or self.at_a_time > 1
            if not (begun and self.established):
                raise self.run.nothing_kept() from None
            self.run.write_checkpoint()
            done = {outcome.number for outcome in self.outcomes}
            finished = counted(len(done), "finished try", "finished tries")
            at = "between tries" if self.trying in done else f"in try {self.trying}"
            at = f"with {self.at_a_time} tries under way" if self.at_a_time > 1 else at
            what = f"interrupted {at}; {finished} kept in {self.run.path}"
            raise self.run.interrupted(what) from None

    def open(self, recipe: Recipe, dataset: Dataset, sink: Sink, reader: TryReader) -> Begun:
        """Return what a resumed folder holds; stop if it belongs to another search."""
        self._fingerprint = request_digest(recipe_text(recipe), dataset.digest)
        self._begin_with = (recipe, dataset)
        if not self.run.resuming:
            return Begun()
        begun = self._read(sink, reader)
        sink.stop()
        return begun

    def establish(self) -> None:
        """Create the folder and write what the tries are for.

        A finished run in it is left alone until there is something to put in its place.
        """
        if self.run.resuming or not self.run.model.is_file():
            self._establish()

    @property
    def read_data(self) -> Callable[..., Dataset | None] | None:
        """Reads data as the run folder has kept them, or else from their files."""
        return self.run.read_data

    @property
    def savepoints(self) -> Savepoints:
        """The kept work of the run folder."""
        if self._work is None:
            self._work = self.run.open_work(self._fingerprint, self._establish)
        return self._work

    def planned(self, plan: Plan | None) -> None:
        """Write which try is about to begin."""
        self._plan = plan
        if self._begin_with is None:
            self._write()

    def _establish(self) -> None:
        if self._begin_with is not None:
            recipe, dataset = self._begin_with
            locked = lock_text(recipe, dataset, self.run.path)
            if self.run.resuming:
                write_text(self.run.lock, locked)
            else:
                self.run.replace(locked)
            self._begin_with = None
            self._write()

    @property
    def established(self) -> bool:
        """Whether the folder holds something to resume."""
        return self.run.resuming or self._begin_with is None

    def begin(self, compiled: Compiled, sink: Sink) -> State | None:
        """Create the folder with the first try: what cannot be compiled leaves nothing behind."""
        self._establish()
        self._write()
        start = compiled.parameters
        self.run.attend(compiled.recipe, compiled.dataset, compiled.program, start)
        state = None
        if self.run.resuming:
            state = self.run.read_checkpoint(start, sink, searching=True)
            sink.stop()
        return state

    def keep(self, state: State) -> None:
        """Write a checkpoint every `CHECKPOINT_SECONDS`."""
        self.run.keep(state)

    def finished(self, outcome: Outcome, best: Trained | None) -> None:
        """Write the outcome; the model first, so that no file names a model that is not there."""
        self._establish()
        self.outcomes.append(outcome)
        if best is not None:
            content = to_bytes(best.model)
            self.run.renew()
            write_bytes(self._best_model(outcome.number), content)
            for file, text in self._recipe_text(outcome, best).items():
                write_text(file, text)
            fitted = best.fitted
            self._about_best = {
                "number": outcome.number,
                "model": hashlib.sha256(content).hexdigest(),
                "scores": {n: [s.total, s.possible, s.impossible] for n, s in best.scores.items()},
                "metrics": best.metrics.to_json(),
                "history": [[getattr(r, f.name) for f in fields(Record)] for r in fitted.history],
                "fitted": [fitted.stopped, fitted.kept, fitted.kept_iteration],
            }
        self._plan = None
        self._write()
        self.run.latest = None
        self.run.checkpoint.unlink(missing_ok=True)
        if best is not None:
            for file in self.run.path.glob(BEST):
                if file != self._best_model(outcome.number):
                    file.unlink(missing_ok=True)

    def end(self, trained: Trained, dataset: Dataset) -> None:
        """Write the results; the lock file becomes that of the chosen recipe."""
        (chosen,) = (outcome for outcome in trained.tries if outcome.chosen)
        program = trained.model.program
        texts = {
            self.run.tries: outcomes_text(trained.tries),
            self.run.lock: lock_text(trained.recipe, dataset, self.run.path, program),
            # A run may have been killed just after a better one's was written.
            **self._recipe_text(chosen, trained),
        }
        self.run.finish(trained.model, trained.metrics, trained.fitted.history, texts)

    def _recipe_text(self, outcome: Outcome, trained: Trained) -> dict[Path, str]:
        """Return the short recipe for people by its file, where one is wanted."""
        if self.comment is None:
            return {}
        return {self.run.recipe: self.comment(outcome) + short_text(trained.recipe)}

    def _best_model(self, number: int) -> Path:
        return self.run.path / BEST.replace("*", str(number))

    def _write(self) -> None:
        about = {
            "fingerprint": self._fingerprint,
            "command": self.words,
            "tries": [outcome.as_record() for outcome in self.outcomes],
            "best": self._about_best,
            "plan": self._plan,
        }
        self.run.renew()
        write_bytes(self.run.search, sealed_json(about))

    def _read(self, sink: Sink, reader: TryReader) -> Begun:
        file = self.run.search
        if not file.is_file():
            run = self.run
            if not run.lock.is_file() or run.model.is_file() or run.checkpoint.is_file():
                run.report_nothing_to_resume("no search")
            # Else it ended just after its lock file was written, and begins again.
            return Begun()
        try:
            about = read_sealed_json(file.read_bytes())
            same = about["fingerprint"] == self._fingerprint
            self.outcomes = [Outcome.from_record(r) for r in about["tries"]] if same else []
            self._about_best = about["best"]
            best = None
            recipes = {o.number: reader.recipe_of(o) for o in self.outcomes}
            if self.outcomes and not about["best"]:
                raise ValueError("its best try is missing")
            if same and about["best"]:
                recipe = recipes[about["best"]["number"]]
                best = self._trained(about["best"], recipe, sink)
            self._plan = about["plan"]
            under_way = reader.proposal_of(self._plan) if same and self._plan else None
            begun = Begun(tuple(self.outcomes), best, under_way)
        except (OSError, LookupError, TypeError, ValueError) as error:
            sink.error(
                "E403",
                "the journal of the search cannot be read",
                where=str(file),
                notes=[(str(error) or type(error).__name__).splitlines()[0]],
                help="train without --resume",
            )
            return Begun()
        if not same:
            sink.error(
                "E403",
                "the unfinished search belongs to another recipe or other data",
                where=str(file),
                help=f"continue with `{self.run.resume_command()}`, or train into another folder",
            )
        return begun

    def _trained(self, about: dict[str, Any], recipe: Recipe, sink: Sink) -> Trained | None:
        """Return the best model so far; its fitted parameters are those of the finished model."""
        file = self._best_model(about["number"])
        if hashlib.sha256(file.read_bytes()).hexdigest() != about["model"]:
            raise ValueError(f"{file.name} is not the model that it was written with")
        model = read_model(file, sink)
        if model is None:
            return None
        history = tuple(Record(*row) for row in about["history"])
        fitted = FitResult(model.parameters, history, *about["fitted"])
        scores = {name: Score(*numbers) for name, numbers in about["scores"].items()}
        return Trained(recipe, model, fitted, scores, Metrics.from_json(about["metrics"]))
