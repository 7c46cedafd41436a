"""`python -m benchmarks.digests`: train every spec and compare the model bytes with a record.

    python -m benchmarks.digests --record     # before a refactoring
    python -m benchmarks.digests              # after it: exit code 1 if any model has changed

A model file depends on spec, data, seed and the versions of spnc, NumPy and scikit-learn, and on
nothing else. The record is therefore valid for one set of versions and one kind of processor; take
it anew at the commit before the change. All specs take about an hour and a half on two cores
(`--only 'specs/*.yaml'` takes minutes); a comparison that was interrupted starts again, a record
goes on where it stopped.

Each spec has two spellings. Only the YAML one is trained: the tests show that both are one recipe.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).parent / "results" / "digests.json"
OTHER_BACKEND = {"specs/gpu.yaml": "numba"}  # needs a device; trained on the CPU instead


def main() -> int:
    arguments = _arguments()
    recorded: dict[str, str] = {}
    if RECORD.is_file():
        recorded = json.loads(RECORD.read_text("utf-8"))
    specs = [s for s in all_specs() if PurePath(s).match(arguments.only)]
    if arguments.record:
        specs = [s for s in specs if s not in recorded]
    elif missing := [s for s in specs if s not in recorded]:
        print("not in the record:", ", ".join(missing))
        specs = [s for s in specs if s in recorded]
    changed = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for spec, (found, seconds) in zip(specs, pool.map(digest, specs), strict=True):
            if arguments.record:
                recorded[spec] = found
                RECORD.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", "utf-8")
                verdict = "recorded"
            else:
                verdict = "same" if found == recorded[spec] else "CHANGED"
            if verdict == "CHANGED":
                changed.append(spec)
            print(f"{verdict:8} {spec:45} {found[:16]} {seconds:7.1f} s", flush=True)
    if not arguments.record:
        print(f"{len(specs) - len(changed)} of {len(specs)} specs give the recorded model bytes")
    return 1 if changed else 0


def all_specs() -> list[str]:
    """Every YAML spec of the repository, the quickest folders first."""
    folders = ("specs", "specs/paper", "specs/best")
    return [
        p.relative_to(ROOT).as_posix() for f in folders for p in sorted(ROOT.glob(f"{f}/*.yaml"))
    ]


def digest(spec: str) -> tuple[str, float]:
    """Return the SHA-256 of the model that a spec trains, or why there is none; and the seconds."""
    began = time.monotonic()
    backend = ["--backend", OTHER_BACKEND[spec]] if spec in OTHER_BACKEND else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "spnc", "train", spec, "--out", str(out), "--quiet"]
        done = subprocess.run(
            [*command, *backend], cwd=ROOT, env=os.environ, capture_output=True, text=True
        )
        if done.returncode == 0:
            found = hashlib.sha256((out / "model.spnc").read_bytes()).hexdigest()
        else:
            found = f"exit {done.returncode}: {done.stderr.strip()[:200]}"
    return found, time.monotonic() - began


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--record", action="store_true", help="add to the record what it lacks")
    parser.add_argument(
        "--only", default="*.yaml", metavar="PATTERN", help="specs such as 'specs/*.yaml'"
    )
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
