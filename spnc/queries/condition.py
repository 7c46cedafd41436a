"""Conditioning: a circuit for the rows of an event.

Given a box, a sum gives each child the share that its probability of the box has in the sum's own;
a leaf is restricted to the values that the box allows. Parts of the circuit that the box says
nothing about stay as they are. Given several boxes, the circuit is the sum of those of the boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.common.gc_pause import gc_paused
from spnc.data.columns import Column
from spnc.graph.nodes import Builder, Graph
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.restriction import restrict, restrict_to_states
from spnc.program.program import Parameters, Program
from spnc.queries.events import Box, ImpossibleError
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import Span, ValueSet


@gc_paused()
def conditioned(program: Program, parameters: Parameters, boxes: Sequence[Box]) -> Graph:
    """Return the circuit of the rows in disjoint boxes, over the same columns.

    Raises `ImpossibleError`.
    """
    posterior = Posterior(program, parameters, boxes)
    if not posterior.is_possible:
        raise ImpossibleError
    maker = _Conditioning(posterior)
    shares = np.exp(posterior.log_values[program.root] - posterior.log_probability)
    places = np.flatnonzero(shares > 0.0).tolist()
    tops = [maker.of(place) for place in places]
    weights: dict[int, float] = {}
    for top, share in zip(tops, shares[places].tolist(), strict=True):
        weights[top] = weights.get(top, 0.0) + share
    graph = maker.builder.graph
    graph.graph["root"] = maker.sum(weights)
    return graph


class _Conditioning:
    """Makes the nodes of a conditioned circuit, box by box; what no box changes is made once."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior, self.program = posterior, posterior.program
        self.builder = Builder(self.program.columns)
        self.unchanged: dict[int, int] = {}
        self.children: list[tuple[list[int], list[float]]] = []
        self.leaves = _distributions(self.program, posterior.parameters)
        weights = posterior.parameters.weights
        for segment in self.program.segments:
            own = weights[segment.slots] if segment.is_sum else np.ones(len(segment.children))
            for a, b in pairwise(segment.starts.tolist()):
                self.children.append((segment.children[a:b].tolist(), own[a:b].tolist()))
        self.sums = np.zeros(self.program.nodes, dtype=np.bool_)
        for segment in self.program.segments:
            self.sums[segment.first : segment.last] = segment.is_sum

    def of(self, place: int) -> int:
        """Return the root of the circuit given the box at this place."""
        box, values = self.posterior.boxes[place], self.posterior.log_values[:, place]
        concerned = self._concerned(box)
        made: dict[int, int] = {}
        for n in self._reached(values):
            known = made if concerned[n] else self.unchanged
            if n not in known:
                known[n] = self._make(n, box, values, made)
        return made.get(self.program.root, self.unchanged.get(self.program.root, -1))

    def _concerned(self, box: Box) -> NDArray[np.bool_]:
        """Return for every node whether the box says something about its columns."""
        said = np.zeros(len(self.program.columns), dtype=np.bool_)
        said[list(box)] = True
        found = np.zeros(self.program.nodes, dtype=np.bool_)
        for table in self.program.leaves:
            found[table.first : table.last] = said[table.variables]
        for s in self.program.segments:
            found[s.first : s.last] = np.logical_or.reduceat(found[s.children], s.starts[:-1])
        return found

    def sum(self, weights: dict[int, float]) -> int:
        """Add a sum; a single child stands for itself."""
        if len(weights) == 1:
            return next(iter(weights))
        total = sum(weights.values())
        return self.builder.sum(list(weights), [weight / total for weight in weights.values()])

    def _make(self, n: int, box: Box, values: Floats, made: dict[int, int]) -> int:
        if n < len(self.leaves):
            column, distribution = self.leaves[n]
            return self._leaf(column, distribution, box.get(column))
        children, own = self.children[n - len(self.leaves)]

        def below(child: int) -> int:
            return made[child] if child in made else self.unchanged[child]

        if not self.sums[n]:
            return self.builder.product([below(child) for child in children])
        weights: dict[int, float] = {}
        for child, weight in zip(children, own, strict=True):
            share = weight * float(np.exp(values[child] - values[n]))
            if share > 0.0:
                weights[below(child)] = weights.get(below(child), 0.0) + share
        return self.sum(weights)

    def _leaf(self, column: int, distribution: Distribution, values: ValueSet | None) -> int:
        if values is None:
            return self.builder.leaf(column, distribution)
        known = self.program.columns[column]
        if distribution.is_finite:
            found = restrict_to_states(distribution, values.states(), known)
            return self.builder.leaf(column, found)
        if values.is_everything(known):
            return self.builder.leaf(column, distribution)
        chances = {span: _chance(distribution, known, span) for span in values.spans}
        return self.sum(
            {
                self.builder.leaf(column, restrict(distribution, *span, known)): chance
                for span, chance in chances.items()
                if chance > 0.0
            }
        )

    def _reached(self, values: Floats) -> list[int]:
        """Return the nodes that the box reaches with a positive probability, children first."""
        seen = np.zeros(self.program.nodes, dtype=np.bool_)
        seen[self.program.root] = True
        for n in range(self.program.root, len(self.leaves) - 1, -1):
            if seen[n]:
                children, own = self.children[n - len(self.leaves)]
                for child, weight in zip(children, own, strict=True):
                    if not self.sums[n] or weight * np.exp(values[child] - values[n]) > 0.0:
                        seen[child] = True
        return np.flatnonzero(seen).tolist()


def _distributions(program: Program, parameters: Parameters) -> list[tuple[int, Distribution]]:
    """Return the column and the distribution of every leaf."""
    return [
        (column, leaf.kind.from_row(row))
        for leaf, table in zip(program.leaves, parameters.tables, strict=True)
        for column, row in zip(leaf.variables.tolist(), table, strict=True)
    ]


def _chance(distribution: Distribution, column: Column, span: Span) -> float:
    """Return the probability of an interval under a leaf over numbers."""
    known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    low, high = (np.array([[end]]) for end in span)
    return float(distribution.interval(np.array([distribution.row]), low, high, known)[0, 0])
