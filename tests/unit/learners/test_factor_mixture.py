"""Mixtures of factor models: what they know of real tables, missing cells, and killed runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import spnc
from spnc.common.arrays import Floats
from spnc.common.savepoints import Piece, Savepoints, UnusableError
from spnc.data.columns import Column
from spnc.data.scales import scale_of
from spnc.data.table import Table
from spnc.diagnostics import InputError
from spnc.learners import LearningTask
from spnc.learners.factor_mixture import FactorMixture
from spnc.learners.support.leaf_choice import JointOptions, SliceOptions
from spnc.testing.forests import drawing, log_likelihood
from tests.learning_tasks import learn, learning_task

PLAIN = JointOptions(real="gaussian", points="none")
STRAIGHT = FactorMixture(groups=1, factors=1, leaves=PLAIN)


def real_columns(rows: Floats) -> list[Column]:
    ones = np.ones(len(rows))
    return [Column(f"x{i}", "real", 0, scale=scale_of(v, ones)) for i, v in enumerate(rows.T)]


def two_lines(count: int, seed: int) -> Floats:
    """Rows on two lines in three dimensions."""
    rng = np.random.default_rng(seed)
    side = rng.integers(2, size=(count, 1))
    way = np.where(side, [1.0, -1.0, 0.5], [0.2, 1.0, -1.0])
    noise = 0.1 * rng.normal(size=(count, 3))
    return np.asarray(10.0 * side + rng.normal(size=(count, 1)) * way + noise)


def two_lines_density(rows: Floats) -> Floats:
    parts = [
        multivariate_normal.pdf(rows, np.full(3, place), np.outer(w, w) + 0.01 * np.eye(3))
        for place, w in ((10.0, [1.0, -1.0, 0.5]), (0.0, [0.2, 1.0, -1.0]))
    ]
    return np.asarray(np.log(0.5 * parts[0] + 0.5 * parts[1]))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_known_mixture_is_found(missing: float) -> None:
    rows, later = two_lines(1500, 0), two_lines(1000, 1)
    hidden = np.random.default_rng(2).random(rows.shape) < missing
    rows = np.where(hidden, np.nan, rows)
    learner = replace(STRAIGHT, groups=2)
    graph = learn(learner, real_columns(rows), Table(rows), alpha=0.01)
    lost = two_lines_density(later).mean() - log_likelihood(graph, later).mean()
    assert lost < 0.03


def test_one_group_answers_as_a_regression() -> None:
    rng = np.random.default_rng(0)
    height = rng.normal(170.0, 10.0, 4000)
    weight = 70.0 + 0.9 * (height - 170.0) + rng.normal(0.0, 6.0, 4000)
    learner = {"learner": "factor-mixture", "groups": 1, "leaves": {"real": "gaussian"}}
    spec = {
        "model": "people",
        "data": {"columns": {"*": {"kind": "real", "resolution": 0.001}}},
        "forest": [learner],
        "optimizer": {"max_iterations": 0},
        "smoothing": 0.0,
    }
    model = spnc.train(spec, data={"height": height, "weight": weight}).model
    slope, middle = np.polyfit(height, weight, 1)
    found = model.query("E[weight | height = 185]").value
    assert found == pytest.approx(slope * 185.0 + middle, abs=0.1)
    # Of ranges of both columns there is no closed form for a normal distribution; SciPy integrates.
    wanted = multivariate_normal([height.mean(), weight.mean()], np.cov(height, weight))
    heavy = (
        1.0 - wanted.cdf([np.inf, 80.0]) - wanted.cdf([180.0, np.inf]) + wanted.cdf([180.0, 80.0])
    )
    found = model.query("P(height > 180 and weight > 80)").value
    assert found == pytest.approx(heavy, abs=0.002)


def test_it_beats_independent_columns_in_groups_on_measurements() -> None:
    def valid(entry: dict[str, Any]) -> float:
        spec = {
            "model": "wine",
            "data": {"source": "builtin:wine", "split": [0.6, 0.4, 0.0]},
            "forest": [entry],
            "optimizer": {"max_iterations": 0},
        }
        return spnc.train(spec).scores["valid"].average

    groups = {"learner": "factor-mixture", "groups": 3, "factors": 1}
    slices = {"learner": "learn-spn", "min_instances": 60, "rows": "kmeans", "clusters": 3}
    warped = {**slices, "leaves": {"real": "warped-gaussian"}}
    joint = {**slices, "leaves": {"model": "joint-gaussian"}}
    assert valid(groups) > valid(warped) + 0.3
    assert valid(joint) > valid(warped) + 0.1


def test_words_numbers_and_points_are_parts_of_the_groups() -> None:
    spec = {
        "model": "penguins",
        "data": {"source": "builtin:penguins", "split": [0.7, 0.15, 0.15]},
        "forest": [{"learner": "factor-mixture", "groups": 4, "factors": 1}],
        "optimizer": {"max_iterations": 0},
    }
    found = spnc.train(spec)
    assert found.scores["test"].impossible == 0
    assert found.model.query("P(species = Gentoo | flipper_length > 220)").value > 0.9


class Memory(Savepoints):
    """Keeps every piece, and begins with one."""

    def __init__(self, kept: Piece | None = None) -> None:
        self.kept, self.pieces = kept, list[Piece]()

    def load(self, name: str) -> Piece | None:
        return self.kept

    def is_due(self) -> bool:
        return True

    def save(self, name: str, piece: Piece) -> None:
        self.pieces.append(piece)


def mixed_task(savepoints: Savepoints, valid: bool) -> LearningTask:
    rows, others = two_lines(120, 0), two_lines(60, 1)
    state = (rows[:, :1] > 5.0) * 1.0
    columns = [*real_columns(rows), Column("side")]
    task = learning_task(columns, Table(np.hstack([rows, state])))
    later = Table(np.hstack([others, np.full((60, 1), np.nan)]))
    return replace(task, savepoints=savepoints, valid=later if valid else None)


def circuit_of(learner: FactorMixture, task: LearningTask) -> list[object]:
    task.builder.graph.graph["root"] = learner.learn(task)
    return drawing(task.builder.graph)


@pytest.mark.parametrize("valid", [False, True])
def test_a_killed_fit_goes_on_to_the_same_bits(valid: bool) -> None:
    learner, memory = replace(STRAIGHT, groups=3), Memory()
    whole = circuit_of(learner, mixed_task(memory, valid))
    assert len(memory.pieces) > 3
    for kept in (memory.pieces[0], memory.pieces[2], memory.pieces[-1]):
        assert circuit_of(learner, mixed_task(Memory(kept), valid)) == whole


def test_a_state_of_another_fit_is_refused() -> None:
    memory = Memory()
    circuit_of(replace(STRAIGHT, groups=3), mixed_task(memory, True))
    with pytest.raises(UnusableError, match="shapes"):
        circuit_of(replace(STRAIGHT, groups=2), mixed_task(Memory(memory.pieces[1]), True))
    about = {**memory.pieces[1].about, "done": -1}
    task = mixed_task(Memory(Piece(about, memory.pieces[1].arrays)), True)
    with pytest.raises(UnusableError, match="iterations"):
        circuit_of(replace(STRAIGHT, groups=3), task)


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("width", [1, 3])
def test_few_rows_and_columns_are_enough(rows: int, width: int) -> None:
    values = two_lines(5, 0)[:rows, :width]
    graph = learn(replace(STRAIGHT, groups=4), real_columns(values), Table(values))
    assert np.isfinite(log_likelihood(graph, values)).all()
    assert log_likelihood(graph, np.full((1, width), np.nan))[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (SliceOptions(model="joint-gaussian", real="student-t"), "cannot be parts of a joint"),
        (SliceOptions(model="factorised", factors=2), "is for `model: joint-gaussian` only"),
        (JointOptions(date="histogram"), "cannot be parts of a joint"),
    ],
)
def test_options_that_do_not_go_together_are_conflicts(options: Any, text: str) -> None:
    assert any(text in conflict.message for conflict in options.conflicts())


def test_the_leaves_of_a_joint_gaussian_are_named_in_the_message() -> None:
    forest = [{"learner": "factor-mixture", "leaves": {"real": "gamma"}}]
    with pytest.raises(InputError) as error:
        spnc.train({"model": "m", "data": "builtin:iris", "forest": forest})
    assert "warped-gaussian" in str(error.value)
