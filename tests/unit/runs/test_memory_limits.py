"""`limits: {memory: …}`: training that would take more memory ends with a diagnostic."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.common.memory import MemoryLimit, MemoryLimitError, peak, resident
from spnc.common.observer import Observer
from spnc.diagnostics import Diagnostic
from tests.places import ROOT

pytestmark = pytest.mark.skipif(resident() is None, reason="the system does not tell")

# In a process of its own, since a limit counts all memory of the process. The learner asks for
# memory in one piece or bit by bit, while it reports progress.
SCRIPT = """
import sys
import numpy as np
import spnc, spnc.api
from spnc import compilation
from spnc.common.memory import peak, resident
from spnc.common.progress_display import displayed

how, most = sys.argv[1], resident() + 150_000_000
grow = compilation.grow

def greedy(*args, progress, **more):
    held = []
    if how == "at once":
        held.append(np.ones(1 << 30))
    for done in range(400 if how == "bit by bit" else 0):
        held.append(np.ones(1 << 17))
        progress("components", done, 400)
    return grow(*args, progress=progress, **more)

compilation.grow = greedy
spec = {"model": "m", "data": {"source": "builtin:asia"}, "forest": ["chow-liu"],
        "optimizer": {"max_iterations": 0}, "backend": "numpy", "limits": {"memory": most}}
before = resident()
try:
    spnc.train(spec, out="run")
    print("trained")
except spnc.InputError as error:
    print(*(d.code for d in error.diagnostics))
print(peak() - most)
np.ones(1 << 26).sum()  # the limit is over: half a gigabyte more is fine
"""


@pytest.mark.parametrize(("how", "code"), [("at once", "E409"), ("bit by bit", "E409"), ("", "")])
def test_it_holds(tmp_path: Path, how: str, code: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = subprocess.run(
        [sys.executable, "script.py", how],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    said, beyond = found.stdout.split()
    assert said == (code or "trained")
    assert int(beyond) < 64_000_000  # at once it would be 8 GB, bit by bit 250 MB
    assert (tmp_path / "run").exists() == (not code)


class Greedy(Observer):
    """Takes more memory than a limit when training begins."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: list[np.ndarray] = []

    def training(self, max_iterations: int | None) -> None:
        del max_iterations
        # Earlier tests may have needed more than what the process has now.
        left = max(0, self.most - (resident() or 0))
        self.held.append(np.ones((left + 60_000_000) // 8))


def test_what_took_the_memory_is_named_and_the_older_run_is_there(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spnc.common.memory.CHECK_SECONDS", 0.0)  # training takes no longer
    spnc.train(spec, out="run")
    before = Path("run/model.spnc").read_bytes()

    def problem(most: int, **more: object) -> Diagnostic:
        with pytest.raises(spnc.InputError) as caught:
            spnc.train(spec, f"limits.memory={most}", **more)  # type: ignore[arg-type]
        (found,) = caught.value.diagnostics
        assert found.code == "E409"
        return found

    found = problem(1_000_000, out="run", overwrite=True)
    assert "limit of 1MB" in found.message
    assert found.notes[0] == "while reading data"
    assert Path("run/model.spnc").read_bytes() == before
    most = (peak() or 0) + 60_000_000
    assert problem(most, progress=Greedy(most)).notes[0] == "while training"


def test_what_is_sure_not_to_fit_is_refused_before_it_is_begun() -> None:
    limit = MemoryLimit((resident() or 0) + 10_000_000)
    limit.expect(1_000, "little")
    with pytest.raises(MemoryLimitError, match=r"a table would take about 1\.0 GB more"):
        limit.expect(1e9, "a table")
    MemoryLimit(None).expect(1e18, "anything")


def test_a_machine_without_memory_is_no_bug(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 8 EiB")

    monkeypatch.setattr("spnc.compilation.grow", failing)
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(spec)
    (found,) = caught.value.diagnostics
    assert found.code == "E409"
    assert found.notes == ("while learning structure", "unable to allocate 8 EiB")
