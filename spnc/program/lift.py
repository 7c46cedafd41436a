"""Lifting, the inverse of lowering: a `Program` and its `Parameters` become a `Graph` again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spnc.common.gc_pause import gc_paused
from spnc.graph.nodes import Builder, Graph, Leaf, Node, Product, Sum
from spnc.program.program import Parameters, Program


@gc_paused()
def lift(program: Program, parameters: Parameters) -> Graph:
    """Return a graph with one node per node of the program, under the same numbers."""
    builder = Builder(program.columns)
    builder.extend(_nodes(program, parameters), _edges(program, parameters))
    builder.graph.graph["root"] = program.root
    return builder.graph


def _nodes(program: Program, parameters: Parameters) -> Iterator[Node]:
    for table, rows in zip(program.leaves, parameters.tables, strict=True):
        kind = table.kind
        for variable, row in zip(table.variables.tolist(), rows, strict=True):
            yield Leaf(variable, kind.from_row(row))
    for segment in program.segments:
        yield from [Sum() if segment.is_sum else Product()] * (segment.last - segment.first)


def _edges(program: Program, parameters: Parameters) -> Iterator[tuple[int, int, float | None]]:
    for segment in program.segments:
        children, starts = segment.children.tolist(), segment.starts.tolist()
        weights: list[float | None] = [None] * len(children)
        if segment.is_sum:
            weights = parameters.weights[segment.slots].tolist()
        for n, (start, stop) in enumerate(pairwise(starts), segment.first):
            for child, weight in zip(children[start:stop], weights[start:stop], strict=True):
                yield n, child, weight
