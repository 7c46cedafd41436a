"""What `--auto` proposes of continuous mixtures: a small one, ways to fit it, then a large one.

Nothing is trained here: tries are put on the board by hand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.scales import scale_of
from spnc.data.table import Table
from spnc.diagnostics import Sink, Source
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.learners.continuous_mixture.mixture_fit import measured_step
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.learners.support.warps import warped_for
from spnc.program.score import Score
from spnc.registry import FAMILIES
from spnc.runs.outcome import Outcome
from spnc.search.auto.board import Board
from spnc.search.auto.costs import Costs
from spnc.search.auto.families import continuous_mixture
from spnc.search.auto.proposal import FinishedTry, Proposal
from spnc.spec.read import recipe_from
from spnc.training.optimizers.em import Em

FAMILY = FAMILIES["continuous-mixture"]()


def outcome(number: int, valid: float, **more: Any) -> Outcome:
    about = {"edges": 1000, "iterations": 0, "seconds": 1.0, **more}
    return Outcome(number, {"family": "f"}, Score(valid * 10, 10, 0), Score(), **about)


def a_board(rows: int = 300, columns: int = 20, states: int = 2, seconds: float = 600.0) -> Board:
    """A board with a tree on it, and all the time left."""
    sink = Sink()
    spec = "model: t\ndata: {source: builtin:digits}\nforest: [{learner: chow-liu}]\n"
    base = recipe_from(Source("t.yaml", spec), sink)
    assert base is not None
    kinds = tuple(Column(f"c{i}", "categorical", states) for i in range(columns))
    table = Table(np.random.default_rng(0).integers(states, size=(rows, columns)) * 1.0)
    data = Dataset("t", kinds, {"train": table})
    board = Board(base, data, seconds, Costs(rows), left=seconds)
    tree = Proposal(base, "a tree", "chow-liu", 0.0, 1000.0, 0, family="chow-liu")
    board.tried = [FinishedTry(tree, outcome(1, -9.0), 0.0, 0)]
    return board


def a_mixed_board(states: int = 3, seconds: float = 600.0) -> Board:
    """A board whose table has six columns of states and six of numbers."""
    board = a_board(columns=6, states=states, seconds=seconds)
    rng = np.random.default_rng(1)
    values = np.column_stack([board.dataset.train.values, rng.normal(size=(300, 6)).round(3)])
    numbers = tuple(
        Column(f"x{i}", "real", 0, scale=scale_of(own, np.ones(300)))
        for i, own in enumerate(values[:, 6:].T)
    )
    columns = (*board.dataset.columns, *numbers)
    return replace(board, dataset=Dataset("t", columns, {"train": Table(values)}))


def ended(board: Board, made: Proposal, valid: float = -5.0, **more: Any) -> Board:
    """The board after a try of the proposal; it took what it was thought to take."""
    steps = continuous_mixture._step_time(board, made.recipe)
    took = {"structure": steps, "setup": made.structure, "seconds": made.structure, **more}
    found = outcome(len(board.tried) + 1, valid, **took)
    gained = valid - max(t.outcome.valid.average for t in board.tried)
    tried = FinishedTry(made, found, gained, found.edges)
    return replace(board, tried=[*board.tried, tried], left=board.left - made.structure)


def learner(made: Proposal) -> ContinuousMixture:
    """What is proposed."""
    found = made.recipe.forest[0].learner
    assert isinstance(found, ContinuousMixture)
    return found


def names(board: Board) -> set[str]:
    """The first words of what is proposed with some hope."""
    return {p.what.split()[0] for p in FAMILY.propose(board) if p.gain > 0.0}


@pytest.fixture(autouse=True)
def steady_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes a hundredth of a second for 256 points."""
    monkeypatch.setattr(
        continuous_mixture, "measured_step", lambda _, plan, clock: plan.points / 25_600
    )


