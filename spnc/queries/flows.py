"""Flows through all edges and nodes, from the expected counts of sum edges."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.program.program import Program
from spnc.program.score import Counts


def edge_flows(program: Program, counts: Counts) -> tuple[Ints, Ints, Floats]:
    """Return parent, child and flow of every edge. A product passes its flow to every child."""
    node = np.zeros(program.nodes)
    node[program.root] = counts.score.possible
    nothing = np.zeros(0, dtype=np.int64)
    found: list[tuple[Ints, Ints, Floats]] = [(nothing, nothing, np.zeros(0))]
    for segment in reversed(program.segments):
        parents = np.repeat(np.arange(segment.first, segment.last), np.diff(segment.starts))
        flow = counts.weights[segment.slots] if segment.is_sum else node[parents]
        node += np.bincount(segment.children, weights=flow, minlength=program.nodes)
        found.append((parents, segment.children, flow))
    parents, children, flows = (np.concatenate(part) for part in zip(*found, strict=True))
    return parents, children, flows


def node_flows(program: Program, counts: Counts) -> Floats:
    """Return the flow through every node, summed over rows."""
    _, children, flows = edge_flows(program, counts)
    found = np.bincount(children, weights=flows, minlength=program.nodes).astype(np.float64)
    found[program.root] = counts.score.possible
    return found
