"""The family of components that are fitted alone, and columns with warps in searches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import spnc
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink
from spnc.learners.hclt import HiddenChowLiu
from spnc.learners.support.warps import warped_for
from spnc.leaves.smoothing import Smoothing
from spnc.model import Model, to_bytes
from spnc.program.score import Score
from spnc.runs.outcome import Outcome
from spnc.search.auto.board import Board
from spnc.search.auto.costs import Costs
from spnc.search.auto.families.fitted_alone import FittedAlone
from spnc.search.auto.proposal import FinishedTry, Proposal
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Component, Recipe
from tests.places import ROOT


def dataset_of(source: str) -> Dataset:
    found = load(DataOptions(source=source, split=(0.8, 0.1, 0.1)), Sink())
    assert found is not None
    return found


def board_of(source: str, left: float) -> Board:
    dataset = dataset_of(source)
    base = Recipe(
        model="x", data=DataOptions(source=source), forest=(Component(learner=HiddenChowLiu()),)
    )
    rows = dataset.distinct["train"].rows
    board = Board(base, dataset, left, Costs(rows), left=left)
    board.tried = [tried(base, "chow-liu", -20.0), tried(base, "hclt", -18.0)]
    return board


def tried(recipe: Recipe, family: str, valid: float) -> FinishedTry:
    proposal = Proposal(recipe, "", family, 0.0, 1_000, 10, family=family)
    score = Score(valid * 10, 10, 0)
    found = Outcome(1, {"family": family}, score, Score(), 1_000, 50, 1.0, setup=0.01, pace=0.001)
    return FinishedTry(proposal, found, 0.0, 0)


def proposed(board: Board) -> list[Proposal]:
    return list(FittedAlone().propose(board))


def test_as_much_is_proposed_as_there_is_time_for() -> None:
    counts = []
    for left in (0.5, 20.0, 3600.0):
        found = proposed(board_of("builtin:wine", left))
        counts.append(len(found[0].recipe.forest) if found else 0)
        assert all(one.structure <= 0.45 * left for one in found)
    assert counts[0] < counts[2] == 6
    assert counts == sorted(counts)


def test_a_larger_forest_is_proposed_once_if_there_is_more_time() -> None:
    board = board_of("builtin:wine", 20.0)
    [first] = proposed(board)
    done = tried(replace(first.recipe, forest=first.recipe.forest[:2]), "fitted-alone", -15.0)
    board.tried.append(done)
    board.left = 3600.0
    [second] = proposed(board)
    assert (second.axis, len(second.recipe.forest)) == ("alone, larger", 6)
    board.tried.append(tried(second.recipe, "fitted-alone", -14.0))
    assert proposed(board) == []


def test_it_promises_more_for_numbers_than_for_many_labels() -> None:
    [numbers], [labels] = (proposed(board_of(s, 600.0)) for s in ("builtin:wine", "builtin:asia"))
    assert numbers.gain > 10.0 * labels.gain > 0.0


def test_a_prior_that_a_person_has_fixed_holds() -> None:
    board = board_of("builtin:wine", 600.0)
    assert proposed(board)[0].recipe.forest[0].smoothing is not None
    board.base = replace(board.base, smoothing=Smoothing.of(0.3))
    assert all(entry.smoothing is None for entry in proposed(board)[0].recipe.forest)


def test_a_dataset_gets_warps_once_and_only_for_recipes_that_need_them() -> None:
    board = board_of("builtin:iris", 600.0)
    dataset = board.dataset
    _ = dataset.distinct
    assert warped_for(board.base, dataset) is dataset
    warped = warped_for(proposed(board)[0].recipe, dataset)
    assert warped_for(proposed(board)[0].recipe, dataset) is warped
    assert [column.warp is not None for column in warped.columns] == [True] * 4 + [False]
    assert warped.distinct is dataset.distinct
    assert warped.digest == dataset.digest


@pytest.mark.parametrize("fixed", ["seed", "smoothing"])
def test_the_chosen_try_of_a_search_is_what_its_recipe_makes_alone(fixed: str) -> None:
    """Whether columns have warps depends on the recipe of a try, and not on the others'."""
    kinds = ["gaussian", "warped-gaussian"]
    spec: dict[str, Any] = {
        "model": "x",
        "data": {"source": "builtin:iris", "split": [0.8, 0.1, 0.1]},
        "forest": [{"learner": "hclt", "states": 2}],
        "optimizer": {"max_iterations": 2},
        "backend": "numpy",
        fixed: 3,
    }

    def trained(real: Any) -> Model:
        entry = {**spec["forest"][0], "leaves": {"real": real}}
        return spnc.train({**spec, "forest": [entry]}).model

    alone = {kind: trained(kind) for kind in kinds}
    assert [alone[kind].columns[0].warp is not None for kind in kinds] == [False, True]
    for order in (kinds, kinds[::-1]):
        found = trained({"search": order})
        used = {table.distribution for table in found.program.leaves}
        [chosen] = used.intersection(kinds)
        same = replace(found, provenance=alone[chosen].provenance)
        assert to_bytes(same) == to_bytes(alone[chosen])


def test_all_of_it_is_the_recipe_for_tables() -> None:
    recipe = read_recipe(ROOT / "specs/best/table.yaml", Sink())
    assert recipe is not None
    [whole] = proposed(board_of("builtin:wine", 3600.0))
    assert set(whole.recipe.forest) == set(recipe.forest)
    assert (whole.recipe.shares, whole.recipe.optimizer) == (recipe.shares, recipe.optimizer)
