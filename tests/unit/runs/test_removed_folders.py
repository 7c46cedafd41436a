"""Run folders that are removed or made read-only, and data that changes, during a run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.runs import time_used
from spnc.runs.in_use import NAME, Hold, in_use
from tests.interrupting import interrupted

SEARCH = "optimizer.max_iterations={search: [2, 3]}"


class Remover(Observer):
    """Removes the folder `run` after the first iteration; another training may begin there."""

    def __init__(self, *, replaced: bool = False) -> None:
        self.replaced, self.holds = replaced, []
        self.done = False

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        if not self.done:
            self.done = True
            shutil.rmtree("run")
            if self.replaced:
                self.holds.append(in_use(Path("run"), Sink()))
                assert isinstance(self.holds[0].__enter__(), Hold)


@pytest.mark.parametrize("settings", [[], [SEARCH]], ids=["train", "search"])
def test_a_folder_that_was_removed_is_made_again_with_all_results(
    spec: str, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spnc.runs.folder.CHECKPOINT_SECONDS", 0.0)
    spnc.train(spec, settings, out="whole")
    found = spnc.train(spec, settings, out="run", progress=Remover())
    assert [d.code for d in found.diagnostics if d.code.startswith("W4")] == ["W406"]
    names = sorted(p.name for p in Path("whole").iterdir())
    assert sorted(p.name for p in Path("run").iterdir()) == names
    assert Path("run/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
    assert Path("run/recipe.lock.yaml").read_bytes() == Path("whole/recipe.lock.yaml").read_bytes()
    assert main(["report", "run", "--no-data"]) == 0


@pytest.mark.parametrize("settings", [[], [SEARCH]], ids=["train", "search"])
def test_a_folder_that_another_training_has_by_now_is_left_to_it(
    spec: str, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spnc.runs.folder.CHECKPOINT_SECONDS", 0.0)
    remover = Remover(replaced=True)
    with pytest.raises(spnc.InputError, match="another training is under way in it now") as error:
        spnc.train(spec, settings, out="run", progress=remover)
    assert [d.code for d in error.value.diagnostics] == ["W403", "E120"]
    assert [p.name for p in Path("run").iterdir()] == [NAME]
    remover.holds[0].__exit__(None, None, None)


def test_a_folder_that_was_made_read_only_is_reported(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.name != "posix" or os.geteuid() == 0:
        pytest.skip("nothing is read-only for the administrator")
    monkeypatch.setattr("spnc.runs.folder.CHECKPOINT_SECONDS", 0.0)

    class Protector(Observer):
        def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
            Path("run").chmod(0o555)

    try:
        with pytest.raises(spnc.InputError, match="Permission denied") as error:
            spnc.train(spec, out="run", progress=Protector())
    finally:
        Path("run").chmod(0o755)
    assert [d.code for d in error.value.diagnostics] == ["W403", "E120"]
    assert not Path("run/model.spnc").exists()


@pytest.fixture
def table(spec: str) -> str:
    """A spec over a table in a file."""
    rows = [f"{i % 2},{i % 3 // 2},{(i // 2) % 2}" for i in range(300)]
    Path("table.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    text = Path(spec).read_text().replace("builtin:asia", "table.csv")
    Path("table.yaml").write_text(text)
    return "table.yaml"


def test_data_that_change_during_a_run_do_not_change_its_result(table: str) -> None:
    whole = spnc.train(table, out="whole")

    class Changer(Observer):
        def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
            Path("table.csv").write_text("a,b,c\n" + "1,1,1\n" * 300)

    found = spnc.train(table, out="run", progress=Changer())
    assert found.model.provenance == whole.model.provenance
    assert Path("run/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
    # The lock file says what the model was trained on, which is not what is there now.
    with pytest.raises(spnc.InputError, match="E405"):
        spnc.train("run/recipe.lock.yaml", out="again")


def contents() -> dict[str, bytes]:
    """Return the files of the run, but for the time that it has used, which goes on."""
    files = (file for file in Path("run").iterdir() if file.name != time_used.NAME)
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.parametrize("settings", [[], [SEARCH]], ids=["train", "search"])
def test_a_run_is_not_resumed_with_other_data(
    table: str, settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(table, settings, at=1, out="run")
    before = contents()
    Path("table.csv").write_text(Path("table.csv").read_text().replace("1,0,0", "0,0,0"))
    words = [word for setting in settings for word in ("--set", setting)]
    for spec in (table, "run/recipe.lock.yaml"):
        assert main(["train", spec, "--out", "run", "--resume", *(words if spec == table else [])])
        shown = capsys.readouterr().err
        assert "other data" in shown or "the data has changed since" in shown
        assert contents() == before
