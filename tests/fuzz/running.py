"""Fuzz one reader in processes of their own, for a given time; those that die are started again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.findings import REPORT, write_finding
from tests.fuzz.harness import ROOT, Finding, Input
from tests.fuzz.worker import STACKS

# Seconds without a next input after which a process is ended; many, since the machine may be busy.
HANGING = 300.0
_LOG_TAIL = 4000  # characters of a dead process's last words


@dataclass(frozen=True)
class Fuzzed:
    """What came of fuzzing a reader: inputs tried, seconds spent on them, inputs that failed."""

    reader: str
    tried: int
    seconds: float
    cpu_seconds: float
    findings: int  # different causes

    @property
    def speed(self) -> float:
        """Inputs per second."""
        return self.tried / self.seconds if self.seconds else 0.0


def fuzz(reader: str, seconds: float, seed: int, out: Path, plain: bool) -> Fuzzed:
    """Fuzz one reader. Inputs that fail are copied to `out`, each with a report."""
    left, tried, spent, cpu, findings = seconds, 0, 0.0, 0.0, 0
    while left > 0:
        with tempfile.TemporaryDirectory(prefix="spnc-fuzz-", dir=_in_memory()) as name:
            folder = Path(name)
            died = _work(reader, folder, left, seed, plain)
            tally: dict[str, Any] = {"tried": 0, "seconds": 0.0, "cpu": 0.0}
            if (folder / "tally.json").is_file():
                tally = json.loads((folder / "tally.json").read_text())
            if died is not None:
                write_finding(folder, reader, died)
            findings += _keep(folder, reader, out)
        tried, spent = tried + tally["tried"], spent + tally["seconds"]
        cpu += tally["cpu"]
        # A process that died early is started again, with other inputs, for the rest of the time.
        left = seconds - spent if died is not None and tally["tried"] else 0.0
        seed += 1
    return Fuzzed(reader, tried, spent, cpu, findings)


def _work(reader: str, folder: Path, seconds: float, seed: int, plain: bool) -> Finding | None:
    """Fuzz in another process. Return the finding that ended it, if one did."""
    command = [sys.executable, "-m", "tests.fuzz.worker", reader, str(folder)]
    command += ["--seconds", str(seconds), "--seed", str(seed), *(["--plain"] if plain else [])]
    log = folder / "log.txt"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=ROOT, stdout=stream, stderr=stream)
        try:
            hanging = _watch(process, folder / "scratch")
        finally:
            process.kill()
            process.wait()
    if process.returncode == 0 and not hanging:
        return None
    last = max((folder / "scratch").glob("input*"), key=lambda p: p.stat().st_mtime, default=None)
    given = (
        Input("", b"")
        if last is None
        else Input(last.name.removeprefix("input"), last.read_bytes())
    )
    why = "hanging" if hanging else f"ended by {process.returncode}"
    return Finding(given, why, log.read_text(errors="replace")[-_LOG_TAIL:])


def _watch(process: subprocess.Popen[bytes], scratch: Path) -> bool:
    """Wait for a process. Return True as soon as it has had the same input for too long."""
    while process.poll() is None:
        time.sleep(0.2)
        times = [file.stat().st_mtime for file in scratch.glob("input*")]
        if times and time.time() - max(times) > HANGING:
            process.send_signal(STACKS)
            time.sleep(1)
            return True
    return False


def _in_memory() -> str | None:
    """Return a folder for many small files, in memory if there is one; None: the usual one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _keep(folder: Path, reader: str, out: Path) -> int:
    """Copy findings to the folder of all findings. Return how many inputs there are."""
    files = list(folder.glob(f"{reader}-*"))
    if files:
        out.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, out)
    return sum(not file.name.endswith(REPORT) for file in files)
