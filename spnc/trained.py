"""`Trained`: what a training leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spnc.common.views import trained_html, trained_text
from spnc.diagnostics import Diagnostic
from spnc.model import Model
from spnc.program.score import Score
from spnc.runs.metrics import Metrics
from spnc.runs.outcome import Outcome
from spnc.spec.recipe import Recipe
from spnc.training import FitResult
from spnc.training.fit import Kept
from spnc.training.time_limit import Ended


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """A trained model, how training went, and how well every split is explained.

    `recipe` makes the same model: where training was ended early, it says after how many
    iterations. After a search it is the chosen one, and `tries` has all of them. `diagnostics`
    are the warnings; `run` is the folder that the results were written to, if there is one. If it
    was asked to resume a run that is finished, it is read from the folder, and `was_finished`.
    """

    recipe: Recipe
    model: Model
    fitted: FitResult
    scores: Mapping[str, Score]
    metrics: Metrics
    tries: tuple[Outcome, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    run: Path | None = None
    # With `objective: conditional`, the scores of the target given the other cells, by split.
    conditional: Mapping[str, Score] = field(default_factory=dict)
    ended: Ended | None = None  # the fit that was ended early, by a time limit or by `--auto`
    kept: Kept = Kept(0)  # the iterations of its fits
    was_finished: bool = False  # whether nothing was trained, since the run was finished already

    def __repr__(self) -> str:
        averages = {name: split.avg_ll for name, split in self.metrics.splits.items()}
        return trained_text(self.model.name, averages, self.metrics.spent, len(self.tries))

    def _repr_html_(self) -> str:
        metrics, fit = self.metrics, self.metrics.optimizer
        splits = {n: (s.rows, s.avg_ll, s.impossible_rows) for n, s in metrics.splits.items()}
        counts = {name: metrics.model[name] for name in ("edges", "parameters")}
        ended = f"{fit.method} stopped by {fit.stopped} after {fit.iterations} iterations"
        name, tries = self.model.name, len(self.tries)
        return trained_html(name, counts, splits, metrics.spent, tries, ended=ended)
