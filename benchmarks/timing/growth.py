"""Growth of an EM iteration of spnc with rows, edges and columns, and its speed-up by threads."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from benchmarks.common.circuits import Source, linked, lowered, made
from benchmarks.common.steps import Steps
from benchmarks.timing.curves import Curve, Point, apart
from benchmarks.timing.speed_page import number
from benchmarks.timing.spnc_worker import backend_named
from spnc.common.rng import random_stream
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.leaves.smoothing import Smoothing
from spnc.registry import BACKENDS
from spnc.training.m_step import m_step


class Case:
    """A forest and rows, opened on a backend."""

    def __init__(self, dataset: Dataset, source: Source, backend: str) -> None:
        graph = linked(dataset, source.min_instances, source.seed, source.components)
        self.program, self.parameters = lowered(graph)
        self.engine = backend_named(backend).resolved().open(self.program)
        order = random_stream(0, "rows").permutation(dataset.train.rows)
        self.values = dataset.train.values[order]

    def em_point(self, rows: int, fill: float) -> tuple[float, int]:
        """Return the seconds of an EM iteration on the first `rows` rows, and the distinct rows.

        It is the best time within `fill` seconds, since an exponent should describe the program and
        not what else the machine did.
        """
        table = Table(self.values[:rows]).distinct()
        batch = self.engine.load(table)
        self._em(batch)  # may compile
        best, ends = np.inf, time.perf_counter() + fill
        while best == np.inf or time.perf_counter() < ends:
            began = time.perf_counter()
            self._em(batch)
            best = min(best, time.perf_counter() - began)
        return best, table.rows

    def _em(self, batch: Any) -> None:
        counts = self.engine.expected_counts(self.parameters, batch)
        m_step(self.program, self.parameters, counts, Smoothing.of(0.0))


def by_rows(dataset: Dataset, source: Source, sizes: Sequence[int], fill: float) -> Curve:
    """Measure one forest on more and more rows."""
    case = Case(dataset, replace(source, components=2), "auto")
    points = []
    for size in sizes:
        seconds, distinct = case.em_point(size, fill)
        points.append(_point(size, seconds, size, case, {"distinct": f"{distinct:,}"}))
    return Curve("EM iteration", "rows", tuple(points))


def by_edges(
    dataset: Dataset, source: Source, sizes: Sequence[int], rows: int, fill: float
) -> Curve:
    """Measure forests of more and more components on the same rows."""
    points = []
    for size in sizes:
        case = Case(dataset, replace(source, components=size), "auto")
        seconds, _ = case.em_point(rows, fill)
        more = {"rows": f"{rows:,}", "components": f"{size:,}"}
        points.append(_point(case.program.edges, seconds, rows, case, more))
    return Curve("EM iteration", "edges", tuple(points))


def by_columns(sizes: Sequence[int], rows: int, fill: float) -> Curve:
    """Measure forests learned from synthetic rows of more and more columns."""
    points = []
    for size in sizes:
        case = Case(made("made", size, rows), Source(rows // 10, 0, 2), "auto")
        seconds, _ = case.em_point(rows, fill)
        points.append(_point(size, seconds, rows, case, {"rows": f"{rows:,}"}))
    return Curve("EM iteration", "columns", tuple(points))


def _point(size: int, seconds: float, rows: int, case: Case, more: dict[str, str]) -> Point:
    edges = case.program.edges
    rate = {"M row-edges/s": number(rows * edges / seconds / 1e6)}
    sizes = {} if size == edges else {"edges": f"{edges:,}"}
    return Point(size, seconds, None, {**sizes, **more, **rate})


def em_curves(dataset: Dataset, source: Source, quick: bool, steps: Steps) -> Iterator[Curve]:
    """Yield the curves by rows, edges and columns, each measured in a new process."""
    fill = 0.2 if quick else 1.0
    rows = min(dataset.train.rows, 4_000 if quick else 20_000)
    steps.say("growth of EM with rows")
    yield apart(by_rows, dataset, source, [rows // s for s in (8, 4, 2, 1)], fill)[0]
    steps.say("growth of EM with edges")
    components = (2, 4, 8) if quick else (2, 4, 8, 16, 32)
    yield apart(by_edges, dataset, source, components, min(rows, 2_000), fill)[0]
    steps.say("growth of EM with columns")
    columns = (16, 64, 256) if quick else (16, 64, 256, 1024)
    yield apart(by_columns, columns, 1_000 if quick else 2_000, fill)[0]


def threaded(
    dataset: Dataset, source: Source, rows: int, backend: str, fill: float
) -> tuple[float, int]:
    """Return the seconds of an EM iteration, and the edges."""
    case = Case(dataset, source, backend)
    return case.em_point(rows, fill)[0], case.program.edges


def thread_curve(dataset: Dataset, source: Source, quick: bool, steps: Steps) -> Curve | str:
    """Return the curve by threads, or a sentence if the backend has no threads."""
    backend = BACKENDS["auto"]().resolved()
    name = backend.plugin_name
    if "threads" not in {field.name for field in fields(backend)}:
        return f"EM iteration by threads: the {name} backend has no such option"
    rows = min(dataset.train.rows, 4_000 if quick else 20_000)
    points: list[Point] = []
    for threads in range(1, (os.cpu_count() or 1) + 1):
        steps.say(f"EM with threads: {threads}")
        chosen = f"{name}:threads={threads}"
        (seconds, edges), peak = apart(threaded, dataset, source, rows, chosen, 0.5)
        gain = points[0].seconds / seconds if points else 1.0
        more = {"M row-edges/s": number(rows * edges / seconds / 1e6), "speed-up": f"{gain:.2f}"}
        points.append(Point(threads, seconds, peak, more))
    return Curve("EM iteration by threads", "threads", tuple(points), grows=False)
