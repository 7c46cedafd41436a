"""Components learned by workers: the same bits, kept work, limits, plug-ins, every backend."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import spnc
from spnc import compilation
from spnc.cluster import workers_for
from spnc.common.budget import Budget
from spnc.common.deadline import Deadline, OutOfTimeError
from spnc.common.observer import Observer
from spnc.common.workers import SERIAL, Workers
from spnc.compilation import compile_recipe
from spnc.diagnostics import Sink
from spnc.forest import components
from spnc.model import to_bytes
from spnc.registry import LEARNERS
from spnc.runs.kept_work import WorkFolder
from spnc.spec.read import recipe_from, spec_source
from spnc.spec.recipe import Recipe
from tests.pickling_workers import PicklingWorkers
from tests.unit.forest.test_grow import circuit
from tests.unit.registry.outside import LEARNER, restored

MIXED = {"source": "builtin:penguins", "split": [0.7, 0.15, 0.15]}
DISCRETE = {"source": "builtin:asia", "split": [0.7, 0.15, 0.15]}
NONE = {"method": "em", "max_iterations": 0}
QUICK: dict[str, dict[str, Any]] = {
    "continuous-mixture": {"points": 8, "steps": 4, "settling": 2},
    "kernel-density": {"count": 1},
}
FITTED = [{"learner": "hclt", "states": 2, "count": 2, "fit": 3, "bootstrap": True}]
REFINED: dict[str, Any] = {
    "forest": [{"learner": "hclt", "states": 2, "count": 2, "fit": 2, "refine": True}],
    "objective": {"kind": "conditional", "target": ["species"], "max_iterations": 2},
}


def recipe_of(spec: dict[str, Any], *, allow_plugins: bool = False) -> Recipe:
    sink = Sink()
    source = spec_source({"model": "m", "optimizer": NONE, **spec}, sink)
    return sink.require(recipe_from(sink.require(source), sink, allow_plugins=allow_plugins))


def bits(spec: dict[str, Any], workers: Workers = SERIAL) -> bytes:
    return to_bytes(compile_recipe(recipe_of(spec), Sink(), workers=workers).model())


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "circuit"])
@pytest.mark.parametrize("data", [MIXED, DISCRETE], ids=["mixed", "discrete"])
def test_every_learner_gives_the_same_bits(name: str, data: dict[str, Any]) -> None:
    entry = {"learner": name, "count": 2, **QUICK.get(name, {})}
    spec = {"data": data, "forest": [entry, {"learner": "extra-spn"}], "seed": 5}
    try:
        want = bits(spec)
    except spnc.InputError as error:
        assert data is MIXED
        pytest.skip(error.diagnostics[0].message)
    workers = PicklingWorkers()
    assert bits(spec, workers) == want
    assert workers.computed == sum(c.count for c in recipe_of(spec).forest)


@pytest.mark.parametrize("more", [{"forest": FITTED}, REFINED], ids=["fitted", "refined"])
def test_so_do_components_that_are_fitted_on_their_own(more: dict[str, Any]) -> None:
    spec = {"data": MIXED, **more}
    assert bits(spec, PicklingWorkers()) == bits(spec)


def test_a_circuit_with_ties_is_left_to_this_process(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,c\n" + "0,1,0\n1,0,0\n1,1,1\n0,0,1\n" * 4)
    (tmp_path / "c.json").write_text(json.dumps(circuit(tie=True)))
    spec = {
        "data": str(tmp_path / "rows.csv"),
        "forest": [{"learner": "circuit", "file": str(tmp_path / "c.json"), "count": 2}],
    }
    assert bits(spec, PicklingWorkers()) == bits(spec)


SPEC = {"data": MIXED, "forest": [{"learner": "extra-spn", "count": 4, "gamma": 30}], "seed": 2}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_every_backend_of_joblib_gives_the_same_bits(backend: str) -> None:
    with joblib.parallel_config(backend=backend):
        workers = workers_for(2)
        assert workers.count == 2
        assert bits(SPEC, workers) == bits(SPEC)


def test_a_number_of_jobs_is_as_in_scikit_learn() -> None:
    assert workers_for(None) is workers_for(1) is SERIAL
    assert workers_for(-1).count == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=3):
        assert workers_for(None).count == 3
    with pytest.raises(ValueError, match="n_jobs=0"):
        workers_for(0)


def test_neither_the_model_nor_the_lock_knows_of_jobs(tmp_path: Path) -> None:
    for jobs in (None, 2):
        spnc.train({"model": "m", **SPEC, "optimizer": NONE}, out=tmp_path / str(jobs), n_jobs=jobs)
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert (tmp_path / "2" / name).read_bytes() == (tmp_path / "None" / name).read_bytes()


def test_plug_ins_of_files_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_tree.py").write_text(LEARNER.format(name="my-tree"))
    (tmp_path / "spec.yaml").write_text(
        "model: m\nplugins: my_tree\ndata: builtin:asia\n"
        "forest: [{learner: my-tree, count: 3, bootstrap: true}]\n"
    )
    monkeypatch.chdir(tmp_path)
    with restored(monkeypatch):
        allowed = {"allow_plugins": True}
        want = to_bytes(spnc.compile("spec.yaml", **allowed))
        assert to_bytes(spnc.compile("spec.yaml", n_jobs=2, **allowed)) == want
        # Another file of that name, as a worker that is still there has to notice.
        text = LEARNER.format(name="my-tree").replace("option(1,", "option(2,")
        (tmp_path / "my_tree.py").write_text(text)
        want = to_bytes(spnc.compile("spec.yaml", **allowed))
        assert to_bytes(spnc.compile("spec.yaml", n_jobs=2, **allowed)) == want


def test_a_problem_is_reported_as_it_is_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from spnc.learners.chow_liu import ChowLiu

    def learn(self: ChowLiu, task: Any) -> None:
        task.sink.error("E999", "this cannot be learned")

    monkeypatch.setattr(ChowLiu, "learn", learn)
    spec = {"data": DISCRETE, "forest": ["hclt", {"learner": "chow-liu", "count": 3}]}
    said = []
    for workers in (SERIAL, PicklingWorkers()):
        with pytest.raises(spnc.InputError) as caught:
            bits(spec, workers)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert said[0].count("E999") == 1


class Stopped(BaseException):
    """Ends a run as a kill would."""


def test_what_was_kept_is_not_learned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"model": "m", **SPEC, "optimizer": NONE}
    want = to_bytes(spnc.train(spec).model)
    monkeypatch.setattr(WorkFolder, "is_due", lambda _: True)
    write, writes = WorkFolder._write, itertools.count(1)

    def writing(self: WorkFolder, name: str, piece: Any) -> bool:
        found = write(self, name, piece)
        if next(writes) == 2:
            raise Stopped
        return found

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "_write", writing)
        with pytest.raises(Stopped):
            spnc.train(spec, out=out, n_jobs=2)
    assert len(list(out.glob("kept-work/*component*done*"))) == 2
    learned = []
    original = components.Components._learned

    def learning(self: Any, component: Any, index: int, savepoints: Any) -> int | None:
        learned.append(index)
        return original(self, component, index, savepoints)

    # Workers or not, the rest is what is learned.
    monkeypatch.setattr(components.Components, "_learned", learning)
    monkeypatch.setattr(compilation, "SERIAL", PicklingWorkers())
    monkeypatch.setattr("spnc.cluster.training.workers_of", lambda *_: PicklingWorkers())
    trained = spnc.train(spec, out=out, resume=True)
    assert to_bytes(trained.model) == want
    assert len(learned) == 2
    assert not (out / "kept-work").exists()


def test_a_deadline_ends_the_work() -> None:
    recipe, budget = recipe_of(SPEC), Budget(0.0)
    for workers in (PicklingWorkers(), workers_for(2)):
        with pytest.raises(OutOfTimeError):
            compile_recipe(recipe, Sink(), deadline=Deadline(budget.left), workers=workers)
    with pytest.raises(spnc.InputError, match="E408"):
        spnc.train({"model": "m", **SPEC}, budget=0.001, n_jobs=2)


def test_progress_counts_finished_components() -> None:
    class Counting(Observer):
        def __init__(self) -> None:
            self.seen: list[int] = []

        def progress(self, label: str, done: int, total: int | None) -> None:
            if label == "components":
                assert total == 4
                self.seen.append(done)

    observer = Counting()
    compile_recipe(recipe_of(SPEC), Sink(), observer, workers=PicklingWorkers())
    assert observer.seen == [1, 2, 3, 4, 4]


def test_memory_that_a_worker_may_not_take_is_refused(tmp_path: Path) -> None:
    from spnc.common.memory import resident

    if resident() is None:
        pytest.skip("the system does not tell")
    most = (resident() or 0) + 40_000_000  # less than two processes take to begin with
    spec = {"model": "m", **SPEC, "limits": {"memory": most}}
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(spec, n_jobs=2)
    (found,) = caught.value.diagnostics
    assert found.code == "E409"
    assert any("a worker may take" in note for note in found.notes)


def test_rows_of_all_kinds_reach_workers(tmp_path: Path) -> None:
    """Large arrays get to them through files, in which they may not be written."""
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(150_000, 8)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    table = {f"c{i}": rows[:, i] for i in range(8)} | {"x": rng.normal(size=len(rows))}
    spec = {
        "model": "m",
        "data": {},
        "forest": [
            {"learner": "extra-spn", "count": 2, "min_instances": 40_000, "bootstrap": True},
            {"learner": "learn-spn", "min_instances": 40_000},
        ],
        "optimizer": NONE,
    }
    want = spnc.train(spec, data=table).model
    assert to_bytes(spnc.train(spec, data=table, n_jobs=2).model) == to_bytes(want)
