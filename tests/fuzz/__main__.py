"""Fuzz the readers: `python -m tests.fuzz [--seconds N] [--reader NAME] [--jobs N] [--record]`.

Every reader gets a minute, or `--seconds`. One line per reader says how many inputs were tried,
how fast, and how many causes of failure were found. Inputs that fail are written to `--out`, each
with a report. Exits with 1 if there are any. `--again FILE` reads such an input again. `--record`
adds the numbers to those of earlier runs, in `fuzz.json` and `fuzz.md` of `--results`.

Inputs are guided by coverage if atheris is installed (`pip install -e '.[fuzz]'`); without it,
they are random mutations of the seeds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from spnc.diagnostics import counted
from tests.fuzz.fuzzing import READERS, has_atheris, open_harness
from tests.fuzz.harness import Input
from tests.fuzz.record import RESULTS, record
from tests.fuzz.running import Fuzzed, fuzz


def main() -> int:
    """Fuzz readers, one after another or several at a time. Return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader (default: 60)")
    parser.add_argument("--reader", action="append", choices=READERS, help="only this one")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    parser.add_argument("--plain", action="store_true", help="do without atheris")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="for inputs found")
    parser.add_argument("--again", type=Path, help="read one input again, with --reader")
    parser.add_argument("--jobs", type=int, default=1, help="readers at a time (default: 1)")
    parser.add_argument("--record", action="store_true", help="add the numbers to the record")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the record")
    arguments = parser.parse_args()
    if arguments.again is not None:
        if len(arguments.reader or ()) != 1:
            parser.error("--again needs one --reader")
        return again(arguments.reader[0], arguments.again)
    guided = has_atheris() and not arguments.plain
    how = "guided by coverage" if guided else "random mutations of seeds"
    print(f"inputs: {how}; {arguments.seconds:g} s each")

    def one(reader: str) -> Fuzzed:
        return fuzz(reader, arguments.seconds, arguments.seed, arguments.out, not guided)

    found = 0
    with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        # Each is recorded when it has ended, so that an interrupted campaign counts as well.
        for each in as_completed([pool.submit(one, r) for r in arguments.reader or READERS]):
            done = each.result()
            count = counted(done.findings, "finding")
            said = f"{count} in {arguments.out}" if done.findings else "no findings"
            line = f"{done.reader:<12} {done.tried:>9,} inputs {done.speed:>8,.0f}/s  {said}"
            print(line, flush=True)
            found += done.findings
            if arguments.record:
                record(done, arguments.results)
    return 1 if found else 0


def again(reader: str, file: Path) -> int:
    """Read one input. Return 1 if the reader still does not cope with it."""
    with tempfile.TemporaryDirectory() as folder:
        harness = open_harness(reader, Path(folder))
        ending = next(e for e in sorted(harness.endings, key=len)[::-1] if file.name.endswith(e))
        found = harness.failure(Input(ending, file.read_bytes()))
    print("handled" if found is None else f"{found.place}\n\n{found.report}")
    return 0 if found is None else 1


if __name__ == "__main__":
    sys.exit(main())
