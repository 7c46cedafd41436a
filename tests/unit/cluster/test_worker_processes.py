"""Worker processes end with the command that began them, whatever ends it, and say nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interrupting import skip_if_ignored
from tests.places import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

# As the command begins; a shell in the background has its children ignore Ctrl-C.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from spnc.common import signals
signals.listen()
from spnc.__main__ import main
sys.exit(main())
"""
# Every component says which process learns it, and takes its time. Two are quick.
LEARNER = """
import os, time
from dataclasses import dataclass
from pathlib import Path

from spnc.learners.chow_liu import ChowLiu
from spnc.registry import LEARNERS, option


@LEARNERS.register("slow")
@dataclass(frozen=True, kw_only=True)
class Slow(ChowLiu):
    '''A Chow-Liu tree that takes long.'''

    seconds: float = option(60.0, "how long", min=0)

    def learn(self, task):
        Path(f"process-{os.getpid()}").touch()
        time.sleep(self.seconds)
        return super().learn(task)
"""
SPEC = """
model: m
plugins: slow
data: builtin:asia
forest: [{learner: slow, seconds: 0, count: 2}, {learner: slow, count: 4}]
"""


@contextmanager
def training(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Yield a command whose workers are at work, in a group of processes as on a terminal."""
    (folder / "slow.py").write_text(LEARNER)
    (folder / "slow.yaml").write_text(SPEC)
    process = subprocess.Popen(
        [sys.executable, "-c", START, *words, "slow.yaml", "--jobs", "2", "--allow-plugins"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 120
        while len(found := list(folder.glob("process-*"))) < 2:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.5)  # until those that take long are under way
        workers = [int(file.name.split("-")[1]) for file in found]
        assert process.pid not in workers
        yield process, workers
    finally:
        process.kill()
        process.communicate()


def expect_the_end(workers: list[int]) -> None:
    until = time.monotonic() + 30
    while any(is_alive(worker) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("command", ["train", "compile"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_ends_all_cleanly(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    skip_if_ignored(number)
    with training(tmp_path, command) as (process, workers):
        os.killpg(process.pid, number)
        _, shown = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "interrupted" in shown
        assert "Traceback" not in shown
        assert "Warning" not in shown
        expect_the_end(workers)


def test_a_signal_to_the_command_alone_ends_its_workers(tmp_path: Path) -> None:
    with training(tmp_path, "train") as (process, workers):
        process.send_signal(signal.SIGTERM)
        _, shown = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in shown
        expect_the_end(workers)


def test_workers_do_not_outlive_a_command_that_is_killed(tmp_path: Path) -> None:
    with training(tmp_path, "train") as (process, workers):
        process.kill()
        process.wait(timeout=60)
        expect_the_end(workers)


def test_a_worker_that_is_killed_is_a_diagnostic(tmp_path: Path) -> None:
    """As the system does it when memory is short."""
    with training(tmp_path, "train") as (process, workers):
        os.kill(workers[0], signal.SIGKILL)
        _, shown = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "error[E409]" in shown
        assert "a worker process has ended" in shown
        assert "Traceback" not in shown
        expect_the_end(workers)
