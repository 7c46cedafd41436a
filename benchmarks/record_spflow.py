"""Record SPFlow's results: circuits, inputs and log-likelihoods that spnc's tests compare with.

    python -m benchmarks.record_spflow [--out FOLDER] [--venv FOLDER]

SPFlow 0.0.48 gets a virtual environment of its own, since its lark-parser clashes with spnc's lark
and it declares TensorFlow, PyQt5 and torchvision, which evaluating a circuit does not need.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import environments
from benchmarks.peers.catalogue import SPFLOW_LEGACY

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).resolve().parent / "peers" / "spflow_legacy_worker.py"

# The records are kept in the repository, so they have to stay small.
MAX_FILE_BYTES = 200_000
MAX_TOTAL_BYTES = 1_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    kept = environments.default_folder(SPFLOW_LEGACY.key)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_spflow")
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "tests" / "records" / "spflow",
        help="folder the records are written to (default: tests/records/spflow)",
    )
    parser.add_argument(
        "--venv",
        type=Path,
        default=None,
        help=f"folder of SPFlow's environment (default: {kept})",
    )
    options = parser.parse_args(arguments)

    python = SPFLOW_LEGACY.python(options.venv)
    with tempfile.TemporaryDirectory() as scratch:
        # Written to another folder first, so that a failing check keeps the old records.
        environments.run(python, WORKER, ["--out", scratch])
        records = sorted(Path(scratch).glob("*.json"))
        sizes = {record.name: record.stat().st_size for record in records}
        too_large = [name for name, size in sizes.items() if size >= MAX_FILE_BYTES]
        if too_large or sum(sizes.values()) > MAX_TOTAL_BYTES:
            raise SystemExit(f"the records are too large to keep: {sizes}")
        options.out.mkdir(parents=True, exist_ok=True)
        for record in records:
            shutil.copyfile(record, options.out / record.name)

    print(f"{len(sizes)} records, {sum(sizes.values())} bytes, in {options.out}")
    stale = sorted(path.name for path in options.out.glob("*.json") if path.name not in sizes)
    if stale:
        print(f"not written by this run, remove them if they are old: {', '.join(stale)}")


if __name__ == "__main__":
    main()
