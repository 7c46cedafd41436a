"""`spnc train --cluster`: what is shown, refused, interrupted, and sent to workers."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import spnc
from spnc.model import to_bytes
from tests.clusters import Cluster, Command, until

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX processes")

SPEC = """model: parts
data: {source: builtin:digits, split: [0.8, 0.1, 0.1], partition_rows: 700}
forest:
- {learner: extra-spn, min_instances: 200}
backend: numpy
optimizer: {max_iterations: 4}
"""
SEARCH = """model: tries
data: {source: builtin:digits, split: [0.8, 0.1, 0.1]}
forest:
- {learner: extra-spn, min_instances: {search: [200, 300, 400]}}
backend: numpy
optimizer: {max_iterations: 2}
"""
LONG = "optimizer={max_iterations: 100000, stop: none}"
# Says in which process it is imported.
PLUGIN = """
import os
from dataclasses import dataclass
from pathlib import Path

from spnc.backends.numpy import NumpyBackend
from spnc.registry import BACKENDS

Path(FOLDER, f"process-{os.getpid()}").touch()


@BACKENDS.register("mine")
@dataclass(frozen=True, kw_only=True)
class Mine(NumpyBackend):
    '''The NumPy backend by another name.'''
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "search.yaml").write_text(SEARCH)
    return tmp_path


def made_here(spec: Path) -> bytes:
    return to_bytes(spnc.train(spec).model)


def test_the_dashboard_and_the_speed_are_shown(folder: Path) -> None:
    """On a terminal, too."""
    words = ["train", "spec.yaml", "--cluster", "local:2", "--log", "log", "--out"]
    controller, terminal = os.openpty()
    environment = {"TERM": "xterm", "COLUMNS": "200", "CI": "", "TTY_COMPATIBLE": "1"}
    with (
        Command(folder, *words, "lines") as command,
        Command(folder, *words, "live", terminal=terminal, environment=environment) as live,
    ):
        os.close(terminal)
        drawn = "".join(_read(controller))
        assert command.ended() == live.ended() == 0, command.shown
    assert "dashboard at http://127.0.0.1:" in command.shown
    assert "dashboard at http://127.0.0.1:" in drawn
    assert "(2 workers, " in drawn
    assert " rows/s)" in drawn
    events = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    assert any("dashboard at" in e["text"] for e in events if e["event"] == "notice")
    (speed, *_) = [e for e in events if e["event"] == "speed"]
    assert speed["workers"] == 2
    assert speed["rows_per_second"] > 0
    assert (folder / "lines" / "model.spnc").read_bytes() == made_here(folder / "spec.yaml")


def _read(controller: int) -> Iterator[str]:
    """Yield what is drawn on a terminal until it is closed."""
    while True:
        try:
            yield os.read(controller, 1 << 16).decode(errors="replace")
        except OSError:
            os.close(controller)
            return


def test_ctrl_c_is_a_clean_stop(folder: Path) -> None:
    """To all processes, as on a terminal."""
    words = ["train", "spec.yaml", "--set", LONG, "--out", "run", "--cluster", "local:2"]
    with Command(folder, *words, "--log", "log") as command:
        until(lambda: "iteration" in _text(folder / "log"), "an iteration")
        os.killpg(command.process.pid, signal.SIGINT)
        assert command.ended() == 130
    assert "saved in run/checkpoint.safetensors" in command.shown
    assert "--cluster local:2 --resume" in command.shown
    assert "Traceback" not in command.shown
    assert "Warning" not in command.shown


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_tries_are_computed_by_workers(folder: Path, cluster: Cluster) -> None:
    spec, address = folder / "search.yaml", f"cluster.address={cluster.address}"
    alone = spnc.train(spec, out=folder / "alone")
    together = spnc.train(spec, [address], out=folder / "together")
    assert [t.valid for t in together.tries] == [t.valid for t in alone.tries]
    for name in ("model.spnc", "recipe.lock.yaml"):
        found = (folder / "together" / name).read_bytes()
        assert found == (folder / "alone" / name).read_bytes()


def test_a_budget_counts_the_time_on_the_clock(cluster: Cluster) -> None:
    began = time.monotonic()
    found = spnc.train_auto("builtin:asia", 5, [f"cluster.address={cluster.address}"])
    assert time.monotonic() - began < 30.0  # the machine may be busy
    assert len(found.tries) > 1


def test_a_worker_of_another_version_is_refused(folder: Path, cluster: Cluster) -> None:
    other = folder / "other.py"
    other.write_text("import spnc\nspnc.__version__ = '0.0.1'\n")
    stranger = cluster.add_worker("--preload", str(other))
    try:
        until(lambda: cluster.joined() == cluster.count + 1, "the stranger")
        with Command(folder, "train", "spec.yaml", "--cluster", cluster.address) as command:
            assert command.ended() == 1
    finally:
        stranger.kill()
        stranger.wait()
    assert "error[E513]" in command.shown
    assert "a worker has spnc 0.0.1" in command.shown
    assert "Traceback" not in command.shown


def test_only_plug_ins_that_were_allowed_are_imported(folder: Path, cluster: Cluster) -> None:
    (folder / "mine.py").write_text(PLUGIN.replace("FOLDER", repr(str(folder))))
    text = SPEC.replace("backend: numpy", "backend: mine\nplugins: mine")
    (folder / "spec.yaml").write_text(text)
    words = ["train", "spec.yaml", "--out", "run", "--cluster", cluster.address]
    with Command(folder, *words) as command:
        assert command.ended() == 1
    assert "--allow-plugins" in command.shown
    assert not list(folder.glob("process-*"))
    with Command(folder, *words, "--allow-plugins") as command:
        assert command.ended() == 0, command.shown
    importing = {path.name for path in folder.glob("process-*")}
    assert importing > {f"process-{command.process.pid}"}
    (folder / "spec.yaml").write_text(SPEC)
    here = spnc.train(folder / "spec.yaml").scores["test"]
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    assert metrics["splits"]["test"]["avg_ll"] == here.average
