"""Questions of `benchmarks.asking`, put to every system in turn."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.flat_circuit import Flat
from benchmarks.common.steps import Steps
from benchmarks.peers.speed_protocol import Rows
from benchmarks.timing.workers import Contender, GoneError, Worker

FILL = 0.3  # seconds for which fast systems repeat a question, so that a clock can time it
TOLERANCE = 1e-5  # of mean log-likelihoods, relatively: some peers compute in 32 bits
DRAWN_TOLERANCE = 0.02  # of the mean of drawn cells, absolutely


@dataclass(frozen=True)
class Question:
    """A question, the circuit it is about, and the rows that spnc and its peers get."""

    title: str
    work: str  # the command of the protocol
    flat: Flat
    rows: Rows
    peers_rows: Rows
    count: int = 0  # rows to draw, for spnc
    peers_count: int = 0
    peers_work: str = ""  # another command for peers
    least_rate: float | None = None  # row-edges per second that are wanted
    most_seconds: float | None = None


def answers(
    question: Question,
    contenders: Sequence[Contender],
    repeats: int,
    patience: float,
    steps: Steps,
) -> dict[str, Any]:
    """Return what all systems needed for a question; they take turns."""
    drawn = question.work in ("sample", "complete")
    edges = question.flat.edges
    seats = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        question.flat.save(folder / "circuit.npz")
        np.save(folder / "own.npy", question.rows)
        np.save(folder / "peers.npy", question.peers_rows)
        try:
            for contender in contenders:
                steps.say(f"{question.title}: {contender.title} builds the circuit")
                seats.append(_Seat(question, contender, folder, patience))
            for repeat in range(repeats):
                for seat in seats:
                    steps.say(f"{question.title}: {seat.title}, {repeat + 1} of {repeats}")
                    seat.ask()
        finally:
            for seat in seats:
                seat.worker.stop()
    own = seats[0]
    for seat in seats[1:]:
        seat.compare(own)
    return {
        "title": question.title,
        "edges": edges,
        "unit": "M rows" if drawn else "M row-edges",
        "scale": 1e6,
        "least_rate": question.least_rate,
        "most_seconds": question.most_seconds,
        "records": [seat.record for seat in seats],
    }


class _Seat:
    """A system that is asked a question: its process, and its record."""

    def __init__(
        self, question: Question, contender: Contender, folder: Path, patience: float
    ) -> None:
        self.question, self.patience, self.title = question, patience, contender.title
        peer = contender.is_peer
        self.work = (question.peers_work or question.work) if peer else question.work
        rows = question.peers_rows if peer else question.rows
        self.count = question.peers_count if peer else question.count
        size = self.count if self.work == "sample" else len(rows)
        edges = question.flat.edges
        drawn = question.work in ("sample", "complete")
        columns = rows.shape[1]
        pairs = columns * (columns + 1) // 2  # one query for each, whoever computes them
        units = size if drawn else (pairs if question.work == "pairs" else size) * edges
        told = f"{size:,} rows, {edges:,} edges"
        if question.work == "pairs":
            told = f"{columns} columns, {edges:,} edges"
        self.record: dict[str, Any] = {
            "system": contender.name,
            "version": contender.version,
            "size": told.replace("1 rows", "1 row") if size == 1 else told,
            "units": units,
            "seconds": [],
        }
        self.mean: float | None = None
        self.worker = Worker(contender)
        files = {"circuit": "circuit.npz", "rows": "peers.npy" if peer else "own.npy"}
        paths = {key: str(folder / name) for key, name in files.items()}
        built = self._reply(do="build", **paths)
        if built is not None and "deviation" in built:
            self.record["deviation"] = built["deviation"]

    def ask(self) -> None:
        """Ask once more, unless the system has failed."""
        found = self._reply(do=self.work, fill=FILL, count=self.count)
        if found is not None:
            self.record["seconds"].append(found["seconds"])
            self.mean = found["mean"]

    def compare(self, own: _Seat) -> None:
        """Note if the mean of the answers differs from spnc's, where both answer the same."""
        if self.mean is None or own.mean is None or self.work != own.work:
            return
        drawn = self.work in ("sample", "complete")
        near = {"abs_tol": DRAWN_TOLERANCE} if drawn else {"rel_tol": TOLERANCE}
        if not math.isclose(self.mean, own.mean, **near):
            self.record["differs"] = f"the mean is {self.mean:.6f}, not {own.mean:.6f}"

    def _reply(self, **command: Any) -> dict[str, Any] | None:
        """Return the reply; None after noting why there is none."""
        if "unable" in self.record:
            return None
        try:
            found = self.worker.ask(self.patience, **command)
        except GoneError as gone:
            found = {"error": str(gone)}
        if "error" in found:
            self.record["unable"] = found["error"]
            return None
        return found
