"""Checks: is a graph a valid circuit? Every violation is reported, in one run.

A check is one file with a function `check(view)`. They are listed here in the order in which a
reader would want to hear of their findings; none depends on another having passed.
"""

from __future__ import annotations

from collections.abc import Callable

from spnc.checks import (
    acyclic,
    complete,
    covering,
    decomposable,
    kinds,
    leaves,
    rooted,
    ties,
    weights,
)
from spnc.checks.proof import STANDS_FOR, is_plainly_valid
from spnc.checks.view import View
from spnc.common.gc_pause import gc_paused
from spnc.diagnostics import Sink
from spnc.graph.nodes import Graph

ALL: tuple[Callable[[View], None], ...] = (
    kinds.check,
    acyclic.check,
    rooted.check,
    leaves.check,
    complete.check,
    decomposable.check,
    weights.check,
    ties.check,
    covering.check,
)


@gc_paused()
def check(graph: Graph, sink: Sink) -> None:
    """Report everything that keeps the graph from being a valid circuit."""
    if len(graph) == 0:
        place = graph.graph.get("place")
        span = place() if place is not None else None
        sink.error("E217", "the circuit has no nodes", span, help="define at least one leaf")
        return
    proved = STANDS_FOR if is_plainly_valid(graph) else ()
    asked = [one for one in ALL if one not in proved]
    if asked:
        view = View(graph, sink)
        for one in asked:
            one(view)
