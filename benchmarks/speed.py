"""Measure how fast spnc is beside its peers, and how its cost grows.

    python -m benchmarks.speed [--quick] [--no-peers] [--no-growth] [--datasets a,b] [--repeats N]
                               [--results FOLDER] [--page-only]

Makes a virtual environment for each peer in the user's cache, once. Every system gets the same
circuits and the same rows; agreement is checked before anything is timed. The circuits are over
binary datasets and over one of real and categorical columns, `mixed`. A full run writes
benchmarks/results/speed.json and speed.md, and the tables of docs/benchmarks.md. A run with
--quick, --no-peers, --no-growth or --datasets only prints them, unless --results names a folder.
Exits with 1 if spnc itself fails at some work, or disagrees with itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from benchmarks.common.circuits import FALLBACK, SOURCES, circuit, data_of
from benchmarks.common.markdown import with_part
from benchmarks.common.mixed_table import mixed_circuit, mixed_dataset
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS, ROOT
from benchmarks.peers import environments
from benchmarks.peers.catalogue import PEERS
from benchmarks.timing import growth, speed_page
from benchmarks.timing.comparison import Task, compare
from benchmarks.timing.curves import Curve
from benchmarks.timing.graph_growth import graph_curves
from benchmarks.timing.workers import Contender
from spnc.common.atomic import write_text
from spnc.data.dataset import Dataset
from spnc.registry import BACKENDS

MIXED = "mixed"  # ten real and ten categorical columns
DATASETS = ("nltcs", "plants", "baudio", MIXED)
QUICK_DATASETS = ("nltcs", "plants", MIXED)
MIXED_ROWS, QUICK_MIXED_ROWS = 100_000, 5_000
# The leaves of the mixed tree share these rows: with fewer, one EM iteration would leave some with
# hardly any row and a standard deviation of almost zero, where no two systems round alike.
MIXED_CHECKED_ROWS = 20_000
CIRCUITS = ("tree", "forest")
# With --quick, peers skip circuits with more edges than this. They go from node to node in Python,
# which takes long however few the rows are: leaving out rows would be neither quick nor fair.
QUICK_EDGES = 3_000
QUICK_REPEATS = {"tree": 2, "forest": 1}
BUSY = 0.5  # load before the run, above which a warning is printed
DOCS = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if spnc could not do some work, or computed something else."""
    options = parsed(arguments)
    if options.page_only:
        folder = options.results or RESULTS
        write_pages(json.loads((folder / "speed.json").read_text(encoding="utf-8")), folder)
        return 0
    # Before anything starts threads that would spin while other systems are measured.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    run = measured(options)
    print(speed_page.text(run))
    if run["load"] > BUSY:
        print(f"The machine was busy: its load was {run['load']:.1f} before this run.")
    partial = options.quick or options.no_peers or options.no_growth or options.datasets
    folder = options.results or (None if partial else RESULTS)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "speed.json", json.dumps(run, indent=1) + "\n")
        write_pages(run, folder)
    own = [record for record in run["records"] if not record["is_peer"]]
    return 1 if any(record["unable"] or record["differs"] for record in own) else 0


def measured(options: argparse.Namespace) -> speed_page.Run:
    """Measure everything, and return what speed.json holds."""
    steps = Steps()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    names = options.datasets or (QUICK_DATASETS if options.quick else DATASETS)
    binary = [name for name in names if name != MIXED]
    found = datasets(binary, steps) if binary else {}
    contenders = systems(not options.no_peers, steps)
    records: list[speed_page.Record] = []

    def measure(task: Task, taking_part: Sequence[Contender]) -> None:
        repeats = QUICK_REPEATS[task.circuit] if options.quick else options.repeats
        results = compare(task, taking_part, repeats, options.patience, steps)
        records.extend(result.record() for result in results)

    for name, dataset in found.items():
        for task in tasks(name, dataset, options.quick, steps):
            spared = options.quick and task.flat.edges > QUICK_EDGES
            measure(task, contenders[:1] if spared else contenders)
    if MIXED in names:
        own = [contender for contender in contenders if not contender.is_peer]
        measure(mixed_task(options.quick, steps), own if options.quick else contenders)
    curves = growth_of(found, options.quick, steps) if found and not options.no_growth else []
    return {
        "cores": os.cpu_count(),
        "load": load,
        "repeats": max(QUICK_REPEATS.values()) if options.quick else options.repeats,
        "seconds": round(steps.done(), 1),
        "records": records,
        "growth": [curve if isinstance(curve, str) else curve.text() for curve in curves],
    }


