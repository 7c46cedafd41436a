"""Training from Python: run folders, interruptions, progress, evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.common.observer import Observer, Stage
from spnc.diagnostics import InputError
from spnc.learners.circuit import Circuit
from spnc.runs.metrics import Metrics
from tests.choosing import choose
from tests.interrupting import InterruptsAt, interrupted

SPEC = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest: [{learner: extra-spn, count: 3, min_instances: 300}]
optimizer: {max_iterations: 12}
seed: 3
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(SPEC)
    return path


def test_a_run_folder_from_python_is_that_of_the_command_line(spec: Path) -> None:
    trained = spnc.train(spec, out="python")
    assert main(["train", str(spec), "--out", "shell", "--quiet"]) == 0
    assert trained.run == Path("python")
    names = {file.name for file in Path("shell").iterdir()}
    assert {file.name for file in Path("python").iterdir()} == names
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert Path("python", name).read_bytes() == Path("shell", name).read_bytes()


def test_out_may_be_left_to_spnc(spec: Path) -> None:
    assert spnc.train(spec, "optimizer.max_iterations=1", out=True).run == Path("runs/small")
    assert spnc.train(spec, "optimizer.max_iterations=1", out=True).run == Path("runs/small-2")
    assert spnc.train(spec, "optimizer.max_iterations=1").run is None


def test_a_folder_that_holds_something_is_not_overwritten(spec: Path) -> None:
    spnc.train(spec, out="run")
    with pytest.raises(InputError, match="E506"):
        spnc.train(spec, out="run")
    spnc.train(spec, out="run", overwrite=True)
    with pytest.raises(ValueError, match="need `out`"):
        spnc.train(spec, resume=True)


def test_an_interrupted_training_is_saved_and_resumed_to_the_same_bits(spec: Path) -> None:
    whole = spnc.train(spec, out="whole")
    with pytest.raises(spnc.Interrupted) as caught:
        spnc.train(spec, out="run", progress=InterruptsAt(5))
    assert "interrupted after iteration 5; saved in run/checkpoint.safetensors" in str(caught.value)
    assert "continue with: spnc train run/recipe.lock.yaml --out run --resume" in str(caught.value)
    resumed = spnc.train(spec, out="run", resume=True)
    assert len(resumed.fitted.history) == len(whole.fitted.history)
    assert Path("run/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_an_interrupted_search_is_resumed(spec: Path) -> None:
    settings = "forest.0.beta={search: [0.4, 0.6, 0.8]}"
    whole = spnc.train(spec, settings)
    with pytest.raises(spnc.Interrupted, match="finished tr"):
        spnc.train(spec, settings, out="run", progress=InterruptsAt(11))
    resumed = spnc.train(spec, settings, out="run", resume=True)
    assert [t.valid for t in resumed.tries] == [t.valid for t in whole.tries]


def test_an_observer_is_told_the_stages_in_order(spec: Path) -> None:
    seen: list[Stage | str] = []

    class Recorder(Observer):
        def stage(self, stage: Stage | str) -> None:
            seen.append(stage)

    spnc.train(spec, progress=Recorder())
    assert seen == [
        Stage.DATA,
        Stage.STRUCTURE,
        Stage.LINKS,
        Stage.LOWERING,
        Stage.PREPARING,
        Stage.TRAINING,
        Stage.EVALUATING,
    ]


def test_a_missing_circuit_is_reported_before_anything_is_learned(spec: Path) -> None:
    spec.write_text(SPEC.replace("forest: [", "forest: [{learner: circuit, file: none.spn}, "))
    seen: list[Stage | str] = []

    class Recorder(Observer):
        def stage(self, stage: Stage | str) -> None:
            seen.append(stage)

    with pytest.raises(InputError, match=r"none\.spn"):
        spnc.train(spec, progress=Recorder())
    assert seen == [Stage.DATA]


def test_all_problems_of_a_run_are_reported_at_once(spec: Path) -> None:
    text = SPEC.replace("builtin:asia", "builtin:nothing").replace(
        "forest: [", "forest: [{learner: circuit, file: none.spn}, "
    )
    spec.write_text(text)
    with pytest.raises(InputError) as caught:
        spnc.train(spec)
    assert {d.code for d in caught.value.diagnostics} == {"E301", "E114"}


def test_warnings_come_with_the_result(spec: Path, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(2, size=(200, 3))
    rows[:, 1] = 0
    np.savetxt(tmp_path / "rows.csv", rows, fmt="%d", delimiter=",")
    spec.write_text(SPEC.replace("builtin:asia", "rows.csv"))
    assert "W301" in {d.code for d in spnc.train(spec).diagnostics}


def test_metrics_are_those_of_the_file(spec: Path) -> None:
    settings = ["forest.0.beta={search: [0.4, 0.6]}", "prune={flow_below: 0.01}"]
    trained = spnc.train(spec, settings, out="run")
    text = Path("run/metrics.json").read_text()
    own = ("sha256", "run", "request", "files")  # of the file, not of the training
    written = {key: value for key, value in json.loads(text).items() if key not in own}
    assert written == dict(trained.metrics) == trained.metrics.to_json()
    assert Metrics.from_text(text) == trained.metrics
    assert trained.metrics.splits["test"].rows == 1000
    assert trained.metrics.search is not None
    assert trained.metrics.prune is not None


def test_a_model_evaluates_files_datasets_and_arrays(spec: Path, tmp_path: Path) -> None:
    model = spnc.train(spec).model
    scores = model.evaluate("builtin:asia")
    assert set(scores) == {"all"}
    rows = model.sample(500, seed=1).values
    np.save(tmp_path / "rows.npy", rows)
    from_file = model.evaluate(tmp_path / "rows.npy")["all"]
    assert from_file.average == pytest.approx(model.log_likelihood(rows).mean(), abs=1e-12)
    assert model.evaluate(rows) == {"all": from_file}
    np.savez(tmp_path / "splits.npz", train=rows[:300], test=rows[300:])
    assert set(model.evaluate(tmp_path / "splits.npz")) == {"train", "test"}
    assert set(model.evaluate(tmp_path / "splits.npz", split="test")) == {"test"}
    with pytest.raises(InputError, match="E318"):
        model.evaluate(tmp_path / "splits.npz", split="tset")


def test_auto_writes_a_run_that_can_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = np.random.default_rng(0).integers(2, size=(300, 4))
    np.savetxt("rows.csv", table, fmt="%d", delimiter=",")
    trained = spnc.train_auto("rows.csv", 1.0, "backend=numpy", out="deep/run")
    assert trained.tries
    moved = tmp_path / "elsewhere.yaml"
    Path("deep/run/recipe.yaml").rename(moved)
    again: Any = spnc.train(moved)
    again.model.save("again.spnc")
    assert Path("again.spnc").read_bytes() == Path("deep/run/model.spnc").read_bytes()


def test_a_circuit_that_changes_after_it_was_checked_is_read_again(spec: Path) -> None:
    text = "circuit c\nvariables { a: binary, b: binary }\nx = a ~ bernoulli(0.5)\n"
    circuit = spec.parent / "c.spn"
    np.savetxt(
        spec.parent / "rows.csv", np.eye(2), fmt="%d", delimiter=",", header="a,b", comments=""
    )
    spec.write_text(
        "model: m\ndata: {source: rows.csv}\nforest: [{learner: circuit, file: c.spn}]\n"
        "optimizer: {max_iterations: 0}\n"
    )
    for p in ("0.25", "0.75"):
        circuit.write_text(f"{text}y = b ~ bernoulli({p})\ntop = x * y\n")
        assert not spnc.check(spec)
        model = spnc.train(spec).model
        assert model.log_likelihood([[np.nan, 1.0]])[0] == pytest.approx(np.log(float(p)))


def test_results_have_short_views_in_notebooks(spec: Path) -> None:
    trained: Any = spnc.train(spec, ["optimizer.max_iterations=2", "model=<b>small</b>"])
    assert repr(trained).startswith("Trained('<b>small</b>', train -")
    assert repr(trained.model).startswith("Model('<b>small</b>', 8 columns, ")
    for shown in (trained, trained.model):
        assert len(repr(shown)) < 200
        page = shown._repr_html_()
        assert "&lt;b&gt;small" in page
        assert len(page) < 2_000


def test_an_interruption_before_the_first_iteration_says_how_to_resume(spec: Path) -> None:
    assert "before the first iteration" in interrupted(spec, at=None)
    resumed = spnc.train(spec, out=True, resume=True)
    assert resumed.run == Path("runs/small")
    assert not resumed.was_finished
    assert spnc.train(spec, out="runs/small", resume=True).was_finished


def test_no_rows_have_a_score_too(spec: Path) -> None:
    model = spnc.train(spec, "optimizer.max_iterations=1").model
    assert model.evaluate(np.empty((0, 8)))["all"].possible == 0.0
    assert model.evaluate(np.empty((0, 8)), split="all")["all"].possible == 0.0


def test_a_damaged_checkpoint_ends_a_try_of_auto_and_not_the_run(tmp_path: Path) -> None:
    whole = choose(tmp_path / "whole", 6.0, 0.05)
    assert len(whole.tries) > 1

    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        choose(run, 6.0, 0.05, observer=InterruptsAt(6))
    (run / "checkpoint.safetensors").write_bytes(b"damaged")
    found = choose(run, 6.0, 0.05, resuming=True)
    assert (run / "model.spnc").is_file()
    assert found.tries


def test_a_flat_curve_can_be_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flat.yaml").write_text("model: flat\ndata: builtin:asia\nforest: chow-liu\n")
    spnc.train("flat.yaml", out="run")
    assert spnc.report("run").is_file()


def test_a_circuit_is_read_once_for_all_tries(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "circuit c\nvariables { a: binary, b: binary }\nx = a ~ bernoulli(0.5)\n"
    Path("c.spn").write_text(f"{text}y = b ~ bernoulli(0.25)\ntop = x * y\n")
    Path("rows.csv").write_text("a,b\n" + "0,1\n1,0\n1,1\n" * 20)
    spec.write_text(
        "model: m\ndata: {source: rows.csv, split: [0.6, 0.2, 0.2]}\n"
        "forest: [{learner: circuit, file: c.spn}, {learner: chow-liu}]\n"
        "residual: {strategy: greedy-bfs, ratio: {search: [0.1, 0.2, 0.3]}}\n"
    )
    reads: list[Any] = []
    read = Circuit.read
    monkeypatch.setattr(Circuit, "read", lambda self, sink: reads.append(1) or read(self, sink))
    assert len(spnc.train(spec).tries) == 3
    assert len(reads) == 1
