"""One model in many threads and processes: the same bits everywhere, and copies that work."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import pytest

import spnc
from spnc.backends.numba import direct
from spnc.model import Model

QUESTION = "P(smoking = 1 | xray = 1)"
_model: list[Model] = []  # what forked processes find


def answers(model: Model, seed: int = 0) -> tuple[bytes, bytes, str]:
    """Return what a model says, as bits."""
    rows = model.sample(500, seed=seed)
    return (
        model.log_likelihood(rows).tobytes(),
        rows.values.tobytes(),
        repr(model.query(QUESTION)),
    )


def inherited_answers(seed: int) -> tuple[bytes, bytes, str]:
    """Return what the model says that was there before the fork."""
    return answers(_model[0], seed)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A small model whose engine uses two threads, also for few rows."""
    monkeypatch.setattr(direct, "WORTH_SHARING", 0)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    recipe = {
        "model": "small",
        "data": {"source": "builtin:asia"},
        "forest": [{"learner": "extra-spn", "count": 2, "min_instances": 600}],
        "optimizer": {"max_iterations": 2},
    }
    return spnc.train(recipe).model


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
@pytest.mark.parametrize("used", [False, True])
def test_copies_give_the_same_bits(
    model: Model, copied: Callable[[Model], Model], used: bool
) -> None:
    if used:
        answers(model)
    assert answers(copied(model)) == answers(model)


def test_many_threads_get_what_one_gets(model: Model) -> None:
    seeds = [i % 4 for i in range(32)]
    with ThreadPoolExecutor(8) as pool:  # the first of them open the engine, at the same time
        found = list(pool.map(lambda seed: answers(model, seed), seeds))
    fresh = copy.deepcopy(model)
    assert found == [answers(fresh, seed) for seed in seeds]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_processes_use_the_model_of_their_parent(model: Model) -> None:
    expected = [answers(model, seed) for seed in range(4)]  # its threads are running now
    _model[:] = [model]
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        tasks = [pool.submit(inherited_answers, seed) for seed in range(4)]
        assert [task.result(timeout=300) for task in tasks] == expected
    assert [answers(model, seed) for seed in range(4)] == expected


@pytest.mark.parametrize("used", [False, True])
def test_spawned_processes_get_a_copy(model: Model, used: bool) -> None:
    if used:
        answers(model)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(answers, model, 3).result(timeout=300)
    assert found == answers(model, 3)


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_joblib_gives_the_same_bits(model: Model, prefer: str) -> None:
    found = joblib.Parallel(2, prefer=prefer)(
        joblib.delayed(answers)(model, seed) for seed in range(4)
    )
    assert found == [answers(model, seed) for seed in range(4)]
