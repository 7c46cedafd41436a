"""`Program`: a checked circuit as flat arrays, ready for any backend. No networkx from here on.

Nodes are numbered so that children come before parents: first the leaves, table by table, then
the inner nodes in *segments*. A segment is a run of nodes of one kind (sums or products) whose
children all lie in earlier segments, so that it can be evaluated at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.common.column_sets import ColumnSet, column_order, is_wide, single_sets, union
from spnc.data.columns import Column
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES


@dataclass(frozen=True, eq=False)
class LeafTable:
    """The leaves of one distribution, number of states and number of parameters.

    They are the nodes first … first+len-1.
    """

    distribution: str
    width: int  # the number of parameters of each leaf
    first: int
    variables: Ints
    columns: LeafColumns

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def states(self) -> int:
        """The number of states of the leaves' columns; 0 for numbers."""
        return self.columns.states

    @property
    def last(self) -> int:
        """One past the last node."""
        return self.first + len(self.variables)

    @property
    def statistic_count(self) -> int:
        """The number of statistics that EM needs of each leaf."""
        return self.kind.statistic_count(self.width, self.states)

    @property
    def kind(self) -> type[Distribution]:
        """The distribution's class."""
        return LEAVES[self.distribution]  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Segment:
    """Inner nodes first … last-1 of one kind.

    The children of node first+i are children[starts[i]:starts[i+1]]; for sums, the weights of
    these edges are in the slots first_slot+starts[i] … of the weight array.
    """

    is_sum: bool
    first: int
    last: int
    starts: Ints
    children: Ints
    first_slot: int

    @property
    def slots(self) -> slice:
        """The weight slots of a sum segment's edges."""
        return slice(self.first_slot, self.first_slot + len(self.children))


@dataclass(frozen=True, eq=False)
class Parameters:
    """Everything that training changes: sum weights by slot, and one table per leaf table."""

    weights: Floats
    tables: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """The circuit: columns, leaf tables, segments in order of evaluation, and the root."""

    columns: tuple[Column, ...]
    leaves: tuple[LeafTable, ...]
    segments: tuple[Segment, ...]
    root: int
    layers: int  # nodes on the longest path from the root to a leaf

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        if self.segments:
            return self.segments[-1].last
        return self.leaves[-1].last

    @cached_property
    def edges(self) -> int:
        """The number of edges."""
        return sum(len(s.children) for s in self.segments)

    @cached_property
    def slots(self) -> int:
        """The number of sum weights."""
        return sum(len(s.children) for s in self.segments if s.is_sum)

    @cached_property
    def weight_starts(self) -> Ints:
        """Where each sum's weights start in the weight array, and the end of the last."""
        starts = [s.first_slot + s.starts[:-1] for s in self.segments if s.is_sum]
        return np.concatenate([*starts, [self.slots]]).astype(np.int64)

    def facts(self) -> dict[str, int]:
        """Return the size of the circuit, as in `metrics.json` and `spnc inspect`."""
        sums = sum(s.last - s.first for s in self.segments if s.is_sum)
        products = sum(s.last - s.first for s in self.segments if not s.is_sum)
        leaf_parameters = sum(len(t) * t.kind.free_parameters(t.width) for t in self.leaves)
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "layers": self.layers,
            "sums": sums,
            "products": products,
            "leaves": sum(len(t) for t in self.leaves),
            "parameters": self.slots - sums + leaf_parameters,
        }

    def scopes(self) -> list[ColumnSet]:
        """Return the columns below every node of a valid program."""
        found: list[Any] = self.leaf_scopes()
        known: dict[Any, Any] = {}  # wide scopes are large: keep only one object of each
        scope: Any
        narrow = not is_wide(found[0])
        for segment in self.segments:
            children, starts = segment.children.tolist(), segment.starts.tolist()
            if segment.is_sum:
                found += [found[children[start]] for start in starts[:-1]]
                continue
            for start, stop in pairwise(starts):
                own = children[start:stop]
                if narrow:
                    scope = 0
                    for child in own:
                        scope |= found[child]
                else:
                    scope = union([found[child] for child in own])
                found.append(known.setdefault(scope, scope))
        return found

    def leaf_scopes(self) -> list[ColumnSet]:
        """Return the columns of the leaves, as sets of which those of other nodes can be made."""
        leaves = [v for table in self.leaves for v in table.variables.tolist()]
        order = column_order(len(self.columns), [self.root], *self._walk(leaves))
        single = single_sets(set(leaves), order)
        return [single[variable] for variable in leaves]

    def _walk(
        self, leaves: Sequence[int]
    ) -> tuple[Callable[[int], list[int]], Callable[[int], int | None]]:
        """Return functions from a node to its children, and to its column if it is a leaf."""
        firsts = [s.first for s in self.segments]

        def below(n: int) -> list[int]:
            segment = self.segments[bisect_right(firsts, n) - 1]
            start, stop = segment.starts[n - segment.first : n - segment.first + 2].tolist()
            found: list[int] = segment.children[start:stop].tolist()
            return found

        return below, lambda n: leaves[n] if n < len(leaves) else None
