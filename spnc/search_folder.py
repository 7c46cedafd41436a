"""The run folder of a search: finished tries and the best model so far, so that it can go on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from spnc.atomic import write_text
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.lock import recipe_text
from spnc.model import read_model
from spnc.outcome import Outcome, outcomes_text
from spnc.pipeline import Compiled, Trained
from spnc.run import BEST, RunFolder, lock_text
from spnc.score import Score
from spnc.spec.recipe import Recipe
from spnc.training import Fitted, Record, State

Begun = tuple[list[Outcome], Trained | None]


class Journal:
    """What a search tells as it goes; this one keeps nothing, and knows of nothing finished."""

    def open(self, recipe: Recipe, dataset: Dataset, sink: Sink) -> Begun:
        """The tries that are finished already, and the best of them as `Trained`, or None."""
        del recipe, dataset, sink
        return [], None

    def begin(self, number: int, compiled: Compiled, sink: Sink) -> State | None:
        """A try begins its training; answers where to go on from."""
        del number, compiled, sink
        return None

    def keep(self, state: State) -> None:
        """Training has come this far."""

    def finished(self, outcome: Outcome, best: Trained | None) -> None:
        """A try is finished; `best` is its model if it is the best so far."""

    def end(self, trained: Trained, recipe: Recipe, dataset: Dataset) -> None:
        """The search is over: the chosen model and its recipe."""


@dataclass(eq=False)
class SearchFolder(Journal):
    """Keeps a search in a run folder."""

    run: RunFolder
    resuming: bool
    trying: int = 0  # the number of the present try; 0 before the first
    outcomes: list[Outcome] = field(default_factory=list)
    _fingerprint: str = ""
    _about_best: dict[str, Any] | None = None
    _begin_with: tuple[Recipe, Dataset] | None = None

    def open(self, recipe: Recipe, dataset: Dataset, sink: Sink) -> Begun:
        """What the folder holds of this search, if it is to go on; stops if that is of another."""
        sha = hashlib.sha256(dataset.digest.encode())
        sha.update(recipe_text(recipe).encode())
        self._fingerprint = sha.hexdigest()
        self._begin_with = (recipe, dataset)
        best = None
        if self.resuming:
            best = self._read(sink)
            sink.stop()
        return list(self.outcomes), best

    def begin(self, number: int, compiled: Compiled, sink: Sink) -> State | None:
        """The first try makes the folder: what cannot be compiled leaves nothing behind."""
        if self._begin_with is not None:
            recipe, dataset = self._begin_with
            if not self.resuming:
                self.run.clear(keep_checkpoint=False)
            self.run.path.mkdir(parents=True, exist_ok=True)
            write_text(self.run.lock, lock_text(recipe, dataset, self.run.path))
            self._write()
            self._begin_with = None
        self.trying = number
        self.run.attend(compiled)
        state = None
        if self.resuming:
            state = self.run.read_checkpoint(compiled, sink, searching=True)
            sink.stop()
        return state

    def keep(self, state: State) -> None:
        """A checkpoint of the present try, now and then."""
        self.run.keep(state)

    def finished(self, outcome: Outcome, best: Trained | None) -> None:
        """Keep it; the model first, so that what is kept never names one that is not there."""
        self.outcomes.append(outcome)
        if best is not None:
            best.model.save(self._best_model(outcome.number))
            fitted = best.fitted
            self._about_best = {
                "number": outcome.number,
                "scores": {n: [s.total, s.possible, s.impossible] for n, s in best.scores.items()},
                "metrics": best.metrics,
                "history": [[getattr(r, f.name) for f in fields(Record)] for r in fitted.history],
                "fitted": [fitted.stopped, fitted.kept, fitted.kept_iteration],
            }
        self._write()
        self.run.latest = None
        self.run.checkpoint.unlink(missing_ok=True)
        if best is not None:
            for file in self.run.path.glob(BEST):
                if file != self._best_model(outcome.number):
                    file.unlink(missing_ok=True)

    def end(self, trained: Trained, recipe: Recipe, dataset: Dataset) -> None:
        """Write the results; the lock file is now that of the chosen recipe."""
        write_text(self.run.tries, outcomes_text(trained.tries))
        write_text(self.run.lock, lock_text(recipe, dataset, self.run.path))
        self.run.finish(trained)
        self.run.search.unlink(missing_ok=True)
        for file in self.run.path.glob(BEST):
            file.unlink(missing_ok=True)

    def _best_model(self, number: int) -> Path:
        return self.run.path / BEST.replace("*", str(number))

    def _write(self) -> None:
        about = {
            "fingerprint": self._fingerprint,
            "tries": [outcome.as_record() for outcome in self.outcomes],
            "best": self._about_best,
        }
        write_text(self.run.search, json.dumps(about) + "\n")

    def _read(self, sink: Sink) -> Trained | None:
        file = self.run.search
        if not file.is_file():
            done = "; it is finished" if self.run.model.is_file() else ""
            sink.error(
                "E403",
                f"there is no search to resume in `{self.run.path}`{done}",
                where=str(self.run.path),
                help="train without --resume",
            )
            return None
        try:
            about = json.loads(file.read_text("utf-8"))
            same = about["fingerprint"] == self._fingerprint
            self.outcomes = [Outcome.from_record(r) for r in about["tries"]] if same else []
            self._about_best = about["best"]
            best = self._trained(about["best"], sink) if same and about["best"] else None
        except (OSError, KeyError, ValueError, TypeError) as error:
            sink.error(
                "E403",
                "what is kept of the search cannot be read",
                where=str(file),
                notes=[(str(error) or type(error).__name__).splitlines()[0]],
                help="train without --resume",
            )
            return None
        if not same:
            sink.error(
                "E403",
                "the search that was begun is of another recipe or other data",
                where=str(file),
                help=f"resume with the recipe that began the run ({self.run.lock}), or train into "
                "another folder",
            )
        return best

    def _trained(self, about: dict[str, Any], sink: Sink) -> Trained | None:
        """The best model so far; its fitted parameters are those of the finished model."""
        model = read_model(self._best_model(about["number"]), sink)
        if model is None:
            return None
        history = tuple(Record(*row) for row in about["history"])
        fitted = Fitted(model.parameters, history, *about["fitted"])
        scores = {name: Score(*numbers) for name, numbers in about["scores"].items()}
        return Trained(model, fitted, scores, dict(about["metrics"]))
