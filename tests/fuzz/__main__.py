"""Fuzz the readers: `python -m tests.fuzz [--seconds N] [--reader NAME]`.

Every reader gets a minute, or `--seconds`. One line per reader says how many inputs were tried,
how fast, and how many causes of failure were found. Inputs that fail are written to `--out`, each
with a report. Exits with 1 if there are any. `--again FILE` reads such an input again.

Inputs are guided by coverage if atheris is installed (`pip install -e '.[fuzz]'`); without it,
they are random mutations of the seeds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from spnc.diagnostics import counted
from tests.fuzz.findings import REPORT, write_finding
from tests.fuzz.fuzzing import READERS, has_atheris, open_harness
from tests.fuzz.harness import ROOT, Finding, Input
from tests.fuzz.worker import STACKS

HANGING = 60.0  # seconds without a next input after which a process is ended
_LOG_TAIL = 4000  # characters of a dead process's last words


def main() -> int:
    """Fuzz readers one after another. Return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader (default: 60)")
    parser.add_argument("--reader", action="append", choices=READERS, help="only this one")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    parser.add_argument("--plain", action="store_true", help="do without atheris")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="for inputs found")
    parser.add_argument("--again", type=Path, help="read one input again, with --reader")
    arguments = parser.parse_args()
    if arguments.again is not None:
        if len(arguments.reader or ()) != 1:
            parser.error("--again needs one --reader")
        return again(arguments.reader[0], arguments.again)
    guided = has_atheris() and not arguments.plain
    how = "guided by coverage" if guided else "random mutations of seeds"
    print(f"inputs: {how}; {arguments.seconds:g} s each")
    found = 0
    for reader in arguments.reader or READERS:
        found += fuzz(reader, arguments.seconds, arguments.seed, arguments.out, not guided)
    return 1 if found else 0


def again(reader: str, file: Path) -> int:
    """Read one input. Return 1 if the reader still does not cope with it."""
    with tempfile.TemporaryDirectory() as folder:
        harness = open_harness(reader, Path(folder))
        ending = next(e for e in sorted(harness.endings, key=len)[::-1] if file.name.endswith(e))
        found = harness.failure(Input(ending, file.read_bytes()))
    print("handled" if found is None else f"{found.place}\n\n{found.report}")
    return 0 if found is None else 1


def fuzz(reader: str, seconds: float, seed: int, out: Path, plain: bool) -> int:
    """Fuzz one reader, print a line about it, and return the number of findings."""
    left, tried, spent, findings = seconds, 0, 0.0, 0
    while left > 0:
        with tempfile.TemporaryDirectory(prefix="spnc-fuzz-", dir=_in_memory()) as name:
            folder = Path(name)
            died = _work(reader, folder, left, seed, plain)
            tally: dict[str, Any] = {"tried": 0, "seconds": 0.0}
            if (folder / "tally.json").is_file():
                tally = json.loads((folder / "tally.json").read_text())
            if died is not None:
                write_finding(folder, reader, died)
            findings += _keep(folder, reader, out)
        tried, spent = tried + tally["tried"], spent + tally["seconds"]
        # A process that died early is started again, with other inputs, for the rest of the time.
        left = seconds - spent if died is not None and tally["tried"] else 0.0
        seed += 1
    speed = tried / spent if spent else 0.0
    said = f"{counted(findings, 'finding')} in {out}" if findings else "no findings"
    print(f"{reader:<12} {tried:>9,} inputs {speed:>8,.0f}/s  {said}", flush=True)
    return findings


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


if __name__ == "__main__":
    sys.exit(main())
