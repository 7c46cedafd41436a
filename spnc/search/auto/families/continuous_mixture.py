"""Continuous mixtures of Chow-Liu trees: the best densities, where there is time for them.

1. A small mixture that takes little of the time. What a step takes is measured on the spot, since
   it does not depend on the rows: two sizes, a few steps of each.
2. How to fit it, tried at that size: the network's width and decay, its learning rate, the
   dimensions of the latent space. What is best for a few points is best for many.
3. When a third of the time is used, or nothing of this brings more: the largest mixture that fits
   into the rest, fitted in the best way so far.
4. Steps from the best mixture, if there is time: all of these, points, steps, a second mixture.

Where there are many rows for each tree, EM sets the trees free for as long as the validation rows
gain by it: on MSNBC they do, with a thousand rows for each; on Jester, with 35, they never did. It
is asked too where that costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.learners.continuous_mixture.learner import FIRST_FIT_DIVISOR, ContinuousMixture
from spnc.learners.continuous_mixture.mixture_fit import measured_step
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.learners.support.warps import warped_for
from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import MOST_EDGES, Board, ladder
from spnc.search.auto.costs import PACE_GUESS, SETUP_GUESS
from spnc.search.auto.proposal import FinishedTry, Proposal, best_of, level
from spnc.spec.recipe import Component, Recipe
from spnc.training.optimizers.em import Em

NAME = "continuous-mixture"
FIRST_SHARE = 0.15  # of the time left, for the small mixture
FIRST_SECONDS = 40.0  # upper limit of that time
FIRST_GAIN = 0.5  # its expected gain, as a share of what the best has gained so far, or of
FIRST_SCALE = 0.1  # this share of the first tree's log-likelihood, whichever is larger
TRYING_SHARE = 1 / 3  # of the budget, before the largest mixture that fits is tried
LARGEST_SHARE = 0.95  # of the time left, for the largest mixture, by a cautious estimate
LARGEST_GAIN = 0.03  # its expected gain for each doubling of points times steps
LARGEST = f"{NAME} largest"
# Points and steps, the most work first; with equal work, more points.
SIZES = (
    *sorted(
        (
            (points, steps)
            for points in (4096, 3072, 2048, 1536, 1024, 768, 512, 384, 256)
            for steps in (1500, 1200, 1000, 800)
        ),
        key=lambda size: (-size[0] * size[1], -size[0]),
    ),
    *((256, 500), (128, 500), (128, 250), (64, 250), (32, 150)),
)
# Edges per point and column: for each pair of its states and its parent's, and for each state. A
# binary column has 5.5, a column of thirty states 345.
PAIR_EDGES, STATE_EDGES = 0.31, 2.1
# And of a column of numbers, for each state of its parent: its leaf, and point masses.
NUMBER_EDGES, NUMBER_OUTPUTS = 2.0, 2.0
MOST_LOGITS = 100_000  # per tree; the network has a hundred weights for each
FLOPS = 2e10  # of one core, roughly: to skip what would take too long even to measure
MEASURED_SHARE = 0.002  # of the time left; a step that takes longer is not measured
SCORE = 1.5e-9  # seconds per edge and distinct row to plan and score a mixture, roughly
MEASURED = (64, 256)  # the two sizes, in points, whose steps are timed
LEAST_STEP = 1e-6  # seconds per step where the clock is too coarse to tell
SLOWER = 1.3  # factor on measured steps: a long fit is slower than a few steps
TRUSTED = 2.0  # largest factor by which the last mixture's time corrects an estimate
STEEPER = 1.15  # exponent: four times the edges take five times as long to build and lower
Scale = tuple[str, Sequence[float], Sequence[tuple[int, float]]]
# What can be changed, the values to choose from, and steps along these with their expected gain.
HOW: tuple[Scale, ...] = (
    ("width", (16, 32, 64, 128, 256), ((1, 0.01), (-1, 0.004))),
    ("decay", (0.03, 0.1, 0.3, 1.0, 3.0), ((1, 0.005), (-1, 0.004))),
    ("learning_rate", (0.001, 0.002, 0.003, 0.006), ((1, 0.004), (-1, 0.004))),
    ("latent", (4, 8, 16, 32), ((1, 0.003), (-1, 0.003))),
)
SIZE: tuple[Scale, ...] = (
    ("points", (32, 64, 128, 256, 512, 1024, 2048, 4096), ((1, 0.03), (2, 0.04))),
    ("steps", (60, 150, 250, 500, 1000, 2000, 4000, 8000), ((1, 0.02), (2, 0.03))),
    ("count", (1, 2, 3, 4, 5, 6), ((1, 0.01),)),
)
ROWS_PER_TREE = 300.0  # fewer rows per tree than this: no EM,
CHEAP = 0.02  # unless an iteration takes less than this share of the structure's time
MANY_ROWS = 50_000  # distinct rows from which on an iteration of EM takes too long
ITERATIONS, PATIENCE = 200, 2  # of EM, at most
FEW = 3  # iterations that EM usually takes


@FAMILIES.register(NAME)
@dataclass(frozen=True, kw_only=True)
class ContinuousMixtures(Options):
    """Continuous mixtures of Chow-Liu trees."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield a small mixture, ways to fit it, the largest that fits; steps from the best."""
        if board.columns < 2 or not board.tried:
            return
        if _logits(board) > MOST_LOGITS:
            return
        best = best_of(t for t in board.tried if _learner(t.recipe) is not None)
        if best is None:
            yield from _first(board)
            return
        known = {t.axis for t in board.tried} | board.given_up
        if LARGEST in known:
            yield from _from(board, best, HOW + SIZE)
            return
        ways = [p for p in _from(board, best, HOW) if p.gain > 0.0]
        if ways and board.budget - board.left < TRYING_SHARE * board.budget:
            yield from ways
            return
        yield from _largest(board, best) or _from(board, best, HOW + SIZE)


