"""Worker processes: one system and one circuit each, killed if they take too long.

`benchmarks.peers.speed_protocol` defines their commands and replies.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.catalogue import Peer

ROOT = Path(__file__).resolve().parents[2]


class GoneError(Exception):
    """A worker died or did not reply in time; the text says which."""


@dataclass(frozen=True)
class Contender:
    """A system that is compared, and the command that starts its worker."""

    name: str
    version: str
    command: tuple[str, ...]
    is_peer: bool = False

    @property
    def title(self) -> str:
        """Return the name and the version."""
        return f"{self.name} {self.version}"

    @staticmethod
    def of_peer(peer: Peer) -> Contender:
        """Return a peer as a contender; make its environment if it does not exist."""
        command = (str(peer.python()), str(peer.worker), *peer.arguments)
        return Contender(peer.name, peer.version, command, True)

    @staticmethod
    def of_backend(name: str, backend: str, version: str) -> Contender:
        """Return spnc on one of its backends as a contender."""
        command = (sys.executable, "-m", "benchmarks.timing.spnc_worker", backend)
        return Contender(name, version, command)


class Asked(Protocol):
    """Something that replies to the commands of the speed protocol."""

    def ask(self, seconds: float, **command: Any) -> dict[str, Any]:
        """Return the reply to a command; raise `GoneError` without one after `seconds`."""
        ...

    def stop(self) -> None:
        """Accept no more commands."""
        ...


class Worker:
    """A contender's process."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        # Open as long as the process runs; closed in `stop`.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            contender.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
            cwd=ROOT,
            env=environment(),
        )
        # A thread reads the pipe, since pipes have no timeout on every platform.
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, seconds: float, **command: Any) -> dict[str, Any]:
        """Return the reply to a command; raise `GoneError` without one after `seconds`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            raise GoneError(f"not done after {seconds:.0f} s") from None
        except OSError:
            line = ""
        if not line:
            words = self._last_words()
            raise GoneError(f"its process ended with {self._process.wait()}: {words}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().strip().splitlines()
        return lines[-1][:200] if lines else "no message"

    def stop(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            if pipe is not None:
                with suppress(OSError):  # the process did not read its last command
                    pipe.close()


Start = Callable[[Contender], Asked]


def asked(
    contender: Contender, patience: float, start: Start, command: dict[str, Any]
) -> dict[str, Any]:
    """Return a new worker's reply to one command; `error` says why there is none."""
    worker = start(contender)
    try:
        return worker.ask(patience, **command)
    except GoneError as gone:
        return {"error": str(gone)}
    finally:
        worker.stop()


def environment() -> dict[str, str]:
    """Return the environment of workers: all cores, and idle threads that do not spin."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return {**kept, "OMP_WAIT_POLICY": "PASSIVE"}
