"""Forests of hidden Chow-Liu trees: the best components known.

1. A scout: a small forest for a dozen iterations, which tells how fast things go here.
2. A forest that fits: as many states as the rows can tell apart, and as many trees, up to ten,
   as a part of the time allows. A large forest is better than a small one after the same time:
   on Audio, ten trees with twelve states reach -39.57 on the validation rows in 9 seconds and
   -39.39 in 14, four trees with eight states -39.61 in 9 seconds and -39.45 in 33.
3. Steps from the best forest so far, one thing at a time: states, trees, the prior, dropout with
   averaging, how much the trees differ, bootstrap samples; another seed last.

The shares say what such a step may bring, of what the best has over a single Chow-Liu tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from spnc.learners.hclt import HiddenChowLiu
from spnc.leaves.smoothing import Smoothing
from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import Board, ladder
from spnc.search.auto.costs import PAIR_SECONDS
from spnc.search.auto.proposal import FinishedTry, Proposal, best_of, level
from spnc.spec.recipe import Component, Recipe
from spnc.training.optimizers.em import Em
from spnc.training.optimizers.stepwise_em import StepwiseEm

# On 240,000 distinct rows one pass over mini-batches (2.3 seconds) gets as far as ten iterations of
# EM (9 seconds). On 15,000 rows it is no faster.
MANY_ROWS = 50_000
BATCH_ROWS = 5_000
PASSES = 6  # iterations of EM that a pass over mini-batches is worth
ITERATIONS = 1_000  # upper limit; a try is left before it
SCOUTS = ((2, 8), (1, 8), (1, 4), (1, 2))  # trees and states
SCOUT_ITERATIONS = 12
SCOUT_SHARE = 0.1  # of the budget, at most
SCOUT_GAIN = 0.05  # of the log-likelihood itself
FIT_ITERATIONS = 30
FIT_SHARE = 0.3  # of the time left, or
FIT_SECONDS, FIT_MORE = 20.0, 0.05  # these seconds plus this share of the time left
FIT_TREES = (10, 5, 2, 1)
FIT_GAIN = 0.15
# A tree of s states has s^2 weights per column. Best on validation rows were 12 states for 15,000
# rows, and 32 or more for 290,000.
ROWS_PER_WEIGHT = 110.0
FIT_STATES = 32  # at most
STATES = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
TREES = (1, 2, 5, 10, 20, 40)
SMOOTHING = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
DROPOUT = (0.0, 0.1, 0.2)
STAY = (0.5, 0.8)
NOISE = (0.3, 0.5, 0.7)
AVERAGE = 0.9  # decay of the moving average of the parameters, used with dropout
MOST_SEEDS = 10


NAME = "hclt"


@FAMILIES.register(NAME)
@dataclass(frozen=True, kw_only=True)
class HiddenChowLiuForests(Options):
    """Forests of hidden Chow-Liu trees."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield a small forest first, then the one that fits, then steps from the best of them."""
        if board.columns < 2 or not board.tried:
            return
        best = best_of(forests(board))
        if best is None:
            yield from self._scout(board)
        elif "fit" not in board.given_up and all(t.axis != "fit" for t in board.tried):
            yield from self._fit(board, best)
        else:
            yield from self._steps(board, best)

    def _scout(self, board: Board) -> Iterator[Proposal]:
        """Yield the largest of a few small forests that takes little of the time."""
        optimizer, iterations = fitting(board, SCOUT_ITERATIONS), _about(board, SCOUT_ITERATIONS)
        gain = SCOUT_GAIN * abs(level(board.tried[0].outcome))
        for trees, states in SCOUTS:
            recipe = replace(_sized(board.base, trees, states), optimizer=optimizer)
            made = _proposal(board, recipe, _size(trees, states), "scout", gain, iterations)
            own = replace(made, structure=0.0)  # the structure costs the same for every size
            cost = board.costs.estimate(own, board.tried).total
            if cost <= SCOUT_SHARE * board.budget or (trees, states) == SCOUTS[-1]:
                yield made
                return

    def _fit(self, board: Board, best: FinishedTry) -> Iterator[Proposal]:
        """Yield the forest that suits rows and time, possibly the scout, trained further."""
        rows = float(board.dataset.train.weights.sum())
        most = min(FIT_STATES, max(STATES[0], (rows / ROWS_PER_WEIGHT) ** 0.5 * 1.2))
        wanted = [int(s) for s in STATES if s <= most][::-1]
        allowed = min(FIT_SHARE * board.left, FIT_SECONDS + FIT_MORE * board.left)
        scout = _tree_of(best.recipe)
        sizes = [(trees, wanted[0]) for trees in FIT_TREES]
        sizes += [(1, s) for s in wanted[1:] if s > scout.states]
        sizes.append((best.recipe.forest[0].count, scout.states))
        gain = board.opening("fit", FIT_GAIN, [best])
        for trees, states in sizes:
            recipe = replace(_sized(board.base, trees, states), optimizer=fitting(board))
            what, iterations = _size(trees, states), _about(board, FIT_ITERATIONS)
            made = _proposal(board, recipe, what, "fit", gain, iterations)
            cost = board.costs.estimate(made, board.tried).total
            if cost <= allowed or (trees, states) == sizes[-1]:
                if recipe.forest == best.recipe.forest and board.best is best:
                    made = replace(made, goes_on=True, what="trained on")
                yield made
                return

    def _steps(self, board: Board, best: FinishedTry) -> Iterator[Proposal]:
        """Yield every step from the best forest that has not failed before."""
        behind = board.behind(best)
        # The best may be a scout, which has fewer iterations.
        optimizer = best.recipe.optimizer.cut(ITERATIONS) or best.recipe.optimizer
        whole = replace(best.recipe, optimizer=optimizer)
        iterations = max(_about(board, 15), best.outcome.iterations)
        for recipe, what, axis, share in _steps(whole):
            gain = board.hope(axis, share) - behind
            yield _proposal(board, recipe, what, axis, gain, iterations)
        failed = board.failures("seed")
        if failed < MOST_SEEDS:
            seed = max(t.recipe.seed for t in board.tried) + 1
            gain = 0.002 * board.scale() * 0.7**failed - behind
            recipe = replace(whole, seed=seed)
            yield _proposal(board, recipe, f"seed {seed}", "seed", gain, iterations)


