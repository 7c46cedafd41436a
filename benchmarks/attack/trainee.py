"""`spnc` that keeps its work often: `python -m benchmarks.attack.trainee SECONDS ARGUMENTS`.

A training of seconds is then attacked as one of hours is, whose components, links, decoders and
checkpoints are kept every ten to thirty seconds. `usual` instead of seconds changes nothing.
"""

from __future__ import annotations

import sys

from benchmarks.attack.keeping import keep_every
from spnc.cli import main

USUAL = "usual"


def run() -> int:
    """Run a command of spnc that keeps its work as often as the first argument says."""
    seconds, *command = sys.argv[1:]
    if seconds != USUAL:
        keep_every(float(seconds))
    return main(command)


if __name__ == "__main__":
    sys.exit(run())
