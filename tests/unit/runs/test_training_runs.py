"""`spnc train`: the run folder, the same bits again, interruption and resumption."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from spnc.common.atomic import write_bytes
from tests.interrupting import interrupted
from tests.places import ROOT


def test_a_run_folder_holds_model_metrics_history_and_lock(spec: str, capsys) -> None:
    assert main(["train", spec]) == 0
    shown = capsys.readouterr().out
    run = Path("runs/small")
    assert sorted(p.name for p in run.iterdir()) == [
        "history.csv",
        "metrics.json",
        "model.spnc",
        "recipe.lock.yaml",
    ]
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["splits"].keys() == {"train", "valid", "test"}
    for split in metrics["splits"].values():
        assert split.keys() == {"rows", "avg_ll", "impossible_rows"}
    assert metrics["splits"]["train"]["rows"] == 3000
    assert metrics["model"].keys() == {
        "nodes",
        "edges",
        "layers",
        "sums",
        "products",
        "leaves",
        "parameters",
    }
    assert metrics["optimizer"]["iterations"] <= 12
    assert metrics["optimizer"]["stopped"] in ("variance", "patience", "max_iterations")
    assert metrics["seconds"].keys() == {
        "data",
        "structure",
        "residual",
        "compile",
        "prepare",
        "plan",
        "train",
        "evaluate",
        "total",
    }
    assert metrics["backend"] == "numba"
    assert metrics["seed"] == 3
    with (run / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    assert len(history) == metrics["optimizer"]["iterations"] + 1
    kept = history[metrics["optimizer"]["kept_iteration"]]
    assert float(kept["valid"]) == pytest.approx(metrics["splits"]["valid"]["avg_ll"], abs=1e-9)
    assert "avg log-likelihood" in shown
    share = metrics["seconds"]["plan"] / metrics["seconds"]["total"]
    assert f" on numba, {share:.0%} of it planning, seed 3; written to run" in shown
    model = spnc.load(run / "model.spnc")
    assert model.program.facts() == metrics["model"]


def test_the_same_spec_gives_the_same_bytes_and_so_does_its_lock_file(spec: str) -> None:
    assert main(["train", spec, "--out", "one", "--quiet"]) == 0
    assert main(["train", spec, "--out", "two", "--quiet"]) == 0
    assert main(["train", "one/recipe.lock.yaml", "--out", "three", "--quiet"]) == 0
    bytes_of = {n: Path(n, "model.spnc").read_bytes() for n in ("one", "two", "three")}
    assert len(set(bytes_of.values())) == 1
    assert main(["train", spec, "--out", "four", "--quiet", "--seed", "4"]) == 0
    assert Path("four/model.spnc").read_bytes() != bytes_of["one"]


def test_a_run_is_never_overwritten_unasked(spec: str, capsys) -> None:
    assert main(["train", spec, "--out", "run"]) == 0
    before = Path("run/model.spnc").read_bytes()
    assert main(["train", spec, "--out", "run", "--seed", "9"]) == 1
    assert "E506" in capsys.readouterr().err
    assert Path("run/model.spnc").read_bytes() == before
    assert main(["train", spec, "--out", "run", "--seed", "9", "--overwrite"]) == 0
    assert Path("run/model.spnc").read_bytes() != before
    assert main(["train", spec]) == 0
    assert main(["train", spec]) == 0
    assert sorted(p.name for p in Path("runs").iterdir()) == ["small", "small-2"]


def test_an_interrupted_run_is_resumed_to_the_same_bits(spec: str) -> None:
    assert main(["train", spec, "--out", "whole"]) == 0
    assert "--resume" in interrupted(spec, at=4, out="cut")
    assert Path("cut/checkpoint.safetensors").is_file()
    assert not Path("cut/model.spnc").exists()
    assert main(["train", spec, "--out", "cut", "--resume"]) == 0
    assert not Path("cut/checkpoint.safetensors").exists()
    assert Path("cut/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_checkpoints_are_written_while_training_and_their_failure_is_no_disaster(
    spec: str, monkeypatch, capsys
) -> None:
    written: list[Path] = []

    def write(path: Path, content: bytes) -> None:
        if path.name != "checkpoint.safetensors":
            write_bytes(path, content)
            return
        written.append(path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spnc.runs.folder.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("spnc.runs.folder.write_bytes", write)
    assert main(["train", spec, "--out", "run"]) == 0
    assert len(written) > 1
    shown = capsys.readouterr().err
    assert shown.count("W403") == 1
    assert "No space left on device" in shown


def test_an_overwritten_run_keeps_nothing_of_the_old_one(spec: str) -> None:
    assert main(["train", spec, "--out", "run"]) == 0
    interrupted(spec, "seed=5", out="run", overwrite=True)
    names = sorted(p.name for p in Path("run").iterdir())
    assert names == ["checkpoint.safetensors", "recipe.lock.yaml", "time-used.json"]


def test_an_old_checkpoint_is_gone_before_a_new_run_begins(spec: str) -> None:
    """Killed before its first iteration, the new run must not find the old one's checkpoint."""
    interrupted(spec, out="run")
    interrupted(spec, "seed=5", at=None, out="run", overwrite=True)
    assert {p.name for p in Path("run").iterdir()} == {"recipe.lock.yaml", "time-used.json"}
    assert main(["train", spec, "--out", "run", "--resume", "--seed", "5"]) == 0


def test_the_command_that_is_suggested_after_an_interrupt_goes_on(spec: str) -> None:
    suggestion = interrupted(spec, ["seed=11", "smoothing=0.3"]).split("continue with: spnc ")[1]
    assert main(shlex.split(suggestion)) == 0
    assert Path("runs/small/model.spnc").is_file()


