"""How an EM iteration of spnc grows with rows, edges and columns, and what threads bring."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from benchmarks.circuits import Source, linked, lowered, made
from benchmarks.curves import Curve, Point, apart
from benchmarks.report import number
from benchmarks.spnc_worker import backend_named
from benchmarks.steps import Steps
from spnc.common.rng import random_stream
from spnc.data.dataset import Dataset, Table
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
        """Seconds per EM iteration on so many rows, and how many of these are distinct.

        The best of what fits into `fill` seconds: an exponent is about the program, not about what
        else the machine did.
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
    """One forest, more and more rows."""
    case = Case(dataset, replace(source, components=2), "auto")
    points = []
    for size in sizes:
        seconds, distinct = case.em_point(size, fill)
        points.append(_point(size, seconds, size, case, {"distinct": f"{distinct:,}"}))
    return Curve("EM iteration", "rows", tuple(points))


def by_edges(
    dataset: Dataset, source: Source, sizes: Sequence[int], rows: int, fill: float
) -> Curve:
    """The same rows, forests of more and more components."""
    points = []
    for size in sizes:
        case = Case(dataset, replace(source, components=size), "auto")
        seconds, _ = case.em_point(rows, fill)
        more = {"rows": f"{rows:,}", "components": f"{size:,}"}
        points.append(_point(case.program.edges, seconds, rows, case, more))
    return Curve("EM iteration", "edges", tuple(points))


def by_columns(sizes: Sequence[int], rows: int, fill: float) -> Curve:
    """Made-up rows of more and more columns, and forests learned from them."""
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
    """Rows, edges, columns; each curve in a process of its own, so that nothing is left over."""
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
    """Seconds per EM iteration, and edges."""
    case = Case(dataset, source, backend)
    return case.em_point(rows, fill)[0], case.program.edges


def thread_curve(dataset: Dataset, source: Source, quick: bool, steps: Steps) -> Curve | str:
    """What threads bring, or a word on why that cannot be said."""
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
