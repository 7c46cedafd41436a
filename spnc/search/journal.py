"""The run folder of many tries: those finished and the best model so far, so that they can go on.

A search keeps them, and so does `--auto`, which also wants to know how long all has taken.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from spnc.common.atomic import write_text
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.model import read_model
from spnc.pipeline import Compiled, Trained
from spnc.program.score import Score
from spnc.runs.folder import BEST, RunFolder, lock_text, short_text
from spnc.runs.lock import recipe_text
from spnc.runs.outcome import Outcome, outcomes_text
from spnc.spec.recipe import Recipe
from spnc.training import Fitted, Record, State

BEAT_SECONDS = 2.0  # how often the time spent is written down during a try
RecipeOf = Callable[[Outcome], Recipe]


@dataclass(frozen=True, eq=False)
class Begun:
    """What there is already when tries begin, or go on."""

    outcomes: tuple[Outcome, ...] = ()  # of the finished tries
    trained: Trained | None = None  # the best of these
    seconds: float = 0.0  # that they took, if somebody counts
    under_way: str = ""  # the plan of the try that was not finished


class Journal:
    """What tries tell as they go; this one keeps nothing, and knows of nothing finished."""

    plan: str = ""  # of the try that is about to begin
    trying: int = 0  # the number of the present or the last try; 0 before the first
    spent: Callable[[], float] | None = None  # seconds up to now, where somebody counts
    comment: Callable[[Outcome], str] | None = None  # the head of a recipe for people, if wanted
    read_plan: Callable[[str], object] | None = None  # raises LookupError, TypeError or ValueError

    def open(self, recipe: Recipe, dataset: Dataset, sink: Sink, recipe_of: RecipeOf) -> Begun:
        """What there is of the tries for this recipe."""
        del recipe, dataset, sink, recipe_of
        return Begun()

    def establish(self) -> None:
        """From here on tries can be resumed; otherwise that is when the first begins to train."""

    def planned(self, plan: str) -> None:
        """This try is about to begin; or, if that is empty, it is given up."""
        self.plan = plan

    def begin(self, compiled: Compiled, sink: Sink) -> State | None:
        """A try begins its training; answers where to go on from."""
        del compiled, sink
        return None

    def keep(self, state: State) -> None:
        """Training has come this far."""

    def finished(self, outcome: Outcome, best: Trained | None) -> None:
        """A try is finished; `best` is its model if it is the best so far."""

    def end(self, trained: Trained, dataset: Dataset) -> None:
        """All tries are over; this is the chosen one."""


@dataclass(eq=False)
class SearchFolder(Journal):
    """Keeps tries in a run folder."""

    run: RunFolder
    resuming: bool
    words: list[str] = field(default_factory=list)  # what `spnc train` was given, to go on with
    trying: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    _fingerprint: str = ""
    _about_best: dict[str, Any] | None = None
    _begin_with: tuple[Recipe, Dataset] | None = None
    _beat_at: float = 0.0

    def open(self, recipe: Recipe, dataset: Dataset, sink: Sink, recipe_of: RecipeOf) -> Begun:
        """What the folder holds of these tries, if they go on; stops if that is of others."""
        sha = hashlib.sha256(dataset.digest.encode())
        sha.update(recipe_text(recipe).encode())
        self._fingerprint = sha.hexdigest()
        self._begin_with = (recipe, dataset)
        if not self.resuming:
            return Begun()
        begun = self._read(sink, recipe_of)
        sink.stop()
        return begun

    def establish(self) -> None:
        """Make the folder, and say in it what the tries are for.

        A finished run that is there is left alone until there is something to put in its place.
        """
        if self.resuming or not self.run.model.is_file():
            self._establish()

    def planned(self, plan: str) -> None:
        """Write down which try is about to begin."""
        self.plan = plan
        if self._begin_with is None:
            self._write()

    def _establish(self) -> None:
        if self._begin_with is not None:
            recipe, dataset = self._begin_with
            if not self.resuming:
                self.run.clear(keep_checkpoint=False)
            self.run.path.mkdir(parents=True, exist_ok=True)
            write_text(self.run.lock, lock_text(recipe, dataset, self.run.path))
            self._begin_with = None
            self._write()

    @property
    def established(self) -> bool:
        """Whether the folder holds something to go on with."""
        return self.resuming or self._begin_with is None

    def begin(self, compiled: Compiled, sink: Sink) -> State | None:
        """The first try makes the folder: what cannot be compiled leaves nothing behind."""
        self._establish()
        self._write()
        self.run.attend(compiled)
        state = None
        if self.resuming:
            state = self.run.read_checkpoint(compiled, sink, searching=True)
            sink.stop()
        return state

    def keep(self, state: State) -> None:
        """A checkpoint of the present try, now and then; and how late it is."""
        self.run.keep(state)
        if self.spent is not None and time.monotonic() - self._beat_at >= BEAT_SECONDS:
            self._write()

    def finished(self, outcome: Outcome, best: Trained | None) -> None:
        """Keep it; the model first, so that what is kept never names one that is not there."""
        self.outcomes.append(outcome)
        if best is not None:
            best.model.save(self._best_model(outcome.number))
            self._write_recipe(outcome, best)
            fitted = best.fitted
            self._about_best = {
                "number": outcome.number,
                "scores": {n: [s.total, s.possible, s.impossible] for n, s in best.scores.items()},
                "metrics": best.metrics,
                "history": [[getattr(r, f.name) for f in fields(Record)] for r in fitted.history],
                "fitted": [fitted.stopped, fitted.kept, fitted.kept_iteration],
            }
        self.plan = ""
        self._write()
        self.run.latest = None
        self.run.checkpoint.unlink(missing_ok=True)
        if best is not None:
            for file in self.run.path.glob(BEST):
                if file != self._best_model(outcome.number):
                    file.unlink(missing_ok=True)

    def end(self, trained: Trained, dataset: Dataset) -> None:
        """Write the results; the lock file is now that of the chosen recipe."""
        write_text(self.run.tries, outcomes_text(trained.tries))
        program = trained.model.program
        write_text(self.run.lock, lock_text(trained.recipe, dataset, self.run.path, program))
        (chosen,) = (outcome for outcome in trained.tries if outcome.chosen)
        self._write_recipe(chosen, trained)  # a run may have been killed just after a better one's
        self.run.finish(trained)
        self.run.search.unlink(missing_ok=True)
        for file in (*self.run.path.glob(BEST), *self.run.left_over()):
            file.unlink(missing_ok=True)

    def _write_recipe(self, outcome: Outcome, trained: Trained) -> None:
        """The recipe for people, where one is wanted."""
        if self.comment is not None:
            text = self.comment(outcome) + short_text(trained.recipe, self.run.path)
            write_text(self.run.recipe, text)

    def _best_model(self, number: int) -> Path:
        return self.run.path / BEST.replace("*", str(number))

    def _write(self) -> None:
        about = {
            "fingerprint": self._fingerprint,
            "command": self.words,
            "tries": [outcome.as_record() for outcome in self.outcomes],
            "best": self._about_best,
            "plan": self.plan,
            "seconds": self.spent() if self.spent is not None else 0.0,
        }
        self._beat_at = time.monotonic()
        write_text(self.run.search, json.dumps(about) + "\n")

    def _read(self, sink: Sink, recipe_of: RecipeOf) -> Begun:
        file = self.run.search
        if not file.is_file():
            done = "; it is finished" if self.run.model.is_file() else ""
            sink.error(
                "E403",
                f"there is no search to resume in `{self.run.path}`{done}",
                where=str(self.run.path),
                help="train without --resume",
            )
            return Begun()
        try:
            about = json.loads(file.read_text("utf-8"))
            same = about["fingerprint"] == self._fingerprint
            self.outcomes = [Outcome.from_record(r) for r in about["tries"]] if same else []
            self._about_best = about["best"]
            best = None
            recipes = {o.number: recipe_of(o) for o in self.outcomes}
            if self.outcomes and not about["best"]:
                raise ValueError("its best try is missing")
            if same and about["best"]:
                recipe = recipes[about["best"]["number"]]
                best = self._trained(about["best"], recipe, sink)
            self.plan = str(about["plan"])
            if same and self.plan and self.read_plan is not None:
                self.read_plan(self.plan)
            begun = Begun(tuple(self.outcomes), best, float(about["seconds"]), self.plan)
        except (OSError, LookupError, ValueError, TypeError) as error:
            sink.error(
                "E403",
                "what is kept of the search cannot be read",
                where=str(file),
                notes=[(str(error) or type(error).__name__).splitlines()[0]],
                help="train without --resume",
            )
            return Begun()
        if not same:
            sink.error(
                "E403",
                "the search that was begun is of another recipe or other data",
                where=str(file),
                help=f"go on with `{self.run.go_on()}`, or train into another folder",
            )
        return begun

    def _trained(self, about: dict[str, Any], recipe: Recipe, sink: Sink) -> Trained | None:
        """The best model so far; its fitted parameters are those of the finished model."""
        model = read_model(self._best_model(about["number"]), sink)
        if model is None:
            return None
        history = tuple(Record(*row) for row in about["history"])
        fitted = Fitted(model.parameters, history, *about["fitted"])
        scores = {name: Score(*numbers) for name, numbers in about["scores"].items()}
        return Trained(recipe, model, fitted, scores, dict(about["metrics"]))
