"""Attack spnc: kill trainings, damage files, fuzz readers, and give it files that unpack to much.

    python -m benchmarks.faults [--quick] [--seed N] [--only kills,damage,fuzz,memory]
                                [--results FOLDER] [--page-only]

A full run kills six kinds of training 100 times and another one every 40 seconds, damages 100,000
files, fuzzes every reader and measures the memory for files that stand for more than they hold, in
under half an hour on two cores. It writes benchmarks/results/faults.json and faults.md, and figures
in docs/promises.md. With --quick or --only, it only prints the tables, unless --results names a
folder. The exit code is 1 if a promise was broken; fuzzed inputs that were not coped with are then
in fuzz-findings/.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attack import damaging, fuzzed, kills, memory, page
from benchmarks.common.markdown import with_part
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS
from spnc.common.atomic import write_text

PARTS = ("kills", "damage", "fuzz", "memory")
FINDINGS = Path("fuzz-findings")
DOCS = Path(__file__).resolve().parents[1] / "docs" / "promises.md"


@dataclass(frozen=True)
class Size:
    """How much of everything there is."""

    kills: int
    with_long: bool  # also a training of minutes that is killed every 40 seconds
    damages: int
    fuzz_seconds: float  # for each reader


FULL = Size(100, True, 100_000, 45.0)
QUICK = Size(6, False, 2_000, 2.0)  # one kill for each kind


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    folder = options.results or RESULTS
    if options.page_only:
        run = json.loads((folder / "faults.json").read_text(encoding="utf-8"))
        write_pages(run, folder)
        return 0
    run = attacked(options.only, options.quick, options.seed)
    print(page.text(run))
    partial = options.quick or set(options.only) != set(PARTS)
    if options.results or not partial:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "faults.json", json.dumps(run, indent=1, ensure_ascii=False) + "\n")
        write_pages(run, folder)
    return 1 if page.findings(run) else 0


def write_pages(run: page.Run, folder: Path) -> None:
    """Write the page; of the recorded results, also the figures in the docs."""
    write_text(folder / "faults.md", page.page(run))
    if folder.resolve() == RESULTS.resolve():
        docs = DOCS.read_text(encoding="utf-8")
        write_text(DOCS, with_part(docs, "faults", page.figures(run)))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--quick", action="store_true", help="a little of everything: a few minutes"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (0)")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(PARTS),
        help=f"some of the parts, such as `kills,damage` ({','.join(PARTS)})",
    )
    parser.add_argument("--results", type=Path, help="the folder for faults.json and faults.md")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from faults.json; attack nothing"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only if name not in PARTS]
    if unknown:
        parser.error(f"--only: {unknown[0]!r} is none of {', '.join(PARTS)}")
    return options


def attacked(parts: Sequence[str], quick: bool, seed: int) -> page.Run:
    """Carry out these parts of the attack, and return what faults.json holds."""
    steps, size = Steps(), QUICK if quick else FULL
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    run: page.Run = {"quick": quick, "seed": seed, "cores": os.cpu_count(), "load": round(load, 2)}
    if "kills" in parts:
        with tempfile.TemporaryDirectory() as name:
            run["kills"] = kills.attack(
                Path(name), size.kills, seed, steps.say, with_long=size.with_long
            )
    if "damage" in parts:
        run["damage"] = damaging.attack(size.damages, seed, steps.say)
    if "fuzz" in parts:
        run["fuzz"] = fuzzed.attack(size.fuzz_seconds, seed, FINDINGS, steps.say)
    if "memory" in parts:
        run["memory"] = memory.attack(steps.say)
    run["seconds"] = round(steps.done(), 1)
    return run


if __name__ == "__main__":
    sys.exit(main())