@pytest.mark.parametrize("states", [2, 80, 256])
def test_mixtures_measure_nothing_that_would_take_long(
    monkeypatch: pytest.MonkeyPatch, states: int
) -> None:
    """Of columns with many states a step takes seconds, or more memory than there is."""
    board = a_board(columns=12, states=states, seconds=8.0)
    measured = []

    def step(columns: Any, plan: Any, clock: Any) -> float:
        measured.append(plan)
        return 0.01

    monkeypatch.setattr(continuous_mixture, "measured_step", step)
    found = continuous_mixture._step_seconds(board, ContinuousMixture(points=512))
    assert bool(measured) is (states == 2)
    if states > 2:
        assert found > 0.02
        assert states < 256 or not list(FAMILY.propose(board))


def test_a_mixture_costs_what_the_last_one_took() -> None:
    board = a_board()
    (first,) = FAMILY.propose(board)
    steps = continuous_mixture._step_time(board, first.recipe)

    def wider(times: float, lowering: float = 0.0, axis: str = first.axis) -> float:
        """Seconds for a wider network, if the first mixture took so many times its estimate."""
        took = {"structure": times * steps, "setup": times * steps + lowering}
        now = ended(board, replace(first, axis=axis), **took)
        return float(next(p for p in FAMILY.propose(now) if p.what == "width 128").structure)

    assert wider(1.0) == pytest.approx(steps)  # the stand-in for steps knows no width
    assert wider(0.7) == pytest.approx(0.7 * steps)
    assert wider(1.5) == pytest.approx(1.5 * steps)
    assert wider(0.01) == pytest.approx(0.5 * steps)
    assert wider(1.0, lowering=3.0) == pytest.approx(steps + 3.0)
    assert wider(0.01, lowering=3.0, axis="trained on") == pytest.approx(first.structure)


@pytest.mark.parametrize("seconds", [20.0, 60.0, 600.0, 7200.0])
def test_the_first_takes_little_and_the_largest_most_of_the_time(seconds: float) -> None:
    board = a_board(seconds=seconds)
    (first,) = FAMILY.propose(board)
    assert first.structure <= min(0.15 * seconds, 40.0) or learner(first).points == 32
    board = ended(board, first)
    assert names(board) == {"width", "decay", "learning", "latent"}
    board.left = 0.6 * seconds
    (largest,) = FAMILY.propose(board)
    assert largest.structure > 0.3 * board.left or learner(largest).points == 4096
    assert names(ended(board, largest)) >= {"points", "steps", "width", "2"} - (
        {"points"} if learner(largest).points == 4096 else set()
    )


def test_the_largest_is_fitted_as_the_best_of_the_small_ones() -> None:
    board = a_board()
    (first,) = FAMILY.propose(board)
    board = ended(board, first)
    decay = next(p for p in FAMILY.propose(board) if p.what == "decay 1")
    board = ended(board, decay, valid=-4.5)
    assert names(board) >= {"decay", "width"}
    board.left = 300.0
    (largest,) = FAMILY.propose(board)
    assert learner(largest).decay == 1.0
    assert learner(largest).points > learner(first).points
    board.given_up.add(largest.axis)  # it was not done in time
    assert "points" in names(board)


@pytest.mark.parametrize("seconds", [20.0, 40.0, 80.0, 200.0, 500.0])
@pytest.mark.parametrize("test_rows", [0, 5_000, 100_000])
def test_what_is_proposed_as_the_largest_fits_with_scoring_and_writing(
    seconds: float, test_rows: int
) -> None:
    board = a_board(columns=60, seconds=2 * seconds)
    board.costs = Costs(300, test_rows)
    (first,) = FAMILY.propose(board)
    board = replace(ended(board, first), left=seconds)
    made = list(FAMILY.propose(board))
    if len(made) == 1:
        assert made[0].axis == continuous_mixture.LARGEST
        least = board.costs.estimate(made[0], board.tried).least
        assert least <= board.left - board.reserve
    else:  # none does, and there are smaller steps to make
        assert test_rows == 100_000
        assert {p.axis.split()[1] for p in made} >= {"width", "points"}