def _first(board: Board) -> Iterator[Proposal]:
    """Yield a mixture that takes a small part of the time."""
    axis = f"{NAME} first"
    if axis in board.given_up:
        return
    gain = FIRST_GAIN * max(board.scale(), FIRST_SCALE * abs(level(board.tried[0].outcome)))
    allowed = min(FIRST_SHARE * board.left, FIRST_SECONDS)
    for points, steps in SIZES:
        learner = ContinuousMixture(
            points=points, steps=steps, settling=_settling(steps), leaves=_leaves(board)
        )
        recipe = replace(board.base, forest=(Component(learner=learner),))
        made = _proposal(board, recipe, _size(points, steps), axis, gain)
        seconds = board.costs.estimate(made, board.tried).total
        if seconds <= allowed or (points, steps) == SIZES[-1]:
            yield made
            return


def _leaves(board: Board) -> LeafOptions:
    """Return the leaves of a mixture; on warps, components describe the dependence alone."""
    return LeafOptions(real="warped-gaussian") if board.has_numbers else LeafOptions()


def _largest(board: Board, best: FinishedTry) -> list[Proposal]:
    """Return the best mixture in the largest size that fits into the time, if that is larger."""
    entry, learner = best.recipe.forest[0], _mixture(best.recipe)
    behind = board.behind(best)
    allowed = LARGEST_SHARE * (board.left - board.reserve)
    for points, steps in SIZES:
        times = points * steps / (learner.points * learner.steps)
        if times <= 1.2 or points < learner.points:
            continue
        sized = replace(learner, points=points, steps=steps, settling=_settling(steps))
        recipe = replace(best.recipe, forest=(replace(entry, learner=sized),))
        gain = LARGEST_GAIN * math.log2(times) * board.scale() - behind
        made = _proposal(board, recipe, _size(points, steps), LARGEST, gain)
        if best.outcome.kept and not _free(made.recipe):
            continue  # the best has gained by EM, and a larger mixture without EM would lose that
        least = board.costs.estimate(made, board.tried).least
        if least <= allowed and made.edges <= MOST_EDGES:
            return [made]
    return []


def _from(board: Board, best: FinishedTry, scales: Sequence[Scale]) -> Iterator[Proposal]:
    """Yield every step from the best mixture along these scales that was not made before."""
    behind = board.behind(best)
    known = [t.recipe.forest for t in board.tried]  # do not propose earlier settings again
    for recipe, what, name, share in _steps(best.recipe, scales):
        axis = f"{NAME} {name}"
        if recipe.forest not in known:
            yield _proposal(board, recipe, what, axis, board.hope(axis, share) - behind)


def _steps(recipe: Recipe, scales: Sequence[Scale]) -> Iterator[tuple[Recipe, str, str, float]]:
    """Yield recipes with one thing changed: with a description, an axis and the expected gain."""
    entry, learner = recipe.forest[0], _mixture(recipe)

    def forest(**changes: Any) -> Recipe:
        return replace(recipe, forest=(replace(entry, **changes),))

    for name, values, moves in scales:
        for step, share in moves:
            value = ladder(values, getattr(learner if name != "count" else entry, name), step)
            if value is None:
                continue
            what, axis = f"{name.replace('_', ' ')} {value:,g}", f"{name} {step:+}"
            if name == "count":
                yield forest(count=value), f"{value} mixtures", axis, share
                continue
            changes: dict[str, Any] = {name: value}
            if name == "steps":
                changes["settling"] = _settling(int(value))
            yield forest(learner=replace(learner, **changes)), what, axis, share


def _optimizer(board: Board, recipe: Recipe, seconds: float) -> Em:
    """Return EM where it may gain, or where it costs little beside the structure's `seconds`."""
    learner, entry = _mixture(recipe), recipe.forest[0]
    rows = float(board.dataset.train.weights.sum())
    cheap = PACE_GUESS * board.rows * _edges(board, recipe) <= CHEAP * seconds
    few_rows = rows < ROWS_PER_TREE * learner.points * entry.count
    if (few_rows and not cheap) or board.rows >= MANY_ROWS:
        return Em(max_iterations=0)
    return Em(stop=None, max_iterations=ITERATIONS, patience=PATIENCE)


