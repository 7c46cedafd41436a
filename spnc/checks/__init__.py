"""Checks: is a graph a valid circuit? Every violation is reported, in one run.

A check is one file with a function `check(view)`. `ALL` lists the checks in the order in which
their findings are reported; none depends on another having passed.

Validity is examined in three places, for three purposes:

- The checks in this folder report each violation in a graph, with the names of nodes and columns
  and the line or learner that made the node. They may take their time.
- `proof.py` establishes quickly that a graph has no violation, so that the checks can be skipped.
  It says nothing about a graph that it cannot prove valid. The checks and the proof share the rules
  in `rules.py`.
- `program_problems` (`spnc.program.validity`) examines the flat arrays of a model file, which may
  be damaged or tampered with. There, positions in arrays have to be valid before scopes make sense,
  and there are no names to report.
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
from spnc.checks.proof import PROVED_CHECKS, is_plainly_valid
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
    proved = PROVED_CHECKS if is_plainly_valid(graph) else ()
    remaining = [each for each in ALL if each not in proved]
    if remaining:
        view = View(graph, sink)
        for each in remaining:
            each(view)
