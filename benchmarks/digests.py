"""Train every spec and compare the model's bits with a record.

    python -m benchmarks.digests --record     # before a refactoring
    python -m benchmarks.digests              # after it: exit code 1 if any model has changed

A digest covers the circuit and its parameters, to the last bit, but neither the text of the recipe
nor the format of the file. It depends on spec, data, seed and the versions of spnc, NumPy and
scikit-learn, and on nothing else. The record is valid for one set of versions and one kind of
processor: take a new one at the commit before the change. All specs take about an hour and a half
on two cores (`--only 'specs/*.yaml'` takes minutes). An interrupted record continues where it
stopped; an interrupted comparison starts again.

Each spec has two notations. Only the YAML one is trained: the tests show that both give the same
recipe.
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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath

from benchmarks.common.trainings import RESULTS, ROOT
from spnc import load
from spnc.common.atomic import write_text
from spnc.runs.lock import versions

RECORD = RESULTS / "digests.json"
VERSIONS = "versions"  # the one key of the record that is not a spec
OTHER_BACKEND = {"specs/gpu.yaml": "numba"}  # needs a device; trained on the CPU instead

Digest = Callable[[str], tuple[str, float]]


def digest(spec: str) -> tuple[str, float]:
    """Return the SHA-256 of the model that a spec trains, or its error; and the seconds."""
    began = time.monotonic()
    backend = ["--backend", OTHER_BACKEND[spec]] if spec in OTHER_BACKEND else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "spnc", "train", spec, "--out", str(out), "--quiet"]
        done = subprocess.run(
            [*command, *backend], cwd=ROOT, env=os.environ, capture_output=True, text=True
        )
        if done.returncode == 0:
            found = digest_of_file(out / "model.spnc")
        else:
            found = f"exit {done.returncode}: {done.stderr.strip()[:200]}"
    return found, time.monotonic() - began


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of the circuit and the parameters in a model file."""
    from safetensors import safe_open

    program = load(path).program
    about = [
        [(column.name, column.kind, column.states) for column in program.columns],
        [(leaf.distribution, leaf.first) for leaf in program.leaves],
        program.root,
    ]
    found = hashlib.sha256(json.dumps(about).encode())
    with safe_open(str(path), framework="numpy") as file:
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name)
            found.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
            found.update(tensor.tobytes())
    return found.hexdigest()


def main(arguments: Sequence[str] | None = None, digest_of: Digest = digest) -> int:
    """Record or compare; return the exit code."""
    options = _parsed(arguments)
    recorded: dict[str, str] = {}
    if options.file.is_file():
        recorded = json.loads(options.file.read_text("utf-8"))
    taken_with = recorded.pop(VERSIONS, None)
    specs = [spec for spec in all_specs() if PurePath(spec).match(options.only)]
    if options.record:
        return _record(specs, recorded, taken_with, options, digest_of)
    return _compare(specs, recorded, taken_with, options, digest_of)


def _record(
    specs: Sequence[str],
    recorded: dict[str, str],
    taken_with: str | None,
    options: argparse.Namespace,
    digest_of: Digest,
) -> int:
    """Add the specs that the record lacks. A record has one set of versions."""
    if taken_with not in (None, versions()):
        print(f"{options.file} was taken with other versions: {taken_with}")
        print(f"In use now: {versions()}. Delete the file to take a new record.")
        return 1

    def write() -> None:
        content = {**recorded, VERSIONS: versions()}
        write_text(options.file, json.dumps(content, indent=1, sort_keys=True) + "\n")

    missing = [spec for spec in specs if spec not in recorded]
    with ThreadPoolExecutor(options.jobs) as pool:
        for spec, (found, seconds) in zip(missing, pool.map(digest_of, missing), strict=True):
            recorded[spec] = found
            write()
            _say("recorded", spec, found, seconds)
    write()
    return 0


def _compare(
    specs: Sequence[str],
    recorded: dict[str, str],
    taken_with: str | None,
    options: argparse.Namespace,
    digest_of: Digest,
) -> int:
    """Train all recorded specs again; return 1 if a model has changed."""
    if taken_with is None:
        print("The record does not say which versions it was taken with.")
    elif taken_with != versions():
        print(f"The record was taken with {taken_with}.\nIn use now: {versions()}.")
        print("Models may differ for that reason alone.")
    if missing := [spec for spec in specs if spec not in recorded]:
        print("not in the record:", ", ".join(missing))
    known = [spec for spec in specs if spec in recorded]
    changed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for spec, (found, seconds) in zip(known, pool.map(digest_of, known), strict=True):
            is_same = found == recorded[spec]
            changed += not is_same
            _say("same" if is_same else "CHANGED", spec, found, seconds)
    print(f"{len(known) - changed} of {len(known)} specs give the recorded bits")
    return 1 if changed else 0


def _say(verdict: str, spec: str, found: str, seconds: float) -> None:
    print(f"{verdict:8} {spec:45} {found[:16]} {seconds:7.1f} s", flush=True)


def all_specs() -> list[str]:
    """Return every YAML spec of the repository, the quickest folders first."""
    folders = ("specs", "specs/paper", "specs/best")
    return [
        p.relative_to(ROOT).as_posix() for f in folders for p in sorted(ROOT.glob(f"{f}/*.yaml"))
    ]


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.digests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--record", action="store_true", help="add what the record lacks")
    parser.add_argument(
        "--only", default="*.yaml", metavar="PATTERN", help="specs such as 'specs/*.yaml'"
    )
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time (default: 2)")
    parser.add_argument(
        "--file", type=Path, default=RECORD, help="the record (benchmarks/results/digests.json)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