def _free(recipe: Recipe) -> bool:
    """Return whether EM follows the decoder."""
    return isinstance(recipe.optimizer, Em) and recipe.optimizer.max_iterations > 0


def _size(points: int, steps: int) -> str:
    return f"{points:,} points, {steps:,} steps"


def _settling(steps: int) -> int:
    return max(40, steps // 4)


def _learner(recipe: Recipe) -> ContinuousMixture | None:
    """Return the learner of a forest of continuous mixtures; None for other forests."""
    if len(recipe.forest) != 1:
        return None
    learner = recipe.forest[0].learner
    return learner if isinstance(learner, ContinuousMixture) else None


def _mixture(recipe: Recipe) -> ContinuousMixture:
    """Return the learner of a forest that is known to be one of continuous mixtures."""
    learner = _learner(recipe)
    if learner is None:
        raise TypeError("this is not a forest of continuous mixtures")
    return learner


def _proposal(board: Board, recipe: Recipe, what: str, axis: str, gain: float) -> Proposal:
    seconds = _seconds(board, recipe)
    optimizer = _optimizer(board, recipe, seconds)
    recipe = replace(recipe, optimizer=optimizer)
    taken = [t.outcome.iterations for t in board.tried if _learner(t.recipe) is not None]
    few = max(1, min(max([FEW, *taken]), optimizer.max_iterations))
    edges = _edges(board, recipe)
    return Proposal(recipe, what, axis, gain, edges, few, seconds, sure=True, family=NAME)


def _seconds(board: Board, recipe: Recipe) -> float:
    """Return the seconds before the first iteration, by measured steps and the last mixture."""
    steps, edges = _step_time(board, recipe), _edges(board, recipe)
    own = [t for t in board.tried if t.axis.startswith(NAME)]
    if not own:
        return steps + (SETUP_GUESS + SCORE * board.rows) * edges
    last = own[-1]
    took = last.outcome.structure / _step_time(board, last.recipe)
    grown = math.pow(edges / _edges(board, last.recipe), STEEPER)
    return steps * min(max(took, 1.0 / TRUSTED), TRUSTED) + grown * last.outcome.lowering


def _step_time(board: Board, recipe: Recipe) -> float:
    """Return the seconds for all steps of the decoders."""
    learner, entry = _mixture(recipe), recipe.forest[0]
    steps = learner.steps * (1.0 + 1.0 / FIRST_FIT_DIVISOR) + learner.settling
    return float(entry.count * steps * SLOWER * _step_seconds(board, learner))


def _edges(board: Board, recipe: Recipe) -> float:
    learner, entry = _mixture(recipe), recipe.forest[0]
    states, groups = _states(board), _groups(board)
    each_point = PAIR_EDGES * states.sum() * groups + STATE_EDGES * states.sum()
    each_point += NUMBER_EDGES * groups * (board.columns - len(states))
    return float(entry.count * learner.points * each_point)


def _states(board: Board) -> Floats:
    """Return the numbers of states of the columns that have states."""
    columns = board.dataset.columns
    return np.array([column.states for column in columns if column.is_finite], dtype=float)


def _groups(board: Board) -> float:
    """Return how many states the parent of a column has on average; the parents are not known."""
    states = _states(board)
    return float(states.mean()) if len(states) else 1.0


def _logits(board: Board) -> float:
    """Return roughly how many numbers the network gives for a tree."""
    states, groups = _states(board), _groups(board)
    numbers = NUMBER_OUTPUTS * (board.columns - len(states))
    return float((states - 1.0).sum() + numbers) * groups


def _step_seconds(board: Board, learner: ContinuousMixture) -> float:
    """Return the seconds per step of a decoder: a straight line through two measured sizes."""
    rows = min(learner.batch_rows, board.dataset.train.rows)
    operations = 6.0 * _logits(board) * (2 * learner.width + rows) * MEASURED[1]
    if operations / FLOPS > MEASURED_SHARE * board.left:
        return operations / FLOPS * learner.points / MEASURED[1]
    found = []
    for points in MEASURED:
        alike = ContinuousMixture(
            points=points, latent=learner.latent, width=learner.width, batch_rows=rows
        )
        size = alike.settings(steps=1, settling=0)
        if size not in board.measured:
            columns = warped_for(learner, board.dataset).columns
            board.measured[size] = measured_step(columns, size, board.clock)
        found.append(board.measured[size])
    slope = max(0.0, found[1] - found[0]) / (MEASURED[1] - MEASURED[0])
    return max(found[0] + slope * max(0, learner.points - MEASURED[0]), LEAST_STEP)
