"""`spnc` that keeps its work often: `python -m benchmarks.attack.trainee SECONDS ARGUMENTS`.

A training of seconds is then attacked as one of hours is, whose components, links, decoders and
checkpoints are kept every ten to thirty seconds.
"""

from __future__ import annotations

import sys

from spnc.cli import main
from spnc.runs import folder, kept_data, kept_work


def run() -> int:
    """Run a command of spnc that keeps its work as often as the first argument says."""
    seconds, *command = sys.argv[1:]
    folder.CHECKPOINT_SECONDS = kept_work.SECONDS = kept_data.SECONDS = float(seconds)
    return main(command)


if __name__ == "__main__":
    sys.exit(run())
