"""Clusters of real processes of which some are killed, stopped or strange: only time is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.cluster import heartbeats
from spnc.common.observer import Observer
from spnc.model import to_bytes
from tests.clusters import Cluster, Command, until

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")

SPEC = """model: parts
data: {source: builtin:digits, split: [0.8, 0.1, 0.1], partition_rows: 300}
forest:
- {learner: extra-spn, count: 4, min_instances: 100}
backend: numpy
optimizer: {max_iterations: 20, stop: none}
"""
# How long a client looks for its scheduler; thirty seconds by default.
IMPATIENT = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
BEGUN = 3  # iterations, after which something happens


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the spec, and with its model as one process makes it."""
    found = tmp_path_factory.mktemp("faults")
    (found / "spec.yaml").write_text(SPEC)
    spnc.train(found / "spec.yaml", out=found / "alone")
    return found


@pytest.fixture(scope="module")
def processes(folder: Path) -> Iterator[Cluster]:
    with Cluster(folder) as found:
        yield found


@pytest.fixture
def cluster(processes: Cluster) -> Cluster:
    """A cluster whose processes are all there, whatever became of them before."""
    processes.start()
    return processes


def training(
    folder: Path, out: str, address: str, *words: str, environment: Mapping[str, str] | None = None
) -> Command:
    arguments = ["--out", out, "--cluster", address, "--log", f"{out}.log", *words]
    return Command(folder, "train", "spec.yaml", *arguments, environment=environment)


def events(folder: Path, out: str, kind: str) -> list[dict[str, Any]]:
    """Return the lines of a log about one kind of event."""
    path = folder / f"{out}.log"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("\n")]
    return [each for each in found if each["event"] == kind]


def wait_for_iterations(folder: Path, out: str, command: Command) -> None:
    """Wait until a training is in the middle of an iteration."""

    def begun() -> bool:
        assert command.process.poll() is None, command.shown
        return len(events(folder, out, "iteration")) >= BEGUN

    until(begun, "iterations")


def expect_the_model(folder: Path, out: str) -> None:
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert (folder / out / name).read_bytes() == (folder / "alone" / name).read_bytes()


def test_a_worker_that_is_killed_in_an_iteration(folder: Path, cluster: Cluster) -> None:
    with training(folder, "killed", cluster.address) as command:
        wait_for_iterations(folder, "killed", command)
        cluster.workers[0].kill()
        assert command.ended() == 0, command.shown
    expect_the_model(folder, "killed")
    speeds = [each["workers"] for each in events(folder, "killed", "speed")]
    assert speeds[0] == cluster.count


def test_a_scheduler_that_is_killed(folder: Path, cluster: Cluster) -> None:
    with training(folder, "lost", cluster.address, environment=IMPATIENT) as command:
        wait_for_iterations(folder, "lost", command)
        cluster.kill()
        assert command.ended() == 1
    assert "error[E514]" in command.shown
    assert "saved in lost/checkpoint.safetensors" in command.shown
    assert f"--out lost --cluster {cluster.address} --resume" in command.shown
    assert "Traceback" not in command.shown
    assert "distributed" not in command.shown  # nothing of what Dask would log
    before = len(events(folder, "lost", "iteration"))
    cluster.start()
    with training(folder, "lost", cluster.address, "--resume") as command:
        assert command.ended() == 0, command.shown
    expect_the_model(folder, "lost")
    again = [each["iteration"] for each in events(folder, "lost", "iteration")][before:]
    assert again[0] >= BEGUN - 1  # it goes on where it was


class Stopping(Observer):
    """Stops a worker in the middle of a training, for some seconds or for good."""

    def __init__(self, process: int, seconds: float | None) -> None:
        self.process, self.seconds, self.workers = process, seconds, [0]

    def speed(self, workers: int, rows_per_second: float) -> None:
        self.workers.append(workers)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        if number == BEGUN:
            os.kill(self.process, signal.SIGSTOP)
            if self.seconds is not None:
                threading.Timer(self.seconds, os.kill, [self.process, signal.SIGCONT]).start()


def workers_of_training(folder: Path, cluster: Cluster, seconds: float | None) -> list[int]:
    """Train while a worker is stopped; return how many workers there were after each pass."""
    until(lambda: cluster.joined() == cluster.count, "all workers")
    observer = Stopping(cluster.workers[0].pid, seconds)
    address = f"cluster.address={cluster.address}"
    found = spnc.train(folder / "spec.yaml", [address], progress=observer)
    assert to_bytes(found.model) == (folder / "alone" / "model.spnc").read_bytes()
    return observer.workers


def test_a_worker_that_is_slow(folder: Path, cluster: Cluster) -> None:
    assert workers_of_training(folder, cluster, 2.0)[-1] == cluster.count


def test_a_worker_that_stays_silent(
    folder: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "SILENT_SECONDS", 3.0)
    try:
        assert workers_of_training(folder, cluster, None)[-1] == cluster.count - 1
    finally:
        os.kill(cluster.workers[0].pid, signal.SIGCONT)
