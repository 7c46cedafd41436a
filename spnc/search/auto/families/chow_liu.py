"""A Chow-Liu tree: learned in a moment, and the baseline that all other tries are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spnc.learners.chow_liu import ChowLiu
from spnc.learners.learn_spn import LearnSpn
from spnc.learners.support.chow_liu_trees import most_ranges
from spnc.learners.support.leaf_choice import SliceOptions
from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import MOST_EDGES, Board
from spnc.search.auto.costs import PAIR_SECONDS, SETUP_GUESS
from spnc.search.auto.proposal import Proposal, level
from spnc.spec.recipe import Component
from spnc.training.optimizers.em import Em

FEW = 3  # iterations of EM where values are missing
FOR_NUMBERS = 30  # iterations where columns hold numbers, whose ranges EM moves
FIRST_SHARE = 0.3  # of the budget that the first try may take
TREE_GAIN = 0.05  # expected gain over independent columns, as a share of their log-likelihood
FEW_ROWS = 10  # per column; with fewer, independent columns may be better than a tree
EVERY = 10**12  # rows; more than any slice of a table has
TREE, ALONE = "a tree", "independent columns"


@FAMILIES.register("chow-liu")
@dataclass(frozen=True, kw_only=True)
class ChowLiuTree(Options):
    """One tree; two different ones where links between components are asked for."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the tree once, or independent columns before a large one or instead of it.

        Where rows are few, independent columns come after the tree.
        """
        tree, edges = _entry(board), _tree_edges(board)
        leaves = SliceOptions(real=board.leaves.real)
        alone = replace(tree, learner=LearnSpn(min_instances=EVERY, leaves=leaves))
        if not board.tried:
            seconds = SETUP_GUESS * edges + PAIR_SECONDS * board.columns**2
            if edges > MOST_EDGES or seconds > FIRST_SHARE * board.budget:
                yield _proposal(board, alone, ALONE, 1.0, board.columns)
            else:
                yield _proposal(board, tree, TREE, 1.0, edges)
        elif board.tried[0].axis == ALONE and TREE not in board.given_up:
            # The loop drops the proposal once its recipe was tried.
            gain = TREE_GAIN * abs(level(board.tried[0].outcome))
            yield _proposal(board, tree, TREE, gain, edges)
        elif board.tried[0].axis == TREE and board.dataset.train.rows < FEW_ROWS * board.columns:
            gain = TREE_GAIN * abs(level(board.tried[0].outcome))
            yield _proposal(board, alone, ALONE, gain, board.columns)


def _entry(board: Board) -> Component:
    """Return one tree, or two different ones."""
    if board.base.residual.draws:
        return Component(count=2, learner=ChowLiu(noise=0.3, leaves=board.leaves))
    return Component(learner=ChowLiu(leaves=board.leaves))


def _tree_edges(board: Board) -> float:
    """Return a generous estimate: two columns of a hundred states each have 10,000 edges."""
    ranges = most_ranges(board.dataset.train.total)
    return float(sum((column.states or ranges) ** 2 for column in board.dataset.columns))


def _proposal(board: Board, entry: Component, what: str, gain: float, edges: float) -> Proposal:
    """Return a proposal; EM is skipped where the parameters are optimal before it."""
    missing = not board.dataset.train.complete_columns().all()
    iterations = FEW if missing or entry.count > 1 else 0
    if what == TREE and board.has_numbers:
        iterations = FOR_NUMBERS
    optimizer = Em(max_iterations=iterations, stop=None)
    recipe = replace(board.base, forest=(entry,), optimizer=optimizer)
    structure = PAIR_SECONDS * board.columns**2 if what == TREE else 0.0
    return Proposal(recipe, what, what, gain, entry.count * edges, iterations, structure)
