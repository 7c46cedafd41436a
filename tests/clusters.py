"""Dask clusters as people start them: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.places import ROOT

SECONDS = 60.0  # that anything here may take at most

# `dask scheduler` and `dask worker`, whose command may not be on the path.
_DASK = "import sys; from distributed.cli.{0} import main; sys.argv[0] = '{0}'; main()"


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds and return its value."""
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
    return found


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


class Cluster:
    """A scheduler and workers on this machine, which can be killed, stopped and started again."""

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        protocol: str = "tcp",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.count, self.protocol = folder, workers, protocol
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
        self.port = free_port()
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the scheduler and the workers that are not running."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.scheduler = self._begun(
                "dask_scheduler",
                *("--host", f"{self.protocol}://127.0.0.1", "--port", str(self.port)),
                *("--dashboard-address", "127.0.0.1:0"),
            )
        self.workers = [each for each in self.workers if each.poll() is None]
        while len(self.workers) < self.count:
            self.add_worker()

    def add_worker(self, *words: str) -> subprocess.Popen[bytes]:
        """Start another worker, without a nanny that would start it again, and return it."""
        found = self._begun(
            "dask_worker",
            self.address,
            *("--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--host", f"{self.protocol}://127.0.0.1"),
            *("--local-directory", str(self.folder)),
            *words,
        )
        self.workers.append(found)
        return found

    def joined(self) -> int:
        """Return how many workers the scheduler knows."""
        distributed: Any = import_module("distributed")
        with distributed.Client(self.address, set_as_default=False) as client:
            return len(client.scheduler_info(n_workers=-1)["workers"])

    def kill(self) -> None:
        """Kill all processes, those that are stopped too."""
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()
        self.workers, self.scheduler = [], None

    def _begun(self, command: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", _DASK.format(command), *words],
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )


class Command:
    """`spnc` with some arguments, in a process of its own, whose output is gathered in files."""

    def __init__(
        self,
        folder: Path,
        *words: str,
        environment: Mapping[str, str] | None = None,
        terminal: int | None = None,
    ) -> None:
        """With a terminal, the error stream is that."""
        self._shown = folder / f"shown-{time.monotonic_ns()}.txt"
        with self._shown.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "spnc", *words],
                env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file if terminal is None else terminal,
                start_new_session=True,
            )

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def shown(self) -> str:
        """What the command has shown so far."""
        return self._shown.read_text()

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        return self.process.wait(timeout=SECONDS)