@pytest.mark.parametrize("good", [set(), {"width 128"}, {"decay 1", "latent 8"}, {"width 32"}])
def test_when_no_way_is_left_the_largest_does_not_wait(good: set[str]) -> None:
    """Steps back from what has succeeded lead to what is known, and are no ways."""
    board = a_board(seconds=7200.0)
    (first,) = FAMILY.propose(board)
    board, best = ended(board, first), -5.0
    for _ in range(30):
        known = [t.recipe for t in board.tried]  # which the loop does not try again
        ways = [p for p in FAMILY.propose(board) if p.gain > 0.0 and p.recipe not in known]
        assert ways, "nothing is proposed, and there is time"
        if ways[0].axis == "continuous-mixture largest":
            break
        way = next((p for p in ways if p.what in good), ways[0])
        best += 0.1 if way.what in good else 0.0
        board = ended(board, way, valid=best if way.what in good else best - 0.5)
    assert [p.axis for p in ways] == ["continuous-mixture largest"]
    assert board.left > 5000.0


def test_tables_with_numbers_get_mixtures_on_warps() -> None:
    board = a_mixed_board()
    (first,) = FAMILY.propose(board)
    assert learner(first).leaves == LeafOptions(real="warped-gaussian")
    board = ended(board, first)
    assert names(board) == {"width", "decay", "learning", "latent"}
    assert all(learner(p).leaves.real == "warped-gaussian" for p in FAMILY.propose(board))


def test_numbers_alone_are_proposed_too() -> None:
    board = a_mixed_board()
    data = board.dataset
    alone = Dataset("t", data.columns[6:], {"train": Table(data.train.values[:, 6:])})
    (first,) = FAMILY.propose(replace(board, dataset=alone))
    assert first.edges > 0.0


def test_a_step_is_measured_with_numbers() -> None:
    """With a parent of many states, a column of numbers takes longer."""
    plan = ContinuousMixture(points=16, width=4, batch_rows=32).settings(steps=1, settling=0)
    columns = warped_for(LeafOptions(real="warped-gaussian"), a_mixed_board().dataset).columns
    assert measured_step(columns, plan) > 0.0
    assert measured_step(columns[6:], plan) > 0.0
    counts = tuple(replace(column, kind="count", warp=None) for column in columns[6:])
    assert measured_step((*columns[:6], *counts), plan) > 0.0


def test_a_clock_that_stands_still_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuous_mixture, "measured_step", lambda *_: 0.0)
    board = a_board()
    (first,) = FAMILY.propose(board)
    assert names(ended(board, first))


def free(board: Board) -> bool:
    """Whether EM comes after the one mixture that is proposed."""
    (made,) = FAMILY.propose(board)
    assert isinstance(made.recipe.optimizer, Em)
    return made.recipe.optimizer.max_iterations > 0


def test_em_comes_after_it_where_there_are_many_rows_or_it_costs_nothing() -> None:
    board = a_board(rows=20_000, columns=60)
    assert not free(board)
    often = Table(board.dataset.train.values, np.full(20_000, 50.0))
    assert free(replace(board, dataset=replace(board.dataset, splits={"train": often})))
    assert free(a_board(rows=100))


@pytest.mark.parametrize("gained", [0, 9])
def test_what_has_gained_by_em_does_not_grow_beyond_it(gained: int) -> None:
    board = a_board(rows=20_000, columns=60)
    often = Table(board.dataset.train.values, np.full(20_000, 10.0))
    board = replace(board, dataset=replace(board.dataset, splits={"train": often}))
    (first,) = FAMILY.propose(board)
    board = replace(ended(board, first, iterations=9, kept=gained, pace=0.01), left=390.0)
    assert free(board) is bool(gained)


def test_iterations_that_the_last_mixture_took_are_expected_of_the_next() -> None:
    board = a_board(rows=100)
    (first,) = FAMILY.propose(board)
    assert first.iterations == 3
    board = ended(board, first, iterations=40)
    assert {p.iterations for p in FAMILY.propose(board)} == {40}
