"""Lifting, the inverse of lowering: a `Program` and its `Parameters` become a `Graph` again."""

from __future__ import annotations

from itertools import pairwise

from spnc.graph.nodes import Builder, Graph
from spnc.program import Parameters, Program


def lift(program: Program, parameters: Parameters) -> Graph:
    """A graph with one node per node of the program, under the same numbers."""
    builder = Builder(program.columns)
    for table, rows in zip(program.leaves, parameters.tables, strict=True):
        for variable, row in zip(table.variables, rows, strict=True):
            builder.leaf(int(variable), table.kind.from_row(row))
    for segment in program.segments:
        children, starts = segment.children.tolist(), segment.starts.tolist()
        weights = parameters.weights[segment.slots].tolist() if segment.is_sum else []
        for start, stop in pairwise(starts):
            if segment.is_sum:
                builder.sum(children[start:stop], weights[start:stop])
            else:
                builder.product(children[start:stop])
    builder.graph.graph["root"] = program.root
    return builder.graph
