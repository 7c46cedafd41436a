"""Commands on a disk that has little room, or with a limit on the size of files.

As a script, which needs a mount of its own: `unshare -rm python -m tests.full_disk`, a job in JSON
on standard input, and a list of records in JSON on standard output. `on_full_disk` does that.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT

DISK_BYTES = 4_000_000
PAGE = 4096
FILLER = ".filler"


@dataclass(frozen=True)
class Attempt:
    """What a command did with this much room, and what it did with enough of it afterwards."""

    room: int
    code: int
    shown: str
    before: dict[str, str]  # digests of all files, by name
    after: dict[str, str]
    again: int  # the exit code of the second time
    then: dict[str, str]


def on_full_disk(
    folder: Path, commands: Sequence[Sequence[str]], rooms: Sequence[int], how: str, *more: str
) -> list[Attempt]:
    """Run each of the commands in copies of a folder, with so much room left each time.

    `how` is "disk", where rooms are pages of a small file system, or "quota", where they are the
    largest size of a file in kilobytes. With `more` words, each is run again with enough room.
    """
    job = {"commands": commands, "more": more, "rooms": list(rooms), "how": how}
    job["folder"] = str(folder)
    words = [sys.executable, "-m", "tests.full_disk"]
    if how == "disk":
        words = ["unshare", "-rm", *words]
        _skip_without_mounts()
    done = subprocess.run(
        words, cwd=ROOT, input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [Attempt(**found) for found in json.loads(done.stdout)]


def _skip_without_mounts() -> None:
    mount = "mount -t tmpfs tmpfs /mnt"
    try:
        subprocess.run(["unshare", "-rm", "sh", "-c", mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system cannot be mounted here: `unshare -rm` is not allowed")


def _files(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != FILLER
    }


def _run(words: Sequence[str]) -> tuple[int, str]:
    from spnc.cli import main

    shown = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(shown):
        return main(list(words)), shown.getvalue()


def _limited(job: dict[str, object], room: int, words: Sequence[str]) -> tuple[int, str]:
    import resource

    if job["how"] == "quota":
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room * 1024, hard))
        try:
            return _run(words)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_bsize - room * PAGE
    filler = Path(FILLER)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free)
    try:
        return _run(words)
    finally:
        filler.unlink()


def _main() -> None:
    job = json.load(sys.stdin)
    folder = Path(job["folder"])
    disk = folder.parent / f"{folder.name}-disk"
    disk.mkdir(exist_ok=True)
    if job["how"] == "disk":
        size = f"size={DISK_BYTES}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], check=True)
    here, found = disk / "copy", []
    for command in job["commands"]:
        # First without a limit: what is imported or compiled on first use is not to fail.
        for room in (None, *job["rooms"]):
            shutil.copytree(folder, here)
            os.chdir(here)
            before = _files(here)
            code, shown = _limited(job, room, command) if room is not None else _run(command)
            after = _files(here)
            again, _ = _run([*command, *job["more"]])
            if room is not None:
                found.append(vars(Attempt(room, code, shown, before, after, again, _files(here))))
            os.chdir(folder)
            shutil.rmtree(here)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    _main()
