"""Continuous mixtures of Chow-Liu trees: the best densities known, where there is time for them.

1. A mixture that fits: as many points and steps as a part of the time allows. What a step takes is
   measured on the spot, since it does not depend on the rows: two sizes, a few steps of each.
2. Steps from the best mixture so far: points, steps, the network's width and decay, the dimensions
   of the latent space, a second mixture beside the first.

Where there are many rows for each tree, EM sets the trees free for as long as the validation rows
gain by it: on MSNBC they do, with a thousand rows for each; on Jester, with 35, they never did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spnc.auto import Board, Proposal, Tried, best_of, ladder, level
from spnc.continuous.fit import measured_step
from spnc.learners.continuous_mixture import FIRST_PART, ContinuousMixture
from spnc.registry import FAMILIES, Options
from spnc.spec.recipe import Component, Recipe
from spnc.training.optimizers.em import Em

NAME = "continuous-mixture"
FIT_SHARE = 0.4  # of the time that is left
FREE_SHARE = 0.15  # where EM is to come after it
FIT_GAIN = 0.5  # what may be hoped of it, of all that the best has gained so far; or
FIRST_SCALE = 0.1  # of this share of the first tree's log-likelihood, if that is more
SIZES = (  # points and steps, the most work first
    (4096, 1500),
    (2048, 1500),
    (1024, 1500),
    (1024, 1000),
    (512, 1500),
    (512, 800),
    (256, 1000),
    (256, 500),
    (128, 500),
    (128, 250),
    (64, 250),
    (32, 150),
)
# Edges for each point and column: so many for each two states of it and its parent, so many for
# each state. A binary column has 5.5, one of thirty states 345.
PAIR_EDGES, STATE_EDGES = 0.31, 2.1
MOST_LOGITS = 100_000  # of a tree: the network has a hundred weights for each
FLOPS = 2e10  # that a core makes in a second, about: to leave alone what would take too long
MEASURED_SHARE = 0.002  # of the time that is left, for a step that is worth measuring
SETUP = 6e-5  # seconds for an edge, about: to build, check, lower and plan it
SCORE = 1.5e-9  # seconds for an edge and a distinct row, about: to plan and score it once
MEASURED = (64, 256)  # points
SLOWER = 1.3  # than what was measured, in the long run
TRUSTED = 2.0  # a guess is corrected by what the last one took, by so much at most
POINTS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
STEPS = (60, 150, 250, 500, 1000, 2000, 4000, 8000)
WIDTHS = (16, 32, 64, 128, 256)
DECAYS = (0.03, 0.1, 0.3, 1.0, 3.0)
LATENT = (4, 8, 16, 32)
ROWS_PER_TREE = 300.0  # without so many, EM is not asked
MANY_ROWS = 50_000  # distinct ones: an iteration of EM takes too long
ITERATIONS, PATIENCE = 200, 2  # of EM, at most
FEW = 3  # iterations that EM is likely to take


@FAMILIES.register(NAME)
@dataclass(frozen=True, kw_only=True)
class ContinuousMixtures(Options):
    """Continuous mixtures of Chow-Liu trees."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """The mixture that fits, then steps from the best."""
        if board.columns < 2 or not board.tried or _logits(board) > MOST_LOGITS:
            return
        best = best_of(t for t in board.tried if _learner(t.recipe) is not None)
        axis = f"{NAME} fit"
        if best is not None:
            yield from _from(board, best)
        elif axis not in board.given_up:
            yield from _fitting(board, axis)


def _fitting(board: Board, axis: str) -> Iterator[Proposal]:
    """The largest mixture that takes a part of the time."""
    gain = FIT_GAIN * max(board.scale(), FIRST_SCALE * abs(level(board.tried[0].outcome)))
    for points, steps in SIZES:
        what = f"{points:,} points, {steps:,} steps"
        made = _proposal(board, _sized(board, points, steps), what, axis, gain)
        share = FREE_SHARE if made.iterations > 1 else FIT_SHARE
        if made.structure <= share * board.left or (points, steps) == SIZES[-1]:
            yield made
            return


def _from(board: Board, best: Tried) -> Iterator[Proposal]:
    """Every step from the best mixture that has not failed before."""
    behind = max(0.0, max(level(t.outcome) for t in board.tried) - level(best.outcome))
    for recipe, what, name, share in _steps(best.recipe):
        axis = f"{NAME} {name}"
        recipe = replace(recipe, optimizer=_optimizer(board, recipe))
        yield _proposal(board, recipe, what, axis, board.hope(axis, share) - behind)


def _steps(recipe: Recipe) -> Iterator[tuple[Recipe, str, str, float]]:
    """One thing changed: the recipe, what it is, its axis, and what may be hoped of it."""
    entry, learner = recipe.forest[0], _learner(recipe)
    assert learner is not None

    def forest(**changes: Any) -> Recipe:
        return replace(recipe, forest=(replace(entry, **changes),))

    scales = (
        ("points", POINTS, ((1, 0.03), (2, 0.04))),
        ("steps", STEPS, ((1, 0.02), (2, 0.03))),
        ("width", WIDTHS, ((1, 0.01), (-1, 0.004))),
        ("decay", DECAYS, ((1, 0.005), (-1, 0.004))),
        ("latent", LATENT, ((1, 0.003), (-1, 0.003))),
    )
    for name, values, moves in scales:
        for step, share in moves:
            value = ladder(values, getattr(learner, name), step)
            if value is not None:
                changes: dict[str, Any] = {name: value if name == "decay" else int(value)}
                if name == "steps":
                    changes["settling"] = _settling(int(value))
                what = f"{name} {value:,g}"
                changed = forest(learner=replace(learner, **changes))
                yield changed, what, f"{name} {step:+}", share
    several = f"{entry.count + 1} mixtures"
    yield forest(count=entry.count + 1), several, "mixtures +1", 0.01


def _optimizer(board: Board, recipe: Recipe) -> Em:
    learner, entry = _learner(recipe), recipe.forest[0]
    assert learner is not None
    rows = float(board.dataset.train.weights.sum())
    if rows < ROWS_PER_TREE * learner.points * entry.count or board.rows >= MANY_ROWS:
        return Em(max_iterations=0)
    return Em(stop=None, max_iterations=ITERATIONS, patience=PATIENCE)


def _sized(board: Board, points: int, steps: int) -> Recipe:
    learner = ContinuousMixture(points=points, steps=steps, settling=_settling(steps))
    recipe = replace(board.base, forest=(Component(learner=learner),))
    return replace(recipe, optimizer=_optimizer(board, recipe))


def _settling(steps: int) -> int:
    return max(40, steps // 4)


def _learner(recipe: Recipe) -> ContinuousMixture | None:
    """The learner of a forest of continuous mixtures alone; None of any other."""
    if len(recipe.forest) != 1:
        return None
    learner = recipe.forest[0].learner
    return learner if isinstance(learner, ContinuousMixture) else None


def _proposal(board: Board, recipe: Recipe, what: str, axis: str, gain: float) -> Proposal:
    seconds = _correction(board) * _guess(board, recipe)
    assert isinstance(recipe.optimizer, Em)
    few = max(1, min(FEW, recipe.optimizer.max_iterations))
    edges = _edges(board, recipe)
    return Proposal(recipe, what, axis, gain, edges, few, seconds, sure=True, family=NAME)


def _correction(board: Board) -> float:
    """What the last mixture took, as times what it should have taken."""
    own = [t for t in board.tried if t.axis.startswith(NAME)]
    if not own:
        return 1.0
    outcome = own[-1].outcome
    took = outcome.setup if outcome.iterations else outcome.seconds
    return min(max(took / _guess(board, own[-1].recipe), 1.0 / TRUSTED), TRUSTED)


def _guess(board: Board, recipe: Recipe) -> float:
    """Seconds before the first iteration, by what a step takes here."""
    learner, entry = _learner(recipe), recipe.forest[0]
    assert learner is not None
    steps = learner.steps * (1.0 + 1.0 / FIRST_PART) + learner.settling
    each = SLOWER * _step_seconds(board, learner)
    return entry.count * steps * each + (SETUP + SCORE * board.rows) * _edges(board, recipe)


def _edges(board: Board, recipe: Recipe) -> float:
    learner, entry = _learner(recipe), recipe.forest[0]
    assert learner is not None
    states = np.array([column.states for column in board.dataset.columns], dtype=float)
    each_point = PAIR_EDGES * states.sum() * states.mean() + STATE_EDGES * states.sum()
    return float(entry.count * learner.points * each_point)


def _logits(board: Board) -> float:
    """How many logits a tree has, about: which column is whose parent is not known yet."""
    states = np.array([column.states for column in board.dataset.columns], dtype=float)
    return float((states - 1.0).sum() * states.mean())


def _step_seconds(board: Board, learner: ContinuousMixture) -> float:
    """What a step of the decoder takes: a straight line through two measured sizes."""
    rows = min(learner.batch_rows, board.dataset.train.rows)
    operations = 6.0 * _logits(board) * (2 * learner.width + rows) * MEASURED[1]
    if operations / FLOPS > MEASURED_SHARE * board.left:
        return operations / FLOPS * learner.points / MEASURED[1]
    found = []
    for points in MEASURED:
        alike = ContinuousMixture(
            points=points, latent=learner.latent, width=learner.width, batch_rows=rows
        )
        size = alike.plan(steps=1, settling=0)
        if size not in board.measured:
            board.measured[size] = measured_step(board.dataset.columns, size, board.clock)
        found.append(board.measured[size])
    slope = max(0.0, found[1] - found[0]) / (MEASURED[1] - MEASURED[0])
    return max(found[0], found[0] + slope * (learner.points - MEASURED[0]))
