"""The files of a run: where each one is, and what their presence says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spnc.runs import in_use, kept_work, time_used

BEST = "best-*.spnc"  # the best model of a search so far


@dataclass(eq=False)
class RunFiles:
    """The files in a run folder."""

    path: Path

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

    @property
    def work(self) -> Path:
        """What was learned before training, while the run is not finished."""
        return self.path / kept_work.NAME

    @property
    def results(self) -> tuple[Path, ...]:
        """The files of a finished run that its metrics have checksums of."""
        return (self.model, self.history, self.lock, self.recipe, self.tries)

    def is_new(self) -> bool:
        """Return whether nothing is in the folder but what a killed run may leave at once."""
        if not self.path.is_dir():
            return not self.path.exists()
        passing = {in_use.NAME, time_used.NAME}
        return all(p.name in passing or p in self.left_over() for p in self.path.iterdir())

    def is_unfinished(self) -> bool:
        """Return whether the folder holds a run that was interrupted."""
        locked = self.lock.is_file() and not self.model.is_file()
        return self.checkpoint.is_file() or self.search.is_file() or locked

    def left_over(self) -> list[Path]:
        """Return the temporary files of a run that was killed while it wrote."""
        names = [self.model, self.metrics, self.history, self.lock, self.recipe, self.tries]
        names += [self.search, self.report, self.checkpoint, self.path / BEST]
        names += [self.path / time_used.NAME]
        return [file for name in names for file in self.path.glob(f".{name.name}.*")]