def write_pages(run: speed_page.Run, folder: Path) -> None:
    """Write speed.md and, for the results folder of the repository, the tables in the docs."""
    write_text(folder / "speed.md", speed_page.page(run))
    if folder == RESULTS:
        docs = DOCS.read_text(encoding="utf-8")
        write_text(DOCS, with_part(docs, "speed", speed_page.body(run)))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="less of everything: two minutes")
    parser.add_argument("--no-peers", action="store_true", help="spnc only; nothing is installed")
    parser.add_argument("--no-growth", action="store_true", help="the comparison only")
    parser.add_argument(
        "--datasets",
        type=lambda text: tuple(text.split(",")),
        help=f"of {', '.join((*SOURCES, MIXED))} (default: {', '.join(DATASETS)})",
    )
    parser.add_argument("--repeats", type=int, default=3, help="repeats of every measurement (3)")
    parser.add_argument(
        "--patience",
        type=float,
        default=300.0,
        help="seconds after which a system that has not replied is given up (300)",
    )
    parser.add_argument("--results", type=Path, help="the folder for speed.json and speed.md")
    parser.add_argument(
        "--page-only", action="store_true", help="write the pages from speed.json; measure nothing"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.datasets or () if name not in (*SOURCES, MIXED)]
    if unknown:
        parser.error(f"no circuits are defined for {', '.join(unknown)}")
    return options


def datasets(names: Sequence[str], steps: Steps) -> dict[str, Dataset]:
    """Return the datasets that are available; the embedded one if none is."""
    found = {}
    for name in names:
        steps.say(f"reading {name}")
        dataset = data_of(name)
        if dataset is None:
            print(f"{name} is left out: it is not on this machine and cannot be downloaded")
        else:
            found[name] = dataset
    if not found:
        print(f"none of the datasets is available; {FALLBACK}, which comes with spnc, is used")
        embedded = data_of(FALLBACK)
        assert embedded is not None
        found[FALLBACK] = embedded
    return found


def systems(with_peers: bool, steps: Steps) -> list[Contender]:
    """Return spnc on the backend that it chooses, then on NumPy, then the peers."""
    own = version("spnc-forest")
    contenders = [Contender.of_backend("spnc", "auto", own)]
    if BACKENDS["auto"]().resolved().plugin_name != "numpy":
        contenders.append(Contender.of_backend("spnc-numpy", "numpy", own))
    for peer in PEERS if with_peers else ():
        if not environments.is_ready(peer.key):
            steps.say(f"making an environment for {peer.key}: some minutes, once")
        try:
            contenders.append(Contender.of_peer(peer))
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{peer.key} is left out: its environment cannot be made: {error}")
    return contenders


def tasks(name: str, dataset: Dataset, quick: bool, steps: Steps) -> list[Task]:
    """Return the circuits of a dataset, with all its training rows."""
    made: list[Task] = []
    for kind in CIRCUITS:
        if quick and made and made[0].flat.edges > QUICK_EDGES:
            continue  # with --quick, only the smallest dataset has a forest
        steps.say(f"making the {kind} of {name}")
        flat = circuit(dataset, kind, SOURCES[name])
        made.append(Task(name, kind, flat, dataset.train.values))
    return made


def mixed_task(quick: bool, steps: Steps) -> Task:
    """Return a tree over real and categorical columns, with rows that are all distinct."""
    steps.say("making the mixed table and its tree")
    dataset = mixed_dataset(QUICK_MIXED_ROWS if quick else MIXED_ROWS)
    flat = mixed_circuit(dataset)
    return Task(MIXED, "tree", flat, dataset.train.values, MIXED_CHECKED_ROWS)


def growth_of(found: dict[str, Dataset], quick: bool, steps: Steps) -> list[Curve | str]:
    """Return all growth curves, on the wider of the first two datasets."""
    name = max(list(found)[:2], key=lambda n: len(found[n].columns))
    dataset, source = found[name], SOURCES[name]
    if quick:  # smaller circuits
        source = replace(source, min_instances=4 * source.min_instances)
    curves: list[Curve | str] = list(growth.em_curves(dataset, source, quick, steps))
    curves.append(growth.thread_curve(dataset, source, quick, steps))
    return [*curves, *graph_curves(quick, steps)]


if __name__ == "__main__":
    sys.exit(main())