def fitting(board: Board, iterations: int = ITERATIONS) -> Em | StepwiseEm:
    """Return how parameters are fitted at first: with very many rows, in mini-batches."""
    if board.rows < MANY_ROWS:
        return Em(stop=None, max_iterations=iterations)
    most = _about(board, iterations)
    return StepwiseEm(stop=None, max_iterations=most, batch_rows=BATCH_ROWS)


def _about(board: Board, iterations: int) -> int:
    """Return the number of iterations, or of passes over mini-batches that do the same work."""
    return iterations if board.rows < MANY_ROWS else max(2, iterations // PASSES)


def _sized(base: Recipe, trees: int, states: int) -> Recipe:
    entry = Component(count=trees, learner=HiddenChowLiu(states=states))
    return replace(base, forest=(entry,))


def _size(trees: int, states: int) -> str:
    return f"{trees} trees × {states} states" if trees > 1 else f"a tree × {states} states"


def forests(board: Board) -> list[FinishedTry]:
    """Return the tries of this family."""
    return [t for t in board.tried if learner_of(t.recipe) is not None]


def learner_of(recipe: Recipe) -> HiddenChowLiu | None:
    """Return the learner of a forest of hidden Chow-Liu trees; None for other forests."""
    if len(recipe.forest) != 1:
        return None
    learner = recipe.forest[0].learner
    return learner if isinstance(learner, HiddenChowLiu) else None


def _tree_of(recipe: Recipe) -> HiddenChowLiu:
    """Return the learner of a forest that is known to be one of hidden Chow-Liu trees."""
    learner = learner_of(recipe)
    if learner is None:
        raise TypeError("this is not a forest of hidden Chow-Liu trees")
    return learner


def estimated_edges(columns: int, count: int, states: int) -> float:
    """Return roughly how many edges a forest of hidden Chow-Liu trees has."""
    return count * columns * (states * states + 1.5 * states)


def _proposal(
    board: Board, recipe: Recipe, what: str, axis: str, gain: float, iterations: int
) -> Proposal:
    learner = _tree_of(recipe)
    count = recipe.forest[0].count
    # Every tree counts pairs of columns, as the first try did.
    structure = 0.0
    if axis == "scout":
        pairs = PAIR_SECONDS * board.columns**2
        structure = count * max(pairs, board.tried[0].outcome.structure)
    edges = estimated_edges(board.columns, count, learner.states)
    return Proposal(recipe, what, axis, gain, edges, iterations, structure, family=NAME)


def _steps(recipe: Recipe) -> Iterator[tuple[Recipe, str, str, float]]:
    """Yield recipes with one thing changed: with a description, an axis and the expected gain."""
    entry, learner, optimizer = recipe.forest[0], _tree_of(recipe), recipe.optimizer

    def forest(**changes: Any) -> Recipe:
        return replace(recipe, forest=(replace(entry, **changes),))

    def tree(**changes: Any) -> Recipe:
        return forest(learner=replace(learner, **changes))

    for step, share in ((1, 0.02), (2, 0.025), (-1, 0.003)):
        states = ladder(STATES, learner.states, step)
        if states is not None:
            what = f"{int(states)} states"
            yield tree(states=int(states)), what, f"states {step:+}", share
    for step, share in ((1, 0.02), (-1, 0.001)):
        count = ladder(TREES, entry.count, step)
        if count is not None:
            what = f"{int(count)} trees" if count > 1 else "a tree"
            yield forest(count=int(count)), what, f"trees {step:+}", share
    for step in (1, -1):
        alpha = ladder(SMOOTHING, recipe.smoothing.leaves, step)
        if alpha is not None and recipe.smoothing.as_number() is not None:
            changed = replace(recipe, smoothing=Smoothing.of(alpha))
            yield changed, f"smoothing {alpha:g}", f"smoothing {step:+}", 0.006
    if isinstance(optimizer, StepwiseEm):
        yield replace(recipe, optimizer=Em(stop=None)), "all rows at a time", "all rows", 0.002
    if isinstance(optimizer, Em):
        for step, share in ((1, 0.008), (-1, 0.002)):
            dropout = ladder(DROPOUT, optimizer.dropout, step)
            if dropout is not None:
                average = AVERAGE if dropout else 0.0
                thinned = replace(optimizer, dropout=dropout, average=average)
                changed = replace(recipe, optimizer=thinned)
                yield changed, f"dropout {dropout:g}", f"dropout {step:+}", share
    for name, values in (("stay", STAY), ("noise", NOISE)):
        for step in (1, -1):
            value = ladder(values, getattr(learner, name), step)
            if value is not None:
                yield tree(**{name: value}), f"{name} {value:g}", f"{name} {step:+}", 0.003
    sampled = not entry.bootstrap
    what = "bootstrap" if sampled else "no bootstrap"
    yield forest(bootstrap=sampled), what, what, 0.003
