"""Passes over a program in the log domain, by NumPy: values upward, flows downward.

Values and flows are `[node, row]`. Each segment of the program takes a few array operations: gather
the children, reduce them per node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.program.program import Program, Segment


@dataclass(frozen=True, eq=False)
class ByChild:
    """A segment's edges sorted by child, so that flows can be summed per child by reduceat."""

    parents: Ints  # parent of each edge, sorted by child
    children: Ints  # child of each edge
    slots: Ints  # position of each edge in the segment's own order
    starts: Ints  # where each distinct child's edges start
    targets: Ints  # the distinct children

    @staticmethod
    def of(segment: Segment) -> ByChild:
        """Return the edges of a segment, sorted."""
        order = np.argsort(segment.children, kind="stable")
        nodes = np.arange(segment.first, segment.last)
        parents = np.repeat(nodes, np.diff(segment.starts))[order]
        targets, starts = np.unique(segment.children[order], return_index=True)
        return ByChild(parents, segment.children[order], order, starts, targets)


def upward(program: Program, log_weights: Floats, values: Floats) -> Floats:
    """Fill in the log values of all inner nodes, given those of the leaves. Return `values`."""
    for segment in program.segments:
        gathered = values[segment.children]
        starts = segment.starts[:-1]
        if segment.is_sum:
            gathered += log_weights[segment.slots, None]
            result = _logsumexp(gathered, starts, np.diff(segment.starts))
        else:
            result = np.add.reduceat(gathered, starts, axis=0)
        values[segment.first : segment.last] = result
    return values


def downward(
    program: Program,
    by_child: Sequence[ByChild],
    log_weights: Floats,
    values: Floats,
    row_weights: Floats,
    edge_counts: Floats | None = None,
) -> Floats:
    """Return the flow of every node; add that of sum edges, over all rows, to `edge_counts`.

    The weight of a row enters at the root, unless the row is impossible.
    """
    flows = np.zeros_like(values)
    flows[program.root] = np.where(values[program.root] > -np.inf, row_weights, 0.0)
    pairs = zip(program.segments, by_child, strict=True)
    for segment, edges in reversed(list(pairs)):
        edge_flows = flows[edges.parents]
        if segment.is_sum:
            own = values[segment.first : segment.last]
            # An impossible node has no flow, so any finite number can replace its -inf.
            finite = np.where(own > -np.inf, own, 0.0)
            share = values[edges.children]
            share += log_weights[segment.slots][edges.slots, None]
            share -= finite[edges.parents - segment.first]
            edge_flows *= np.exp(share, out=share)
            if edge_counts is not None:
                edge_counts[segment.first_slot + edges.slots] += edge_flows.sum(axis=1)
        if len(edges.targets) < len(edges.children):  # some child is shared here
            edge_flows = np.add.reduceat(edge_flows, edges.starts, axis=0)
        flows[edges.targets] += edge_flows
    return flows


def logs(values: Floats) -> Floats:
    """Return logarithms; that of zero is minus infinity."""
    with np.errstate(divide="ignore"):
        found: Floats = np.log(values)
        return found


def _logsumexp(terms: Floats, starts: Ints, sizes: Ints) -> Floats:
    """Return log Σ exp over consecutive rows of `terms`, which is overwritten."""
    top = np.maximum.reduceat(terms, starts, axis=0)
    shift = np.where(top > -np.inf, top, 0.0)
    terms -= np.repeat(shift, sizes, axis=0)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduceat(np.exp(terms, out=terms), starts, axis=0)) + shift
