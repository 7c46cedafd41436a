"""Record other libraries' own answers to questions, which spnc's tests compare with.

    python -m benchmarks.record_answers [--peers a,b] [--out FOLDER]

SPFlow 0.0.48, SPFlow 1.1.0 and cirkit 0.2.1 are asked about the same six small circuits, each in a
virtual environment of its own: log-likelihoods of rows with missing cells, marginals, conditionals,
most probable completions, means, entropies, mutual informations, intervals, drawn rows and the
integral of the square. A record also says what a library cannot answer, and where it is known to be
wrong; there the tests compare spnc with enumeration instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.catalogue import CIRKIT, SPFLOW, SPFLOW_LEGACY
from benchmarks.peers.recording import RECORDS, keep_records

WORKERS = {
    SPFLOW_LEGACY.key: (SPFLOW_LEGACY, "spflow_legacy_answers_worker.py"),
    SPFLOW.key: (SPFLOW, "spflow_answers_worker.py"),
    CIRKIT.key: (CIRKIT, "cirkit_answers_worker.py"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.record_answers", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--peers", default=",".join(WORKERS), help=f"which of {', '.join(WORKERS)} (all)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=RECORDS,
        help="folder in which each library has a folder for its records (default: tests/records)",
    )
    options = parser.parse_args(arguments)
    for key in options.peers.split(","):
        if key not in WORKERS:
            parser.error(f"no peer is called {key}; there are {', '.join(WORKERS)}")
        peer, worker = WORKERS[key]
        script = peer.worker.with_name(worker)
        circuits = ["--circuits", str(RECORDS / "spflow")]
        keep_records(peer.python(), script, options.out / key, circuits)


if __name__ == "__main__":
    main()
