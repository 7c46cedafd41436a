"""Fuzz one reader in a process of its own, which may die: `python -m tests.fuzz.worker`.

The folder then holds `tally.json`, and of every finding the input and a report. The input that is
being read is in the folder `scratch`, for the case that it ends the process.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import signal
import time
import traceback
import warnings
from pathlib import Path

from tests.fuzz.findings import write_finding
from tests.fuzz.fuzzing import READERS, Run, guide, has_atheris, mutate, open_harness
from tests.fuzz.harness import LARGEST, Finding

STACKS = signal.SIGUSR1  # makes the process print what each of its threads is doing
_BETWEEN_TALLIES = 1.0  # seconds


class _Written(Run):
    """A run whose numbers and findings are written to a folder."""

    def __init__(self, reader: str, folder: Path, seconds: float) -> None:
        super().__init__(seconds)
        self.reader, self.folder, self.written = reader, folder, 0.0

    def is_over(self) -> bool:
        """Whether the time is over. Writes the numbers now and then."""
        if time.monotonic() - self.written > _BETWEEN_TALLIES:
            self._write()
        return super().is_over()

    def _write(self) -> None:
        self.written = time.monotonic()
        content = {"tried": self.tried, "seconds": self.spent, "cpu": self.cpu_spent}
        (self.folder / "tally.json").write_text(json.dumps(content))

    def keep(self, found: Finding) -> None:
        """Write the input and the report."""
        write_finding(self.folder, self.reader, found)

    def finish(self) -> None:
        """Write the numbers, and end the process."""
        self._write()
        os._exit(0)  # libFuzzer ends in no other way without a report of its own


def main() -> None:
    """Fuzz until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="mutate seeds, without atheris")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    faulthandler.register(STACKS)
    # Above this, allocations fail; the machine has other things to do.
    resource.setrlimit(resource.RLIMIT_DATA, (4 * LARGEST, resource.RLIM_INFINITY))
    scratch = arguments.folder / "scratch"
    scratch.mkdir()
    run = _Written(arguments.reader, arguments.folder, arguments.seconds)
    try:
        if arguments.plain or not has_atheris():
            mutate(open_harness(arguments.reader, scratch), arguments.seed, run)
        else:
            guide(arguments.reader, scratch, arguments.seed, run)
    except BaseException:  # a mistake in a harness
        traceback.print_exc()
        os._exit(1)  # an ordinary exit waits for threads


if __name__ == "__main__":
    main()
