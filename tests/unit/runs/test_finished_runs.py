"""`--resume` of a run that is finished: it succeeds, trains nothing and changes nothing."""

from __future__ import annotations

import json
import pathlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.model import to_bytes
from spnc.runs import folder as run_folder
from spnc.runs.in_use import NAME as IN_USE
from spnc.runs.lock import recipe_text
from spnc.trained import Trained
from spnc.training.time_limit import TimeLimit
from tests.interrupting import Killed, killing
from tests.sealing import flipped

TEXT = """
model: small
data: {source: table.csv, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 100}
optimizer: {max_iterations: 3, stop: none}
backend: numpy
"""
OBJECTIVE = "objective={kind: conditional, target: a, max_iterations: 2}"
SEARCH = "optimizer.max_iterations={search: [2, 3]}"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(TEXT)
    write_table(0)
    return "small.yaml"


def write_table(seed: int) -> None:
    rows = np.random.default_rng(seed).integers(2, size=(400, 3))
    np.savetxt("table.csv", rows, fmt="%d", delimiter=",", header="a,b,c", comments="")


def files(folder: str = "run") -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file."""
    found = [p for p in Path(folder).rglob("*") if p.is_file()]
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in found}


def forbid_learning(patch: pytest.MonkeyPatch) -> None:
    """Let everything fail that learns; a run that is refused has not come that far either."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("something is learned")

    patch.setattr("spnc.compilation.learn_forest", fail)
    patch.setattr("spnc.search.compile_cache.learn_forest", fail)


def assert_same(found: Trained, first: Trained) -> None:
    """Compare a run that was read back with what its training returned."""
    assert found.was_finished
    assert not first.was_finished
    assert to_bytes(found.model) == to_bytes(first.model)
    assert found.metrics == first.metrics
    assert found.fitted.history == first.fitted.history
    assert found.fitted.stopped == first.fitted.stopped
    assert found.fitted.kept_iteration == first.fitted.kept_iteration
    assert recipe_text(found.recipe) == recipe_text(first.recipe)
    assert found.recipe.limits is None
    assert found.run == first.run
    assert found.scores.keys() == first.scores.keys()
    for name, score in found.scores.items():
        assert score.total == pytest.approx(first.scores[name].total, rel=1e-12)
        assert score.possible == first.scores[name].possible
        assert score.impossible == first.scores[name].impossible
    assert found.conditional == first.conditional
    assert [t.number for t in found.tries] == [t.number for t in first.tries]
    assert [t.chosen for t in found.tries] == [t.chosen for t in first.tries]
    for one, other in zip(found.tries, first.tries, strict=True):
        assert one.valid.average == pytest.approx(other.valid.average, rel=1e-12)


