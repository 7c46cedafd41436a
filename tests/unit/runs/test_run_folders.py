"""Run folders: one training at a time, results that belong together, and what has changed since."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.common.atomic import write_together
from spnc.diagnostics import Sink
from spnc.runs.in_use import NAME, in_use
from spnc.runs.results import run_id
from tests.interrupting import interrupted
from tests.sealing import flipped

TEXT = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 600}
optimizer: {max_iterations: 3}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(TEXT)
    return "small.yaml"


def test_a_folder_is_held_by_one_training(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    with in_use(Path("run"), Sink()):
        assert main(["train", spec, "--out", "run"]) == 1
    shown = capsys.readouterr().err
    assert "E511" in shown
    assert f"process {os.getpid()} on " in shown
    assert not Path("run").exists()  # nothing was written, so nothing stays
    assert main(["train", spec, "--out", "run"]) == 0
    assert not Path("run", NAME).exists()


def test_two_processes_cannot_train_into_one_folder(spec: str) -> None:
    hold = "from pathlib import Path; from spnc.diagnostics import Sink\n"
    hold += "from spnc.runs.in_use import in_use; import time\n"
    hold += "with in_use(Path('run'), Sink()): print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(spnc.InputError, match="E511"):
            spnc.train(spec, out="run")
        other.kill()
    assert Path("run", NAME).is_file()  # it was killed
    for _ in range(50):  # the system frees the lock a moment later
        try:
            spnc.train(spec, out="run")
            break
        except spnc.InputError:
            time.sleep(0.1)
    assert Path("run/model.spnc").is_file()


def test_resuming_what_has_not_begun_is_beginning(spec: str) -> None:
    """So a script that retries can always say --resume."""
    assert main(["train", spec, "--out", "a/new/run", "--resume"]) == 0
    Path("killed").mkdir()
    Path("killed", NAME).write_text("{")
    assert main(["train", spec, "--out", "killed", "--resume"]) == 0
    first, second = (Path(p, "model.spnc").read_bytes() for p in ("a/new/run", "killed"))
    assert first == second


def test_resuming_among_other_files_is_refused(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    assert main(["train", spec, "--out", "mine", "--resume"]) == 1
    assert "E403" in capsys.readouterr().err
    assert [p.name for p in Path("mine").iterdir()] == ["letter.txt"]


def test_the_model_is_written_last(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is no model the run is not finished, and can be resumed to the same bits."""

    def cut(contents: dict[Path, bytes]) -> None:
        *others, last = contents
        assert last.name == "model.spnc"
        write_together({file: contents[file] for file in others})
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("spnc.runs.folder.write_together", cut)
        assert main(["train", spec, "--out", "run"]) == 1
    assert not Path("run/model.spnc").exists()
    assert main(["train", spec, "--out", "run", "--resume"]) == 0
    assert main(["train", spec, "--out", "other"]) == 0
    assert Path("run/model.spnc").read_bytes() == Path("other/model.spnc").read_bytes()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("C:\\\\data\\\\x", "C-data-x"),
        ("a/../b", "a-..-b"),
        ("nul", "run-nul"),
        ("Com1.x", "run-Com1.x"),
        ("dots...", "dots"),
        ("<>|?*", "model"),
        ("x" * 300, "x" * 60),
    ],
)
def test_names_of_folders_are_accepted_by_every_system(spec: str, model: str, name: str) -> None:
    Path(spec).write_text(TEXT.replace("model: small", f'model: "{model}"'))
    trained = spnc.train(spec, out=True)
    assert trained.run == Path("runs", name)


@pytest.mark.parametrize("out", ["x" * 300, "a\0b"])
def test_names_that_no_folder_can_have_are_reported(
    spec: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", spec, "--out", out]) == 1
    assert "error[E120]: cannot write" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="these are not names of folders in Windows")
@pytest.mark.parametrize("out", ["C:\\x\\y", "nul", "a:b", "dots."])
def test_a_given_name_is_taken_as_it_is(spec: str, out: str) -> None:
    assert main(["train", spec, "--out", out]) == 0
    assert Path(out, "model.spnc").is_file()


def test_metrics_name_the_run_and_the_files(spec: str) -> None:
    trained = spnc.train(spec, out="run")
    metrics = json.loads(Path("run/metrics.json").read_text())
    assert metrics["run"] == run_id(trained.model.provenance)
    assert sorted(metrics["files"]) == ["history.csv", "model.spnc", "recipe.lock.yaml"]
    other = spnc.train(spec, ["seed=5"], out="other")
    assert run_id(other.model.provenance) != metrics["run"]


@pytest.mark.parametrize("name", ["history.csv", "metrics.json", "model.spnc", "recipe.lock.yaml"])
def test_every_changed_bit_of_a_finished_run_is_noticed(
    spec: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", spec, "--out", "run"]) == 0
    file = Path("run", name)
    content = file.read_bytes()
    some = np.random.default_rng(0).integers(8 * len(content), size=25).tolist()
    capsys.readouterr()
    for bit in [0, 8 * len(content) - 1, *some]:
        file.write_bytes(flipped(content, bit))
        assert main(["report", "run", "--no-data"]) == 1
        assert "error[E60" in capsys.readouterr().err
    file.write_bytes(content)
    assert main(["report", "run", "--no-data"]) == 0


def test_files_of_two_runs_are_not_mixed(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    spnc.train(spec, out="run")
    spnc.train(spec, ["seed=5"], out="other")
    Path("run/recipe.lock.yaml").write_bytes(Path("other/recipe.lock.yaml").read_bytes())
    assert main(["report", "run"]) == 1
    assert "`recipe.lock.yaml` is not the file that the run wrote" in capsys.readouterr().err


def test_a_run_that_is_interrupted_leaves_no_lock(spec: str) -> None:
    interrupted(spec, out="run")
    assert not Path("run", NAME).exists()
