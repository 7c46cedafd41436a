"""Record SPFlow's results: circuits, inputs and log-likelihoods that spnc's tests compare with.

    python -m benchmarks.record_spflow [--out FOLDER] [--venv FOLDER]

SPFlow 0.0.48 gets a virtual environment of its own, since its lark-parser clashes with spnc's lark
and it declares TensorFlow, PyQt5 and torchvision, which evaluating a circuit does not need.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import environments
from benchmarks.peers.catalogue import SPFLOW_LEGACY
from benchmarks.peers.recording import RECORDS, keep_records

WORKER = Path(__file__).resolve().parent / "peers" / "spflow_legacy_worker.py"


def main(arguments: Sequence[str] | None = None) -> None:
    kept = environments.default_folder(SPFLOW_LEGACY.key)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_spflow")
    parser.add_argument(
        "--out",
        type=Path,
        default=RECORDS / "spflow",
        help="folder the records are written to (default: tests/records/spflow)",
    )
    parser.add_argument(
        "--venv",
        type=Path,
        default=None,
        help=f"folder of SPFlow's environment (default: {kept})",
    )
    options = parser.parse_args(arguments)

    keep_records(SPFLOW_LEGACY.python(options.venv), WORKER, options.out)


if __name__ == "__main__":
    main()
