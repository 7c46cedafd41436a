"""Components that are fitted alone, of several sizes, with shares fitted to the validation rows.

This is what tables of numbers and labels, or of few rows, are described best by: the recipe
`specs/best/table.yaml`, as much of it as there is time for. Hidden trees from small to large,
groups in which real columns are jointly normal, and kernels around the rows; real columns are
normal on their warps. The sizes do not have to be searched for, since the validation rows say what
each entry of the forest counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from spnc.learners.factor_mixture import FactorMixture
from spnc.learners.hclt import HiddenChowLiu
from spnc.learners.kernel_density import KernelDensity
from spnc.learners.support.leaf_choice import JOINED, LeafOptions
from spnc.leaves.smoothing import Smoothing
from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import MOST_EDGES, Board
from spnc.search.auto.costs import PAIR_SECONDS
from spnc.search.auto.families.hclt import estimated_edges
from spnc.search.auto.proposal import Proposal
from spnc.spec.recipe import Component, Recipe
from spnc.training.optimizers.em import Em

NAME = "fitted-alone"
FIT = 100  # iterations at most; EM ends sooner when validation rows have had enough
LIKELY_FIT = 30  # iterations
# Seconds of the kernels' fit, per row, centre and column.
KERNEL_SECONDS = 1.5e-8
# Seconds of a factor mixture, per row, group and column, and per edge of its circuit: measured on
# the real columns of abalone and of wine, on a quiet machine.
GROUP_SECONDS, GRID_SECONDS = 2e-5, 4e-5
FEWEST_REAL = 2  # columns, for a factor mixture to be more than a mixture of products
LIKELY_POINTS = 1_000  # of a group's grid
SHARE = 0.45  # of the time left that the first forest may take; the second may take more of it
LATER_SHARE = 0.8
# What may be gained, as a share of what the best has over a single tree. On the tables of
# `benchmarks.tables`, hidden trees fitted together are 0.3 to 7 nats behind; on binary columns
# with thousands of rows they are ahead.
GAIN, GAIN_OF_MANY_STATES = 0.6, 0.01
FEW_ROWS = 2_000


@FAMILIES.register(NAME)
@dataclass(frozen=True, kw_only=True)
class FittedAlone(Options):
    """Components that are fitted alone, with fitted shares."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the largest forest that there is time for; once more if there is more time."""
        if board.columns < 2 or not board.tried:
            return
        before = [t for t in board.tried if t.family == NAME]
        axis, share = ("alone", SHARE) if not before else ("alone, larger", LATER_SHARE)
        if len(before) > 1 or axis in board.given_up:
            return
        entries, edges, seconds = _fitting(board, share * board.left)
        if len(entries) < 2 or (before and len(entries) <= len(before[0].recipe.forest)):
            return
        recipe = replace(
            board.base, forest=tuple(entries), shares="fitted", optimizer=Em(max_iterations=0)
        )
        rows = float(board.dataset.train.weights.sum())
        fits_here = board.has_numbers or rows < FEW_ROWS
        gain = board.hope(axis, GAIN if fits_here else GAIN_OF_MANY_STATES)
        count = sum(entry.count for entry in entries)
        what = f"{count} components of {len(entries)} kinds"
        yield Proposal(recipe, what, axis, gain, edges, 0, seconds, sure=True, family=NAME)


def _fitting(board: Board, allowed: float) -> tuple[list[Component], float, float]:
    """Return the entries that can be fitted in this time, their edges and the seconds."""
    chosen: list[Component] = []
    edges, seconds = 0.0, 0.0
    for entry in _entries(board.base):
        if isinstance(entry.learner, FactorMixture) and _real_columns(board) < FEWEST_REAL:
            continue
        own_edges, own_seconds = _size(board, entry)
        if seconds + own_seconds <= allowed and edges + own_edges <= MOST_EDGES:
            chosen.append(entry)
            edges, seconds = edges + own_edges, seconds + own_seconds
    return chosen, edges, seconds


def _real_columns(board: Board) -> int:
    return sum(column.kind in JOINED for column in board.dataset.columns)


def _entries(base: Recipe) -> Iterator[Component]:
    """Yield the entries of the forest, those that the least time is needed for first."""
    leaves = LeafOptions(real="warped-gaussian")

    def prior(own: Smoothing) -> Smoothing | None:
        """A prior that a person has fixed holds for all entries."""
        return own if base.smoothing == Smoothing() else None

    def trees(count: int, states: int, weights: float | None, **options: Any) -> Component:
        learner = HiddenChowLiu(states=states, leaves=leaves, **options)
        own = None if weights is None else prior(Smoothing(weights=weights))
        return Component(count=count, fit=FIT, smoothing=own, learner=learner)

    yield trees(20, 8, 0.5)
    yield trees(8, 24, None)
    yield Component(learner=KernelDensity())
    yield Component(
        learner=FactorMixture(groups=16, factors=2), smoothing=prior(Smoothing.of(0.03))
    )
    yield trees(4, 64, 0.02, noise=2.0)
    yield trees(2, 128, 0.02, noise=4.0)


def _size(board: Board, entry: Component) -> tuple[float, float]:
    """Return the estimated edges of an entry, and the seconds to learn and fit it."""
    learner = entry.learner
    if isinstance(learner, KernelDensity):
        rows = min(float(board.rows), float(learner.centres))
        return rows * (board.columns + 1.0), KERNEL_SECONDS * board.rows * rows * board.columns
    if isinstance(learner, FactorMixture):
        points = learner.groups * LIKELY_POINTS
        edges = points * (_real_columns(board) + 1.0)
        fit = GROUP_SECONDS * learner.groups * board.rows * board.columns
        return edges, fit + GRID_SECONDS * edges
    assert isinstance(learner, HiddenChowLiu)
    edges = estimated_edges(board.columns, 1, learner.states)
    one = Proposal(board.base, "", "", 0.0, edges, LIKELY_FIT, family="hclt")
    pace = board.costs.estimate(one, board.tried).pace
    structure = max(PAIR_SECONDS * board.columns**2, board.tried[0].outcome.structure)
    return entry.count * edges, entry.count * (structure + LIKELY_FIT * pace)
