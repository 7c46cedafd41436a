"""Run a script that writes records in a peer's environment, and keep what it has written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import environments

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "tests" / "records"
# The records are kept in the repository, so they have to stay small.
MAX_FILE_BYTES = 200_000
MAX_TOTAL_BYTES = 1_000_000


def keep_records(python: Path, script: Path, out: Path, arguments: Sequence[str] = ()) -> None:
    """Run a script with `--out FOLDER` by an environment's Python, and copy its files to `out`.

    Raises `SystemExit` if they are too large.
    """
    with tempfile.TemporaryDirectory() as scratch:
        # Written to another folder first, so that a failing check keeps the old records.
        environments.run(python, script, ["--out", scratch, *arguments])
        records = sorted(Path(scratch).glob("*.json"))
        sizes = {record.name: record.stat().st_size for record in records}
        too_large = [name for name, size in sizes.items() if size >= MAX_FILE_BYTES]
        if too_large or sum(sizes.values()) > MAX_TOTAL_BYTES:
            raise SystemExit(f"the records are too large to keep: {sizes}")
        out.mkdir(parents=True, exist_ok=True)
        for record in records:
            shutil.copyfile(record, out / record.name)

    print(f"{len(sizes)} records, {sum(sizes.values())} bytes, in {out}")
    stale = sorted(path.name for path in out.glob("*.json") if path.name not in sizes)
    if stale:
        print(f"not written by this run, remove them if they are old: {', '.join(stale)}")
