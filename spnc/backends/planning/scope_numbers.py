"""The scopes of a program's nodes as numbers, and the shapes of its products.

A product's *shape* is the list of the scopes of its children. Components of a forest and the states
of a latent variable have many products of one shape, which planning treats alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spnc.common.arrays import Ints
from spnc.common.column_sets import ColumnSet, union
from spnc.common.equal_lists import number_lists
from spnc.common.ragged_array import RaggedArray
from spnc.program.program import Program


class ScopeNumbers(NamedTuple):
    """The distinct scopes as column sets, smallest first, and the number of every node's scope."""

    distinct: list[ColumnSet]
    of: Ints  # by node
    shapes: Ints  # by inner node: the number of a product's shape; -1 for sums
    models: Ints  # by shape: the first inner node that has it


def scope_numbers(program: Program) -> ScopeNumbers:
    """Return the scopes and shapes of a valid program.

    Products with the same shape may have several numbers, if they are in different segments.
    """
    known: dict[Any, int] = {}
    distinct: list[Any] = []

    def number(scope: Any) -> int:
        found = known.setdefault(scope, len(distinct))
        if found == len(distinct):
            distinct.append(scope)
        return found

    leaves = program.leaf_scopes()
    count = len(leaves)
    of = np.empty(program.nodes, dtype=np.int64)
    of[:count] = np.fromiter(map(number, leaves), np.int64, count)
    shapes = np.full(program.nodes - count, -1, dtype=np.int64)
    models: list[Ints] = [np.zeros(0, dtype=np.int64)]
    made = 0
    for segment in program.segments:
        below = of[segment.children]
        if segment.is_sum:
            of[segment.first : segment.last] = below[segment.starts[:-1]]
            continue
        found = number_lists(RaggedArray(segment.starts, below))
        starts, stops = segment.starts[found.firsts], segment.starts[found.firsts + 1]
        unions = [
            number(union([distinct[scope] for scope in below[start:stop].tolist()]))
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        of[segment.first : segment.last] = np.array(unions, dtype=np.int64)[found.numbers]
        shapes[segment.first - count : segment.last - count] = made + found.numbers
        models.append(segment.first - count + found.firsts)
        made += len(found.firsts)
    order = sorted(range(len(distinct)), key=lambda i: (distinct[i].bit_count(), distinct[i]))
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ordered = [distinct[i] for i in order]
    return ScopeNumbers(ordered, rank[of], shapes, np.concatenate(models))
