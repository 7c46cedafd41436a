"""Growth of checks, of lowering a graph to a program, and of structure learning."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from benchmarks.common.circuits import grown, made
from benchmarks.common.linking import link
from benchmarks.common.steps import Steps
from benchmarks.timing.curves import Curve, Point, apart
from spnc import checks
from spnc.common.gc_pause import gc_paused
from spnc.common.rng import random_stream
from spnc.compilation import lower_graph
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum

SIZES = (20_000, 50_000, 150_000, 1_000_000)  # the first two with --quick
# Rows and columns that ExtraSPN learns from, the smallest slice that it splits, and the number of
# components: with few columns, one component may be learned in no time.
SHAPES = ((300_000, 17, 300, 10), (2_000, 1_500, 50, 1))

_COMPONENT = 2_000  # about the number of edges of a component in `graph_seconds`


def graph_seconds(edges: int) -> tuple[int, float, float]:
    """Return the edges of a linked forest of about that size, and seconds to check and lower it."""
    with gc_paused():
        dataset = made("graph", 40, 2_000)
        forest = grown(dataset, max(2, math.ceil(edges / 1.5 / _COMPONENT)), 25, 0)
        graph = add_top_sum(link(forest, edges, random_stream(0, "links")))
    sink, count = Sink(), graph.number_of_edges()
    began = time.perf_counter()
    checks.check(graph, sink)
    checked = time.perf_counter() - began
    sink.stop()
    began = time.perf_counter()
    lower_graph(graph, keep=False)
    return count, checked, time.perf_counter() - began


def learn_seconds(
    rows: int, columns: int, min_instances: int, components: int
) -> tuple[float, int]:
    """Return the seconds to learn some ExtraSPNs, and their nodes."""
    dataset = made("learn", columns, rows)
    began = time.perf_counter()
    forest = grown(dataset, components, min_instances, 0)
    return time.perf_counter() - began, forest.builder.next_name


def graph_curves(quick: bool, steps: Steps) -> Iterator[Curve]:
    """Yield the curves of lowering by edges, and of structure learning by shape of the table."""
    points = []
    for size in SIZES[:2] if quick else SIZES:
        steps.say(f"growth of the graph side with edges: {size:,}")
        (edges, checked, lowering), peak = apart(graph_seconds, size)
        more = {"checks": f"{checked:.2f}", "passes and lowering": f"{lowering:.2f}"}
        points.append(Point(edges, checked + lowering, peak, more))
    yield Curve("Graph to Program", "edges", tuple(points))
    points = []
    for rows, columns, least, count in SHAPES:
        steps.say(f"ExtraSPN on {rows:,} rows of {columns:,} columns")
        (seconds, nodes), peak = apart(learn_seconds, rows, columns, least, count)
        more = {"columns": f"{columns:,}", "components": f"{count}", "nodes": f"{nodes:,}"}
        points.append(Point(rows, seconds, peak, more))
    yield Curve("ExtraSPN", "rows", tuple(points), grows=False)
