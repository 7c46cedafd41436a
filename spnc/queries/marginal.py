"""Marginalising: a circuit over some of the columns, with all others summed out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from spnc.common.gc_pause import gc_paused
from spnc.graph.nodes import Builder, Graph
from spnc.program.program import Parameters, Program


@gc_paused()
def marginalised(program: Program, parameters: Parameters, kept: Sequence[int]) -> Graph:
    """Return the circuit over these columns, in this order; at least one.

    A node without any of them is left out, and a node with one child left is that child.
    """
    builder = Builder([program.columns[column] for column in kept])
    new = {column: place for place, column in enumerate(kept)}
    made: dict[int, int] = {}
    reached = _reached(program)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        for n, (column, row) in enumerate(zip(leaf.variables.tolist(), table, strict=True)):
            if column in new and reached[leaf.first + n]:
                made[leaf.first + n] = builder.leaf(new[column], leaf.kind.from_row(row))
    for segment in program.segments:
        children, starts = segment.children.tolist(), segment.starts.tolist()
        weights = parameters.weights[segment.slots].tolist() if segment.is_sum else []
        for n, (a, b) in enumerate(pairwise(starts), segment.first):
            own = [made[child] for child in children[a:b] if child in made]
            if not own or not reached[n]:
                continue
            if not segment.is_sum:
                made[n] = own[0] if len(own) == 1 else builder.product(own)
                continue
            shares: dict[int, float] = {}
            for child, weight in zip(own, weights[a:b], strict=True):
                shares[child] = shares.get(child, 0.0) + weight
            several = len(shares) > 1
            found = list(shares)
            made[n] = builder.sum(found, list(shares.values())) if several else found[0]
    builder.graph.graph["root"] = made[program.root]
    return builder.graph


def _reached(program: Program) -> list[bool]:
    """Return which nodes are below the root, or the root itself."""
    found = [False] * program.nodes
    found[program.root] = True
    for segment in reversed(program.segments):
        children, starts = segment.children.tolist(), segment.starts.tolist()
        for n, (a, b) in enumerate(pairwise(starts), segment.first):
            if found[n]:
                for child in children[a:b]:
                    found[child] = True
    return found
