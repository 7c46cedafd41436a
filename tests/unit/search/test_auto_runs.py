"""`spnc train --auto` from table to model, on a clock of its own: cuts, kills, the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spnc
from spnc.backends.numba.engine import CpuEngine
from spnc.common.observer import Observer
from spnc.compilation import compile_recipe
from spnc.data.load import load
from spnc.diagnostics import Sink
from spnc.pipeline import fit
from spnc.search import trials
from spnc.search.auto import loop
from spnc.search.auto.proposal import level
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Journal
from spnc.search.one_try import TryPlan
from spnc.spec.read import read_recipe
from spnc.training import OUT_OF_TIME
from spnc.training.optimizers.sgd import Sgd
from tests.choosing import choose, made_again
from tests.places import ROOT

QUICK = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def test_the_best_of_all_tries_is_chosen_and_its_recipe_makes_the_same_bits(tmp_path: Path) -> None:
    found = choose(tmp_path / "run", 30.0)
    assert len(found.tries) > 5
    best = max(found.tries, key=lambda t: (t.valid.rank, -t.number))
    assert [t.number for t in found.tries if t.chosen] == [best.number]
    assert found.scores["valid"] == best.valid
    assert found.tries[0].values["family"] == "chow-liu"  # the first answer is a quick one
    run = tmp_path / "run"
    names = {"history.csv", "metrics.json", "model.spnc", "recipe.lock.yaml", "recipe.yaml"}
    assert {p.name for p in run.iterdir()} == {*names, "tries.csv"}
    text = (run / "recipe.yaml").read_text()
    assert text.startswith("# Chosen by `spnc train --auto builtin:asia`: try ")
    assert len(text.splitlines()) < 20
    assert "noise" not in text or "0.5" not in text.split("noise")[1][:6]  # no defaults
    assert made_again(run) == (run / "model.spnc").read_bytes()
    locked = spnc.train(run / "recipe.lock.yaml")
    locked.model.save(run / "locked.spnc")
    assert (run / "locked.spnc").read_bytes() == (run / "model.spnc").read_bytes()


@QUICK
@given(st.floats(0.005, 0.2), st.floats(0.5, 20.0))
def test_a_try_that_is_cut_has_a_recipe_for_the_same_bits(
    tmp_path_factory: pytest.TempPathFactory, tick: float, budget: float
) -> None:
    run = tmp_path_factory.mktemp("auto") / "run"
    found = choose(run, budget, tick)
    best = next(t for t in found.tries if t.chosen)
    assert best.valid.rank == max(t.valid.rank for t in found.tries)
    if best.stopped == OUT_OF_TIME:
        assert f"max_iterations: {best.iterations}\n" in (run / "recipe.yaml").read_text()
    assert made_again(run) == (run / "model.spnc").read_bytes()


@pytest.mark.parametrize("setting", ["dropout", "average", "stepwise"])
def test_a_cut_is_repeated_to_the_bit_by_every_optimizer(tmp_path: Path, setting: str) -> None:
    """The loop of training, ended early, and ended by `max_iterations`: the same parameters."""
    options = {
        "dropout": "{method: em, stop: none, dropout: 0.2, average: 0.9}",
        "average": "{method: em, stop: none, average: 0.8}",
        "stepwise": "{method: stepwise-em, stop: none, batch_rows: 500}",
    }
    spec = tmp_path / "a.yaml"
    spec.write_text(
        "model: a\ndata: {source: builtin:asia, split: [0.6, 0.2, 0.2]}\n"
        f"forest: [{{learner: hclt, count: 2, states: 3}}]\noptimizer: {options[setting]}\n"
    )
    recipe = read_recipe(spec, Sink())
    assert recipe is not None
    cut = fit(compile_recipe(recipe, Sink()), Sink(), enough=lambda history: len(history) > 7)
    assert cut.fitted.stopped == OUT_OF_TIME
    assert cut.metrics["optimizer"]["iterations"] == 7
    plain = spnc.train(spec, "optimizer.max_iterations=7")
    assert plain.fitted.kept_iteration == cut.fitted.kept_iteration
    for name, run in (("cut", cut), ("plain", plain)):
        run.model.save(tmp_path / f"{name}.spnc")
    assert (tmp_path / "cut.spnc").read_bytes() == (tmp_path / "plain.spnc").read_bytes()


def test_steps_that_depend_on_how_many_there_will_be_are_not_cut(tmp_path: Path) -> None:
    assert Sgd().cut(5) is None
    shorter = Sgd(schedule="constant").cut(5)
    assert shorter is not None
    assert shorter.max_iterations == 5


def test_no_try_is_begun_that_does_not_fit_by_its_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    take = loop._Loop.take
    seen: list[tuple[float, float]] = []

    def watched(self: Any, proposal: Any, rate: float) -> None:
        if self.board.tried:
            seen.append((self.estimate(proposal).least, self.budget.left() - self.board.reserve))
        take(self, proposal, rate)

    monkeypatch.setattr(loop._Loop, "take", watched)
    clock = 0.02
    for budget in (2.0, 6.0, 12.0):
        found = choose(None, budget, clock)
        assert len(found.tries) >= 1
        assert found.metrics["search"]["budget"] == budget
    assert len(seen) > 5
    # Looking at the clock takes time here, and every proposal is one look.
    assert all(least <= left + 40 * clock for least, left in seen)


def test_reading_the_data_is_timed_alone() -> None:
    """What went before it, such as the start of the process, belongs to the budget only."""
    found = choose(None, 3.0, 0.01, began=-2.5)
    assert found.metrics["seconds"]["data"] == pytest.approx(0.01)


def test_any_budget_ends_with_a_model(tmp_path: Path) -> None:
    found = choose(tmp_path / "run", 0.01)
    assert [t.values["family"] for t in found.tries] == ["chow-liu"]
    assert (tmp_path / "run" / "model.spnc").is_file()
    assert made_again(tmp_path / "run") == (tmp_path / "run" / "model.spnc").read_bytes()


def test_the_test_rows_are_looked_at_once_by_the_chosen_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    original = CpuEngine.load

    def load_counting(self: Any, table: Any, **named: Any) -> Any:
        seen.append(int(table.weights.sum()))
        return original(self, table, **named)

    monkeypatch.setattr(CpuEngine, "load", load_counting)
    found = choose(None, 12.0, given=["data.split=[0.6, 0.25, 0.15]"])
    assert len(found.tries) > 2
    assert seen.count(750) == 1
    assert seen.count(1250) >= len(found.tries)


def test_training_on_goes_on_where_the_best_try_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    original = CpuEngine.expected_counts

    def counting(self: Any, parameters: Any, batch: Any) -> Any:
        looks.append(1)
        return original(self, parameters, batch)

    spec = tmp_path / "a.yaml"
    spec.write_text(
        "model: a\ndata: {source: builtin:asia, split: [0.6, 0.2, 0.2]}\n"
        "forest: [{learner: hclt, count: 2, states: 3}]\noptimizer: {stop: none}\n"
    )
    recipe = read_recipe(spec, Sink())
    assert recipe is not None
    dataset = load(recipe.data, Sink())
    assert dataset is not None
    tries = trials.Trials(dataset, CompileCache(dataset), Journal(), Sink(), Observer())
    tries.run(TryPlan(1, recipe, {}), enough=lambda history: len(history) > 30)
    monkeypatch.setattr(CpuEngine, "expected_counts", counting)
    plan, more = TryPlan(2, recipe, {}), lambda history: len(history) > 40
    again = tries.run(plan, enough=more, resume=tries.state)
    assert again.iterations == 40
    assert len(looks) == 11  # the last of the first time, and ten more
    plain = spnc.train(spec, "optimizer.max_iterations=40")
    assert plain.scores["valid"] == again.valid
    assert tries.trained is not None
    for name, run in (("longer", tries.trained), ("plain", plain)):
        run.model.save(tmp_path / f"{name}.spnc")
    assert (tmp_path / "longer.spnc").read_bytes() == (tmp_path / "plain.spnc").read_bytes()


def test_what_is_settled_is_the_same_in_every_try() -> None:
    for setting, says in (("smoothing=0.5", "smoothing: 0.5"), ("residual=none", "residual: none")):
        found = choose(None, 9.0, given=[setting])
        assert len(found.tries) > 2
        assert all(says in t.note["recipe"] for t in found.tries)
    linked = choose(None, 6.0, given=["residual=greedy-bfs", "seed=5"])
    assert all("greedy-bfs" in t.note["recipe"] for t in linked.tries)
    assert linked.recipe.seed >= 5


ODD = {
    "one-column": ["a", *("01"[i % 3 == 0] for i in range(60))],
    "thirty-rows": ["a,b,c", *(f"{i % 2},{i % 2},{i // 3 % 2}" for i in range(30))],
    "constant": ["a,b,c", *(f"{i % 2},1,{i % 3 % 2}" for i in range(80))],
    "kinds": ["a,b,c", *(f"{i % 3},{(i + i // 7) % 3},{i % 2}" for i in range(200))],
    "missing": ["a,b,c", *(f"{'?' if i % 5 == 0 else i % 2},{i % 2},{i % 3}" for i in range(200))],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_end_with_a_model_too(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.csv"
    file.write_text("\n".join(ODD[name]) + "\n")
    found = choose(tmp_path / "run", 4.0, 0.05, table=str(file))
    assert set(found.scores) == {"train", "valid", "test"}
    assert all(level(t) > -50.0 for t in found.tries)
    assert found.recipe.data.split == (0.8, 0.1, 0.1)
    assert made_again(tmp_path / "run") == (tmp_path / "run" / "model.spnc").read_bytes()


def test_splits_that_come_with_the_table_are_used(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = (rng.random((300, 4)) < 0.5).astype(float)
    np.savez(tmp_path / "rows.npz", train=rows[:200], valid=rows[200:250], test=rows[250:])
    found = choose(None, 2.0, 0.05, table=str(tmp_path / "rows.npz"))
    assert found.metrics["splits"]["valid"]["rows"] == 50
    assert found.recipe.data.split is None
    for name, part in (("train", rows[:200]), ("valid", rows[200:])):
        np.savetxt(tmp_path / f"{name}.csv", part, "%d", ",")
    valid = f"data.valid={tmp_path / 'valid.csv'}"
    found = choose(None, 2.0, 0.05, table=str(tmp_path / "train.csv"), given=[valid])
    assert found.metrics["splits"]["valid"]["rows"] == 100
    np.savez(tmp_path / "none.npz", train=rows[:200], test=rows[250:])
    with pytest.raises(spnc.InputError, match="E135") as error:
        choose(None, 2.0, 0.05, table=str(tmp_path / "none.npz"))
    assert "its own splits" in str(error.value)  # which no `split` would cut


CATEGORIES = ['data.columns={"*": categorical}']  # numbers up to 255 would be taken for counts


def test_where_a_tree_is_too_large_independent_columns_come_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = np.vstack([np.full((1, 47), 255), rng.integers(0, 256, (120, 47))])
    np.save(tmp_path / "pixels.npy", rows.astype(np.int16))
    table = str(tmp_path / "pixels.npy")
    found = choose(tmp_path / "run", 0.5, 0.05, table=table, given=CATEGORIES)
    assert found.tries[0].values["change"] == "independent columns"
    assert found.tries[0].edges == 47
    assert made_again(tmp_path / "run") == (tmp_path / "run" / "model.spnc").read_bytes()


def test_a_table_with_numbers_begins_with_a_tree_as_well(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    lengths = rng.normal(size=(300, 1)) + 0.2 * rng.normal(size=(300, 3))
    np.savetxt(tmp_path / "lengths.csv", lengths, "%.3f", ",")
    found = choose(tmp_path / "run", 6.0, 0.05, table=str(tmp_path / "lengths.csv"))
    assert found.tries[0].values["change"] == "a tree"
    assert found.tries[0].iterations > 0
    assert made_again(tmp_path / "run") == (tmp_path / "run" / "model.spnc").read_bytes()


def test_the_tree_comes_later_if_there_is_time_for_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 60, 400)
    rows = np.column_stack([first, (first + rng.integers(0, 2, 400)) % 60, *([first] * 4)])
    np.save(tmp_path / "rows.npy", rows.astype(np.int16))
    found = choose(None, 4.0, 0.003, table=str(tmp_path / "rows.npy"), given=CATEGORIES)
    changes = [t.values["change"] for t in found.tries]
    assert changes[0] == "independent columns"
    assert changes.count("a tree") == 1
    assert found.tries[changes.index("a tree")].valid.average > found.tries[0].valid.average


def test_coins_of_few_rows_are_found_to_be_independent(tmp_path: Path) -> None:
    """A tree over two hundred coins learns the accidents of fifty rows by heart."""
    rows = np.random.default_rng(4).integers(0, 2, (50, 200))
    np.save(tmp_path / "coins.npy", rows.astype(np.int8))
    found = choose(None, 4.0, 0.01, table=str(tmp_path / "coins.npy"))
    assert found.tries[0].values["change"] == "a tree"
    by_change = {str(t.values["change"]): t.valid.average for t in found.tries}
    assert by_change["independent columns"] > by_change["a tree"] + 5.0


def test_a_finished_run_is_there_until_a_new_one_has_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    choose(run, 2.0, 0.05)
    before = (run / "model.spnc").read_bytes()

    def failing(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(CompileCache, "compile", failing)
        with pytest.raises(MemoryError):
            choose(run, 2.0, 0.05, given=["seed=1"])
    assert (run / "model.spnc").read_bytes() == before
    choose(run, 2.0, 0.05, given=["seed=1"])
    assert (run / "model.spnc").read_bytes() != before


def test_the_first_try_imports_no_large_library() -> None:
    """Else it would be taken for a slow one, and what comes after it for too slow to try.

    That numba is loaded where the backend is prepared, and that is not counted.
    """
    script = """
import sys, spnc
from spnc.search.trials import Trials
run = Trials.run
def watched(self, *words, **more):
    before = set(sys.modules)
    found = run(self, *words, **more)
    if words[0] == 1:
        print(*sorted({m.split(".")[0] for m in set(sys.modules) - before}))
    return found
Trials.run = watched
spnc.train_auto("builtin:asia", 1.0)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    assert not {"scipy", "sklearn"} & set(done.stdout.decode().split())