def test_resuming_without_a_folder_takes_the_latest_that_was_broken_off(spec: str) -> None:
    assert main(["train", spec]) == 0
    interrupted(spec)
    assert main(["train", spec, "--resume"]) == 0
    assert Path("runs/small-2/model.spnc").is_file()


def test_a_model_s_name_cannot_lead_out_of_the_runs_folder(spec: str) -> None:
    assert main(["train", spec, "--set", "model=../../escaped/x y"]) == 0
    assert [p.name for p in Path("runs").iterdir()] == ["escaped-x-y"]


def test_the_saved_model_is_the_finished_one_and_knows_where_it_comes_from(spec: str) -> None:
    assert main(["train", spec, "--out", "run", "--set", "smoothing=0"]) == 0
    model = spnc.load("run/model.spnc")
    assert model.provenance.keys() == {"recipe", "data", "versions"}
    assert "learner: extra-spn" in model.provenance["recipe"]
    assert (model.parameters.weights > 0).all()
    finished = model.finished()
    assert finished.program.facts() == model.program.facts()


def test_a_lock_file_refuses_other_data(spec: str, capsys) -> None:
    assert main(["train", spec, "--out", "one"]) == 0
    lock = Path("one/recipe.lock.yaml")
    assert main(["train", str(lock), "--set", "data.split_seed=1", "--out", "two"]) == 1
    assert "E405" in capsys.readouterr().err
    assert not Path("two").exists()


def test_file_names_in_a_lock_file_still_lead_to_the_files(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/table.csv").write_text("a,b\n" + "0,1\n1,0\n1,1\n0,0\n" * 10)
    Path("specs/s.yaml").write_text(
        "model: m\ndata: {source: table.csv}\nforest: [{learner: extra-spn}]\n"
    )
    assert main(["train", "specs/s.yaml", "--out", "far/away/run"]) == 0
    assert "../../../specs/table.csv" in Path("far/away/run/recipe.lock.yaml").read_text()
    assert main(["train", "far/away/run/recipe.lock.yaml", "--out", "again"]) == 0
    one, two = Path("far/away/run/model.spnc"), Path("again/model.spnc")
    assert one.read_bytes() == two.read_bytes()


def test_json_output_is_one_document(spec: str, capsys) -> None:
    assert main(["train", spec, "--out", "run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert found["run"] == "run"
    assert main(["eval", "run/model.spnc", "builtin:asia", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["splits"]["all"]["rows"] == 5000
    assert main(["inspect", "run/model.spnc", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["columns"] == 8
    assert main(["train", spec, "--set", "forest.0.beta=9", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["diagnostics"][0]["code"] == "E107"


def test_log_likelihoods_per_row_average_to_the_score(spec: str, capsys) -> None:
    assert main(["train", spec, "--out", "run"]) == 0
    capsys.readouterr()
    code = main(["eval", "run/model.spnc", "builtin:asia", "--per-row", "rows.csv", "--json"])
    assert code == 0
    found = json.loads(capsys.readouterr().out)["splits"]["all"]
    with Path("rows.csv").open() as file:
        values = [float(r["log_likelihood"]) for r in csv.DictReader(file)]
    assert len(values) == 5000
    assert sum(values) / 5000 == pytest.approx(found["avg_ll"])


def test_every_stage_of_a_compilation_can_be_dumped_and_read_back(spec: str, capsys) -> None:
    from spnc import passes

    for stage in ["forest", *passes.BEFORE_TRAINING]:
        assert main(["compile", spec, "--dump", stage]) == 0
        text = capsys.readouterr().out
        Path("dumped.spn").write_text(text)
        assert spnc.check("dumped.spn") == []
    again = spnc.compile("dumped.spn")
    first = spnc.compile(spec)
    rows = [[0, 1] * 4, [1, 1, 0, 0] * 2]
    assert again.log_likelihood(rows) == pytest.approx(first.log_likelihood(rows), abs=1e-12)


def test_a_killed_or_terminated_process_is_resumed_to_the_same_bits(
    tmp_path: Path, monkeypatch
) -> None:
    """Real processes and real signals; this process goes on with what they leave."""
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "slow.yaml"
    spec.write_text(
        "model: slow\ndata: {source: builtin:digits, split: [0.8, 0.2, 0]}\n"
        "forest: [{learner: extra-spn, count: 2, min_instances: 200}]\n"
        "optimizer: {max_iterations: 40, stop: none, patience: none}\n"
    )
    # A shell that starts the tests in the background has its children ignore SIGINT.
    start = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from spnc.cli import main; sys.exit(main())"
    )
    train = ["train", str(spec), "--quiet", "--out"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert main([*train, "whole"]) == 0
    whole = Path("whole/model.spnc").read_bytes()
    for name, kill, code in (
        ("killed", signal.SIGKILL, -signal.SIGKILL),
        ("ended", signal.SIGTERM, 130),
        ("interrupted", signal.SIGINT, 130),
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", start, *train, name],
            env=env,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        checkpoint = Path(name) / "checkpoint.safetensors"
        while not checkpoint.exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(kill)
        process.communicate()
        assert process.returncode == code
        assert not (Path(name) / "model.spnc").exists()
        assert main([*train, name, "--resume"]) == 0
        assert (Path(name) / "model.spnc").read_bytes() == whole


def test_a_run_that_never_got_to_its_first_iteration_starts_anew(spec: str) -> None:
    assert main(["train", spec, "--out", "whole"]) == 0
    Path("cut").mkdir()
    Path("cut/recipe.lock.yaml").write_bytes(Path("whole/recipe.lock.yaml").read_bytes())
    assert main(["train", spec, "--out", "cut", "--resume"]) == 0
    assert Path("cut/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
