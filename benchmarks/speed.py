"""How fast spnc is beside its peers, and how its cost grows.

    python -m benchmarks.speed [--quick] [--no-peers] [--datasets a,b] [--json FILE]
                               [--markdown FILE]

Makes a virtual environment for each peer in the user's cache, once. Every system gets the same
circuits and the same rows; agreement is checked before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from benchmarks import growth, limit, report
from benchmarks.circuits import FALLBACK, SOURCES, circuit, data_of
from benchmarks.comparison import Task, compare
from benchmarks.curves import Curve
from benchmarks.graph_growth import graph_curves
from benchmarks.peers import environments
from benchmarks.peers.catalogue import PEERS
from benchmarks.steps import Steps
from benchmarks.workers import Contender
from spnc.common.wording import duration
from spnc.data.dataset import Dataset
from spnc.registry import BACKENDS

DATASETS = ("nltcs", "plants", "baudio")
QUICK_DATASETS = ("nltcs", "plants")
CIRCUITS = ("tree", "forest")
# With --quick, spnc is alone with circuits of more edges than this. Going from node to node in
# Python takes peers long whatever the rows: leaving out rows would be neither quick nor fair.
QUICK_EDGES = 3_000
QUICK_REPEATS = {"tree": 2, "forest": 1}
BUSY = 0.5  # processes that want to run, above which figures are not to be trusted


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    # Before anything starts threads that would spin while others are measured.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    steps = Steps()
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    found = datasets(options.datasets or (QUICK_DATASETS if options.quick else DATASETS), steps)
    contenders = systems(not options.no_peers, steps)
    steps.say("measuring the machine's limit")
    top = limit.measured()

    comparisons = []
    for name, dataset in found.items():
        for task in tasks(name, dataset, options.quick, steps):
            spared = options.quick and task.flat.edges > QUICK_EDGES
            taking_part = contenders[:1] if spared else contenders
            repeats = QUICK_REPEATS[task.circuit] if options.quick else options.repeats
            comparisons.append(compare(task, taking_part, repeats, options.patience, steps))
    top = max(top, limit.measured(), key=lambda found: found.per_second)  # now as at the start
    curves = [] if options.no_growth else growth_of(found, options.quick, steps)
    seconds = steps.done()

    print(report.text(comparisons, top))
    if busy > BUSY:
        print(f"The machine was busy with other things: {busy:.1f} processes before this began.")
    for curve in curves:
        print("\n" + (curve if isinstance(curve, str) else curve.text()))
    print(f"\n{duration(seconds)} in all, on {os.cpu_count()} cores")
    if options.json is not None:
        text = json.dumps(report.records(comparisons), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    if options.markdown is not None:
        options.markdown.write_text(report.markdown(comparisons, top), encoding="utf-8")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="less of everything: two minutes")
    parser.add_argument("--no-peers", action="store_true", help="spnc alone; nothing is installed")
    parser.add_argument("--no-growth", action="store_true", help="the comparison only")
    parser.add_argument(
        "--datasets",
        type=lambda text: tuple(text.split(",")),
        help=f"of {', '.join(SOURCES)} (default: {', '.join(DATASETS)})",
    )
    parser.add_argument("--repeats", type=int, default=5, help="how often all is measured (5)")
    parser.add_argument(
        "--patience",
        type=float,
        default=300.0,
        help="seconds after which a system that has not answered is given up (300)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.datasets or () if name not in SOURCES]
    if unknown:
        parser.error(f"no circuits are defined for {', '.join(unknown)}")
    return options


def datasets(names: Sequence[str], steps: Steps) -> dict[str, Dataset]:
    """The datasets that are to be had; the embedded one if none is."""
    found = {}
    for name in names:
        steps.say(f"reading {name}")
        dataset = data_of(name)
        if dataset is None:
            print(f"{name} is neither here nor to be downloaded: left out")
        else:
            found[name] = dataset
    if not found:
        print(f"none of the datasets is here, so {FALLBACK} stands in, which comes with spnc")
        embedded = data_of(FALLBACK)
        assert embedded is not None
        found[FALLBACK] = embedded
    return found


def systems(with_peers: bool, steps: Steps) -> list[Contender]:
    """spnc first, by the backend that it takes by itself; its reference; the peers."""
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
            print(f"{peer.key} is left out, its environment cannot be made: {error}")
    return contenders


def tasks(name: str, dataset: Dataset, quick: bool, steps: Steps) -> list[Task]:
    """The circuits of a dataset, with all its training rows."""
    made: list[Task] = []
    for kind in CIRCUITS:
        if quick and made and made[0].flat.edges > QUICK_EDGES:
            continue  # the forest of the smallest dataset has to do
        steps.say(f"making the {kind} of {name}")
        flat = circuit(dataset, kind, SOURCES[name])
        made.append(Task(name, kind, flat, dataset.train.values))
    return made


def growth_of(found: dict[str, Dataset], quick: bool, steps: Steps) -> list[Curve | str]:
    """All curves, on the dataset with the most columns of the first two."""
    name = max(list(found)[:2], key=lambda n: len(found[n].columns))
    dataset, source = found[name], SOURCES[name]
    if quick:  # smaller circuits
        source = replace(source, min_instances=4 * source.min_instances)
    curves: list[Curve | str] = list(growth.em_curves(dataset, source, quick, steps))
    curves.append(growth.thread_curve(dataset, source, quick, steps))
    return [*curves, *graph_curves(quick, steps)]


if __name__ == "__main__":
    main()
