"""Judging a recipe without validation rows of its own: every row is held out once.

The rows are divided into folds (`valid: 5-fold`). For each fold, a model is trained on the rows of
all others, as if the fold were the validation rows. Their log-likelihoods together are the
judgement. The model that is kept is then trained on all rows, with what the folds have chosen by
their validation rows: the mean of iterations and shares, and whether to prune.
See docs/decisions/0072-a-fold-is-a-whole-training.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spnc.common.deadline import Deadline, OutOfTimeError
from spnc.common.observer import Observer
from spnc.diagnostics import InputError, Sink
from spnc.program.score import Score
from spnc.runs.metrics import SplitMetrics
from spnc.spec.recipe import Component, Recipe
from spnc.training.time_limit import shortened

if TYPE_CHECKING:
    from spnc.compilation import Compiled, Grown
    from spnc.trained import Trained

# Compiles the recipe over the rows of a fold.
CompileFold = Callable[[Sink, Observer, Deadline], "Compiled"]
# Trains on the rows of a fold and scores its validation rows.
TrainFold = Callable[[CompileFold, Sink], tuple["Trained", "Grown | None"]]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What the folds have shown."""

    shorter: Recipe  # for all rows: what the folds were trained with, without validation rows
    score: Score  # of all rows, each by the model that has not seen it
    conditional: Score | None  # the same, of the target given the other cells
    count: int  # of folds
    seconds: float  # of all folds

    def expect_training(self, deadline: Deadline) -> None:
        """Raise `OutOfTimeError` if training on all rows would take too long."""
        if deadline.left() < self.seconds / max(1, self.count - 1):
            raise OutOfTimeError

    def completed(self, trained: Trained) -> Trained:
        """Return the model that was trained on all rows, with the score of the rows held out."""
        metrics, conditional = trained.metrics, dict(trained.conditional)
        average = None
        if self.conditional is not None:
            conditional["valid"] = self.conditional
            average = self.conditional.average if self.conditional.possible > 0.0 else None
        plain = self.score.as_json(metrics.splits["train"].rows)
        splits = {**metrics.splits, "valid": SplitMetrics(**plain, conditional_ll=average)}
        seconds = {**metrics.seconds, "folds": self.seconds}
        return replace(
            trained,
            scores={**trained.scores, "valid": self.score},
            conditional=conditional,
            metrics=replace(metrics, splits=splits, seconds=seconds),
        )


def hold_out(
    recipe: Recipe, folds: Iterable[CompileFold], train_fold: TrainFold, observer: Observer
) -> HeldOut:
    """Train on the rows of all folds but one, for each of them."""
    began, count = time.monotonic(), recipe.data.folds or 0
    found: list[Trained] = []
    forests: list[Grown] = []
    for number, compile_fold in enumerate(folds):
        observer.progress("folds", number, count)
        try:
            trained, grown = train_fold(compile_fold, Sink())
        except InputError as error:
            raise _in_fold(error, number, count) from None
        found.append(trained)
        forests += [grown] if grown is not None else []
    known = [trained.conditional["valid"] for trained in found if trained.conditional]
    return HeldOut(
        _for_all_rows(recipe, found, forests),
        sum((trained.scores["valid"] for trained in found), Score()),
        sum(known, Score()) if known else None,
        count,
        time.monotonic() - began,
    )


def _for_all_rows(recipe: Recipe, found: Sequence[Trained], forests: Sequence[Grown]) -> Recipe:
    """Return the recipe that needs no validation rows to train as these did on average."""
    kept = [trained.kept for trained in found]
    optimizer = shortened(recipe.optimizer, _mean([each.first for each in kept]))
    refined = [each.objective for each in kept if each.objective is not None]
    objective = recipe.objective.cut(_mean(refined)) if refined else None
    prune = recipe.prune
    if prune is not None:
        pruned = [trained.metrics.prune for trained in found]
        accepted = sum(each is not None and each.kept == "pruned" for each in pruned)
        prune = replace(prune, most_loss=None) if 2 * accepted > len(found) else None
    return replace(
        recipe,
        forest=tuple(_entry(recipe, number, forests) for number in range(len(recipe.forest))),
        shares="given",
        optimizer=optimizer or recipe.optimizer,
        objective=objective or recipe.objective,
        prune=prune,
    )


def _entry(recipe: Recipe, number: int, forests: Sequence[Grown]) -> Component:
    """Return an entry of the forest with what validation rows have chosen, on average."""
    entry = recipe.forest[number]
    if entry.fit is not None:
        fits = [kept for grown in forests for owner, kept in grown.fits if owner == number]
        entry = replace(entry, fit=_mean(fits))
    if recipe.shares == "fitted":
        share = sum(grown.shares[number] for grown in forests) / len(forests)
        entry = replace(entry, weight=share / entry.count)
    return entry


def _mean(iterations: Sequence[int]) -> int:
    return round(sum(iterations) / len(iterations))


def _in_fold(error: InputError, number: int, count: int) -> InputError:
    """Return the same problems with a note in which fold they came up."""
    note = f"while part {number + 1} of {count} was held out"
    return InputError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics])
