"""Measure how fast a model answers, beside the peers that can answer the same.

    python -m benchmarks.asking [--quick] [--no-peers] [--repeats N] [--results FOLDER]
                                [--page-only]
    python -m benchmarks.asking --quality [--tables a,b] [--recipes x,y] [--no-peers]

With --quality, it measures how good filled cells and predictions are instead: see
`benchmarks.asking_quality`.

The questions: log-likelihoods of a thousand new rows, and of one row of a large circuit; rows drawn
from a model, and the missing cells of given rows; the mutual information of all pairs of columns;
and the time from starting Python to the first answer of a saved model. A full run writes
benchmarks/results/asking.json and asking.md. With --quick or --no-peers it only prints the tables,
unless --results names a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks import asking_quality
from benchmarks.common.circuits import FALLBACK, SOURCES, Source, circuit, data_of, lowered
from benchmarks.common.flat_circuit import columns_of, graph_of
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS, ROOT
from benchmarks.peers import environments
from benchmarks.peers.catalogue import ASKED_PEERS
from benchmarks.peers.speed_protocol import Rows
from benchmarks.timing import asking_page
from benchmarks.timing.questions import Question, answers
from benchmarks.timing.workers import Contender
from spnc.common.atomic import write_text
from spnc.model import Model

DRAWN, PEERS_DRAWN, QUICK_DRAWN = 1_000_000, 5_000, 20_000
LARGE = Source(min_instances=110, seed=3, components=6)  # some 50,000 edges on baudio, with links
ASKING = {
    "spflow-0.0.48": "spflow_legacy_asking_worker.py",
    "spflow-1.1.0": "spflow_asking_worker.py",
    "deeprob-kit-1.1.0": "deeprob_asking_worker.py",
    "cirkit-0.2.1": "cirkit_asking_worker.py",
}
START = "import numpy, spnc, time; m = spnc.load({path!r}); x = numpy.zeros((1, {width})); "
START += "m.log_likelihood(x); print(time.time())"


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--quality" in given:
        asking_quality.main([argument for argument in given if argument != "--quality"])
        return
    options = parsed(given)
    folder = options.results or (None if options.quick or options.no_peers else RESULTS)
    if options.page_only:
        folder = options.results or RESULTS
        run = json.loads((folder / "asking.json").read_text(encoding="utf-8"))
        write_text(folder / "asking.md", asking_page.page(run))
        return
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    run = measured(options)
    print(asking_page.text(run))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "asking.json", json.dumps(run, indent=1) + "\n")
        write_text(folder / "asking.md", asking_page.page(run))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.asking", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="draw fewer rows: a minute")
    parser.add_argument("--no-peers", action="store_true", help="spnc only; nothing is installed")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of every question (3)")
    parser.add_argument(
        "--patience",
        type=float,
        default=300.0,
        help="seconds after which a system that has not replied is given up (300)",
    )
    parser.add_argument("--results", type=Path, help="the folder for asking.json and asking.md")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from asking.json; measure nothing"
    )
    parser.add_argument(
        "--quality", action="store_true", help="measure how good answers are, not how fast"
    )
    return parser.parse_args(arguments)


def measured(options: argparse.Namespace) -> asking_page.Run:
    """Measure everything, and return what asking.json holds."""
    steps = Steps()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    contenders = systems(not options.no_peers, steps)
    asked = questions(options.quick, steps)
    found = [answers(q, contenders, options.repeats, options.patience, steps) for q in asked]
    steps.say("starting Python")
    start = start_seconds(asked[0], options.repeats)
    return {
        "version": version("spnc-forest"),
        "cores": os.cpu_count(),
        "load": load,
        "repeats": options.repeats,
        "seconds": round(steps.done(), 1),
        "questions": found,
        "start": start,
    }


def systems(with_peers: bool, steps: Steps) -> list[Contender]:
    """Return spnc, then its peers."""
    command = (sys.executable, "-m", "benchmarks.timing.spnc_asking_worker")
    found = [Contender("spnc", version("spnc-forest"), command)]
    for peer in ASKED_PEERS if with_peers else ():
        if not environments.is_ready(peer.key):
            steps.say(f"making an environment for {peer.key}: some minutes, once")
        asking = replace(peer, worker=peer.worker.with_name(ASKING[peer.key]))
        try:
            found.append(Contender.of_peer(asking))
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{peer.key} is left out: its environment cannot be made: {error}")
    return found


def questions(quick: bool, steps: Steps) -> list[Question]:
    """Return the questions; about the embedded dataset where others are not available."""
    steps.say("making the circuits")
    name = "baudio"
    dataset = data_of(name)
    if dataset is None:
        name, dataset = FALLBACK, data_of(FALLBACK)
    digits = data_of(FALLBACK)
    assert dataset is not None
    assert digits is not None
    flat = circuit(dataset, "tree", SOURCES[name])
    large = circuit(dataset, "forest", LARGE)
    small = circuit(digits, "tree", Source(20, 0, 2))
    test = dataset.distinct_in_memory["test" if "test" in dataset.splits else "train"].values
    new = test[np.random.default_rng(0).permutation(len(test))[:1_000]]
    drawn = QUICK_DRAWN if quick else DRAWN
    images = digits.train.values
    evidence = images[np.arange(drawn) % len(images)].copy()
    evidence[np.random.default_rng(1).random(evidence.shape) < 0.5] = np.nan
    few = evidence[:PEERS_DRAWN]
    return [
        Question("new rows", "call", flat, new, new, least_rate=2e9),
        Question("one row", "call", large, new[:1], new[:1], most_seconds=0.0005),
        Question("sample", "sample", small, images[:200], images[:200], drawn, PEERS_DRAWN,
                 most_seconds=5.0),
        Question("complete", "complete", small, evidence, few, most_seconds=15.0),
        Question("pairs", "pairs", flat, new, pair_rows(new.shape[1]), peers_work="call",
                 most_seconds=1.0),
    ]  # fmt: skip


def pair_rows(columns: int) -> Rows:
    """Return a query for every two columns, and for each alone: that both have the state 1."""
    first, second = np.triu_indices(columns)
    rows = np.full((len(first), columns), np.nan)
    at = np.arange(len(first))
    rows[at, first] = rows[at, second] = 1.0
    return rows


def start_seconds(question: Question, repeats: int) -> list[float]:
    """Return the seconds from starting Python to the first answer of a saved model."""
    flat, rows = question.flat, question.rows
    program, parameters = lowered(graph_of(flat, columns_of(flat, rows)))
    found = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.spnc"
        Model("start", program, parameters).save(path)
        script = START.format(path=str(path), width=rows.shape[1])
        for _ in range(repeats + 1):
            began = time.time()
            done = subprocess.run(
                [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT
            )
            found.append(float(done.stdout) - began)
    return found[1:]  # the first one compiles, if nothing has been compiled on this machine


if __name__ == "__main__":
    main()