@pytest.mark.parametrize(
    "settings", [[], [SEARCH], [OBJECTIVE]], ids=["train", "search", "objective"]
)
def test_a_finished_run_is_read_back(
    spec: str,
    settings: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = spnc.train(spec, settings, out="run")
    before = files()
    forbid_learning(monkeypatch)
    assert_same(spnc.train(spec, settings, out="run", resume=True), first)
    words = [word for setting in settings for word in ("--set", setting)]
    for given in ([spec, *words], ["run/recipe.lock.yaml"]):
        assert main(["train", *given, "--out", "run", "--resume"]) == 0
        said = capsys.readouterr().out
        assert "it was finished already, and nothing was trained" in said
        assert f"{first.metrics.splits['train'].avg_ll:.4f}" in said
    assert files() == before


def test_a_run_that_a_time_limit_ended_is_read_back(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TimeLimit, "enough", lambda _, history: history[-1].iteration >= 2)
        first = spnc.train(spec, out="run", budget="2h")
    forbid_learning(monkeypatch)
    before = files()
    for budget in ("2h", "1h"):
        assert_same(spnc.train(spec, out="run", resume=True, budget=budget), first)
    for more in ("3h", None):
        with pytest.raises(spnc.InputError, match=r"E403.*(\n.*)*time limit of 2 h 0 min"):
            spnc.train(spec, out="run", resume=True, budget=more)
    assert_same(spnc.train("run/recipe.lock.yaml", out="run", resume=True), first)
    assert files() == before


def test_what_auto_has_chosen_is_read_back(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = spnc.train_auto("table.csv", 1, ["backend=numpy"], out="run")
    forbid_learning(monkeypatch)
    before = files()
    assert_same(spnc.train_auto("table.csv", 1, ["backend=numpy"], out="run", resume=True), first)
    with pytest.raises(spnc.InputError, match=r"E403.*(\n.*)*cannot go on with more time"):
        spnc.train_auto("table.csv", 60, ["backend=numpy"], out="run", resume=True)
    with pytest.raises(spnc.InputError, match=r"E403.*(\n.*)*another recipe or other data"):
        spnc.train_auto("table.csv", 1, ["backend=numpy", "seed=4"], out="run", resume=True)
    assert files() == before


def test_a_table_of_python_is_recognised(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).integers(2, size=(200, 3))
    first = spnc.train(spec, SEARCH, data=rows, out="run")
    forbid_learning(monkeypatch)
    found = spnc.train(spec, SEARCH, data=rows, out="run", resume=True)
    assert_same(found, first)
    assert found.recipe.data.table is not None
    with pytest.raises(spnc.InputError, match=r"another recipe or other data"):
        spnc.train(spec, SEARCH, data=1 - rows, out="run", resume=True)


@pytest.mark.parametrize("settings", [[], [SEARCH]], ids=["train", "search"])
def test_a_kill_after_the_last_write_is_no_obstacle(
    spec: str, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is left of the run is tidied up, whether or not the process got to that."""
    monkeypatch.setattr(run_folder, "CHECKPOINT_SECONDS", 0.0)
    first = spnc.train(spec, settings, out="whole")
    for write in range(1, 100):
        with monkeypatch.context() as patch:
            patch.setattr(pathlib.Path, "replace", killing(write, before=False))
            with pytest.raises(Killed):
                spnc.train(spec, settings, out="run", overwrite=True)
        if Path("run/model.spnc").is_file():
            break
    assert Path("run/checkpoint.safetensors").is_file() or Path("run/search.json").is_file()
    Path("run", IN_USE).write_text("{")  # as a process leaves it that is gone
    results = {name: content for name, (content, _) in files().items()}
    forbid_learning(monkeypatch)
    assert to_bytes(spnc.train(spec, settings, out="run", resume=True).model) == to_bytes(
        first.model
    )
    kept = {Path(name).name: content for name, (content, _) in files().items()}
    assert kept.keys() == {p.name for p in Path("whole").iterdir()}
    assert all(results[f"run/{name}"] == content for name, content in kept.items())


def test_what_was_not_tidied_up_can_be_resumed_if_results_are_damaged(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run_folder.RunFolder, "tidy", lambda _: None)
    spnc.train(spec, out="run")
    whole = Path("run/model.spnc").read_bytes()
    Path("run/history.csv").write_text("junk")
    assert not spnc.train(spec, out="run", resume=True).was_finished
    assert Path("run/model.spnc").read_bytes() == whole


@pytest.mark.parametrize("settings", [[], [SEARCH]], ids=["train", "search"])
def test_another_recipe_and_other_data_are_refused(
    spec: str, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spnc.train(spec, settings, out="run")
    before = files()
    forbid_learning(monkeypatch)
    for other in ("seed=4", "optimizer.max_iterations=4", "data.split_seed=3"):
        with pytest.raises(spnc.InputError, match=r"E403.*(\n.*)*another recipe or other data"):
            spnc.train(spec, [*settings, other], out="run", resume=True)
    write_table(1)
    with pytest.raises(spnc.InputError, match=r"E403.*(\n.*)*another recipe or other data"):
        spnc.train(spec, settings, out="run", resume=True)
    assert files() == before


def test_a_damaged_run_is_reported(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spnc.train(spec, SEARCH, out="run")
    forbid_learning(monkeypatch)
    names = ["model.spnc", "metrics.json", "history.csv", "recipe.lock.yaml", "tries.csv"]
    for name in names:
        file = Path("run", name)
        content = file.read_bytes()
        file.write_bytes(flipped(content, 4 * len(content)))
        with pytest.raises(spnc.InputError, match="E606"):
            spnc.train(spec, SEARCH, out="run", resume=True)
        file.unlink()
        if name != "model.spnc":
            with pytest.raises(spnc.InputError, match=r"E403|E606") as caught:
                spnc.train(spec, SEARCH, out="run", resume=True)
            assert "is missing" in str(caught.value)
        file.write_bytes(content)
    assert spnc.train(spec, SEARCH, out="run", resume=True).was_finished


def test_metrics_without_a_digest_of_the_request(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of an older version is recognised by its model, if that has the recipe of the spec."""
    spnc.train(spec, out="run")
    metrics = json.loads(Path("run/metrics.json").read_text())
    for name in ("request", "sha256", "files"):
        del metrics[name]
    Path("run/metrics.json").write_text(json.dumps(metrics))
    forbid_learning(monkeypatch)
    assert spnc.train(spec, out="run", resume=True).was_finished
    lines = Path("run/history.csv").read_text().splitlines()
    for damage in ([lines[0]], [lines[0], lines[1][:9]], [lines[0], lines[1].replace("-", "x")]):
        Path("run/history.csv").write_text("\n".join(damage))
        with pytest.raises(spnc.InputError, match="E601"):
            spnc.train(spec, out="run", resume=True)


def test_the_latest_folder_of_a_name_is_taken(spec: str) -> None:
    """As the process that was killed in it has named it itself."""
    spnc.train(spec, out=True)
    spnc.train(spec, "seed=5", out=True)
    found = spnc.train(spec, "seed=5", out=True, resume=True)
    assert found.was_finished
    assert found.run == Path("runs/small-2")
