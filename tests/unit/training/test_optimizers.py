"""Runs with every optimiser and with pruning: broken off and resumed, and what they report."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.compilation import compile_recipe
from spnc.diagnostics import Sink
from spnc.program.validity import program_problems
from spnc.registry import OPTIMIZERS
from spnc.runs.folder import RunFolder
from spnc.spec.read import read_recipe
from spnc.training import State
from spnc.training.fit import ProgramFitter
from spnc.training.flow_pruning import Prune
from spnc.training.optimizers.sgd import Sgd

WAYS = {
    "em": "{method: em, max_iterations: 12}",
    "dropout": "{method: em, max_iterations: 12, dropout: 0.2}",
    "averaged": "{method: em, max_iterations: 12, dropout: 0.2, average: 0.8}",
    "stepwise-em": "{method: stepwise-em, max_iterations: 12, batch_rows: 700}",
    "adam": "{method: sgd, max_iterations: 12, batch_rows: 700}",
    "plain": "{method: sgd, max_iterations: 12, rule: plain, learning_rate: 2}",
}


def train(spec: str, folder: str, *settings: str, resume: bool = False) -> int:
    sets = [word for setting in settings for word in ("--set", setting)]
    return main(["train", spec, "--out", folder, "--quiet", *sets, *["--resume"] * resume])


def break_off(patch: pytest.MonkeyPatch, when: Callable[[State], bool]) -> None:
    """Interrupt a training after the first iteration for which `when` holds."""
    keep = RunFolder.keep

    def interrupt(self: RunFolder, state: State) -> None:
        keep(self, state)
        if when(state):
            raise KeyboardInterrupt

    patch.setattr(RunFolder, "keep", interrupt)


def test_every_optimiser_is_run_here() -> None:
    assert {text[1:].split(",")[0].removeprefix("method: ") for text in WAYS.values()} == set(
        OPTIMIZERS
    )


@pytest.mark.parametrize("way", list(WAYS))
def test_an_interrupted_run_is_resumed_to_the_same_bits(
    spec: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    setting = f"optimizer={WAYS[way]}"
    assert train(spec, "whole", setting) == 0
    with monkeypatch.context() as patch:
        break_off(patch, lambda state: len(state.history) == 3)
        assert train(spec, "cut", setting) == 130
    assert train(spec, "cut", setting, resume=True) == 0
    assert Path("cut/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
    metrics = json.loads(Path("cut/metrics.json").read_text())
    history = spnc.train(spec, setting).fitted.history
    assert metrics["splits"]["train"]["avg_ll"] > history[0].train
    assert metrics["optimizer"]["iterations"] == history[-1].iteration


def rewrite(file_name: str, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(file_name, framework="numpy") as file:
        about = json.loads(file.metadata()["spnc-checkpoint"])
        tensors = {n: file.get_tensor(n) for n in file.keys()}  # noqa: SIM118
    change(about, tensors)
    save_file(tensors, file_name, metadata={"spnc-checkpoint": json.dumps(about)})


def forget_memory(about: dict[str, Any], tensors: dict[str, Any]) -> None:
    del tensors["memory.squares"]


def shorten_memory(about: dict[str, Any], tensors: dict[str, Any]) -> None:
    tensors["memory.mean"] = tensors["memory.mean"][:-1]


def shorten_weights(about: dict[str, Any], tensors: dict[str, Any]) -> None:
    tensors["weights"] = tensors["weights"][:-1]


def lose_a_table(about: dict[str, Any], tensors: dict[str, Any]) -> None:
    del tensors["best.tables.0"]


def shorten_earlier(about: dict[str, Any], tensors: dict[str, Any]) -> None:
    tensors["earlier.0.weights"] = tensors["earlier.0.weights"][:-1]


def lose_earlier_history(about: dict[str, Any], tensors: dict[str, Any]) -> None:
    about["earlier"][0]["history"] = []


@pytest.mark.parametrize(
    "damage",
    [
        forget_memory,
        shorten_memory,
        shorten_weights,
        lose_a_table,
        shorten_earlier,
        lose_earlier_history,
    ],
    ids=lambda f: f.__name__,
)
def test_a_damaged_checkpoint_is_refused_without_a_traceback(
    spec: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[dict[str, Any], dict[str, Any]], None],
) -> None:
    settings = [f"optimizer={WAYS['adam']}", "prune.flow_below=0.01"]
    with monkeypatch.context() as patch:
        break_off(patch, lambda state: bool(state.earlier))
        assert train(spec, "cut", *settings) == 130
    rewrite("cut/checkpoint.safetensors", damage)
    assert train(spec, "cut", *settings, resume=True) == 1
    assert "E403" in capsys.readouterr().err


# ---- pruning ---------------------------------------------------------------------------------

PRUNED = ("optimizer={max_iterations: 30}", "prune={flow_below: 0.02}")


@pytest.mark.parametrize("fit", ["first", "second"])
@pytest.mark.parametrize("way", ["em", "adam"])
def test_a_run_with_pruning_is_resumed_from_either_fit(
    spec: str, monkeypatch: pytest.MonkeyPatch, fit: str, way: str
) -> None:
    settings = (f"optimizer={WAYS[way]}", "prune.flow_below=0.02")
    assert train(spec, "whole", *settings) == 0
    with monkeypatch.context() as patch:
        second = fit == "second"
        break_off(patch, lambda s: len(s.history) == 3 and bool(s.earlier) == second)
        assert train(spec, "cut", *settings) == 130
    assert train(spec, "cut", *settings, resume=True) == 0
    assert Path("cut/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
    cut, whole = (json.loads(Path(f, "metrics.json").read_text()) for f in ("cut", "whole"))
    assert cut["prune"] == whole["prune"]
    assert cut["optimizer"] == whole["optimizer"]


def test_pruning_leaves_fewer_edges_and_says_what_it_did(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = spnc.train(spec, [*PRUNED, "prune=none"])
    assert "prune" not in whole.metrics
    pruned = spnc.train(spec, PRUNED)
    facts = pruned.metrics["prune"]
    assert facts["kept"] == "pruned"
    assert facts["edges"]["before"] > facts["edges"]["after"]
    assert pruned.metrics["model"]["edges"] <= facts["edges"]["after"]
    first, second = facts["fits"]
    assert first["valid"] == pytest.approx(whole.scores["valid"].average, abs=1e-9)
    assert second["valid"] == pytest.approx(pruned.scores["valid"].average, abs=1e-9)
    iterations = [record.iteration for record in pruned.fitted.history]
    assert iterations == list(range(first["iterations"] + second["iterations"] + 2))
    seconds = [record.seconds for record in pruned.fitted.history]
    assert seconds == sorted(seconds)
    kept = pruned.fitted.history[pruned.fitted.kept_iteration]
    assert kept.valid == second["valid"]
    assert train(spec, "run", *PRUNED) == 0
    edges = facts["edges"]
    assert f"pruned from {edges['before']:,} to {edges['after']:,} edges" in capsys.readouterr().out


def test_a_loss_that_is_too_much_leaves_the_circuit_whole(spec: str) -> None:
    hard = [PRUNED[0], "prune={flow_below: 0.4, most_loss: 0.01}"]
    whole = spnc.train(spec, [PRUNED[0]])
    kept = spnc.train(spec, hard)
    assert kept.metrics["prune"]["kept"] == "whole"
    first, second = kept.metrics["prune"]["fits"]
    assert second["valid"] < first["valid"] - 0.01
    assert kept.fitted.kept_iteration == first["kept_iteration"]
    assert (kept.model.parameters.weights == whole.model.parameters.weights).all()
    allowed = spnc.train(spec, [PRUNED[0], "prune={flow_below: 0.4, most_loss: 10}"])
    assert allowed.metrics["prune"]["kept"] == "pruned"


def test_with_nothing_to_prune_there_is_no_second_fit(spec: str) -> None:
    found = spnc.train(spec, [PRUNED[0], "prune.flow_below=1e-12"])
    whole = spnc.train(spec, [PRUNED[0]])
    facts = found.metrics["prune"]
    assert facts["edges"]["before"] == facts["edges"]["after"]
    assert len(facts["fits"]) == 1
    assert (found.model.parameters.weights == whole.model.parameters.weights).all()


def test_only_edges_of_little_flow_go_and_a_sum_keeps_its_strongest_child(spec: str) -> None:
    recipe = read_recipe(Path(spec), Sink(), ["forest.0.min_instances=10"])
    assert recipe is not None
    compiled = compile_recipe(recipe, Sink())
    program, start = compiled.program, compiled.parameters
    engine = recipe.backend.open(program)
    train_rows = compiled.dataset.train
    counts = engine.expected_counts(start, engine.load(train_rows))
    share = counts.weights / train_rows.rows
    for below in (0.01, 0.2, 0.9):
        found = Prune(flow_below=below).thinned(program, start, counts)
        gone = found.weights == 0.0
        assert gone.any()
        assert (share[gone] < below).all()
        assert list(program_problems(program, found)) == []
        starts = program.weight_starts
        for a, b in pairwise(starts):
            own = slice(a, b)
            assert not gone[own][np.argmax(share[own])]
            weak = (share[own] < below) & (share[own] < share[own].max())
            assert (gone[own] == weak).all()
            rest = start.weights[own] * ~gone[own]
            assert found.weights[own] == pytest.approx(rest / rest.sum())


def test_a_smaller_circuit_that_makes_rows_impossible_is_not_kept(spec: str) -> None:
    tree = ["forest.0={learner: chow-liu}", "prune.flow_below=0.9", "optimizer.max_iterations=1"]
    found = spnc.train(spec, tree)
    edges = found.metrics["prune"]["edges"]
    assert edges["after"] < edges["before"]  # without their rarer states most rows cannot be
    assert found.metrics["prune"]["kept"] == "whole"
    assert found.metrics["splits"]["train"]["impossible_rows"] == 0


def test_the_second_fit_begins_from_the_pruned_parameters(spec: str) -> None:
    """With no iterations at all, pruning alone costs little, and less the less is pruned."""
    losses = []
    settings = ["optimizer.max_iterations=0", "forest.0.min_instances=10"]
    for below in ("0.005", "0.05", "0.3"):
        found = spnc.train(spec, [*settings, f"prune.flow_below={below}"])
        first, second = found.metrics["prune"]["fits"]
        losses.append(first["train"] - second["train"])
    assert losses == sorted(losses)
    assert -0.01 < losses[0] < losses[-1] < 0.01


def test_pruning_looks_at_the_flows_of_the_kept_parameters(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    pruned = ProgramFitter._pruned

    def spy(self: ProgramFitter, prune: Prune, program: Any, parameters: Any) -> Any:
        seen.append(parameters)
        return pruned(self, prune, program, parameters)

    monkeypatch.setattr(ProgramFitter, "_pruned", spy)
    spnc.train(spec, PRUNED)
    first = spnc.train(spec, PRUNED[:1]).fitted
    assert (seen[0].weights == first.parameters.weights).all()


def test_steps_that_lead_astray_end_training_and_the_best_before_is_kept(spec: str) -> None:
    wild = ["optimizer={method: sgd, learning_rate: 10000, max_iterations: 20}"]
    found = spnc.train(spec, wild)
    assert found.fitted.stopped == "divergence"
    kept = found.fitted.history[found.fitted.kept_iteration]
    assert kept.valid == max(r.valid for r in found.fitted.history)
    assert found.metrics["splits"]["valid"]["impossible_rows"] == kept.valid_impossible


def test_a_step_that_leaves_the_range_of_numbers_ends_training(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Sgd.open

    def leaving(self: Sgd, task: Any, train: Any) -> Any:
        steps = taken(self, task, train)
        monkeypatch.setattr(task.engine, "expected_counts", fail)
        return steps

    def fail(*_: Any) -> Any:
        raise FloatingPointError("a log-likelihood is not a number")

    monkeypatch.setattr(Sgd, "open", leaving)
    found = spnc.train(spec, ["optimizer={method: sgd, max_iterations: 2}"])
    assert (found.fitted.stopped, found.fitted.kept_iteration) == ("divergence", 0)
    with pytest.raises(spnc.InputError, match=r"E402.*left the range of numbers"):
        spnc.train(spec, ["optimizer={method: sgd, max_iterations: 2, patience: none}"])
