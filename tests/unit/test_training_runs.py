"""`spnc train`: the run folder, the same bits again, interruption and resumption."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from spnc.run import RunFolder


@pytest.fixture
def spec(tmp_path: Path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    text = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 3, min_instances: 300}
optimizer: {max_iterations: 12}
seed: 3
"""
    (tmp_path / "small.yaml").write_text(text)
    return "small.yaml"


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
        "train",
        "evaluate",
        "total",
    }
    assert metrics["backend"] == "numpy"
    assert metrics["seed"] == 3
    with (run / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    assert len(history) == metrics["optimizer"]["iterations"] + 1
    kept = history[metrics["optimizer"]["kept_iteration"]]
    assert float(kept["valid"]) == pytest.approx(metrics["splits"]["valid"]["avg_ll"], abs=1e-9)
    assert "avg log-likelihood" in shown
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


def test_an_interrupted_run_is_resumed_to_the_same_bits(spec: str, monkeypatch, capsys) -> None:
    assert main(["train", spec, "--out", "whole"]) == 0
    keep = RunFolder.keep

    def interrupt(self: RunFolder, state) -> None:
        keep(self, state)
        if len(state.history) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "keep", interrupt)
    assert main(["train", spec, "--out", "cut"]) == 130
    assert "--resume" in capsys.readouterr().err
    assert Path("cut/checkpoint.safetensors").is_file()
    assert not Path("cut/model.spnc").exists()
    monkeypatch.setattr(RunFolder, "keep", keep)
    assert main(["train", spec, "--out", "cut", "--resume"]) == 0
    assert not Path("cut/checkpoint.safetensors").exists()
    assert Path("cut/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_a_checkpoint_of_another_recipe_is_refused(spec: str, monkeypatch, capsys) -> None:
    def interrupt(self: RunFolder, state) -> None:
        self.latest = state
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "keep", interrupt)
        assert main(["train", spec, "--out", "cut"]) == 130
    assert main(["train", spec, "--out", "cut", "--resume", "--seed", "8"]) == 1
    assert "another recipe" in capsys.readouterr().err
    Path("cut/checkpoint.safetensors").write_bytes(b"junk")
    assert main(["train", spec, "--out", "cut", "--resume"]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_a_lock_file_refuses_other_data(spec: str, capsys) -> None:
    assert main(["train", spec, "--out", "one"]) == 0
    lock = Path("one/recipe.lock.yaml")
    lock.write_text(lock.read_text().replace("split_seed: 0", "split_seed: 1"))
    assert main(["train", str(lock), "--out", "two"]) == 1
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


def test_a_bug_of_ours_exits_with_70_and_says_how_to_report_it(monkeypatch, capsys) -> None:
    monkeypatch.setattr("spnc.diagnostics.codes", lambda: 1 / 0)
    assert main(["explain"]) == 70
    assert "bug in spnc" in capsys.readouterr().err
