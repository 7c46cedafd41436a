"""`Program`: a checked circuit as flat arrays, ready for any backend. No networkx from here on.

Nodes are numbered so that children come before parents: first the leaves, table by table, then
the inner nodes in *segments*. A segment is a run of nodes of one kind (sums or products) whose
children all lie in earlier segments, so that it can be evaluated at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.common.wording import with_article
from spnc.data.dataset import Column
from spnc.leaves import Distribution
from spnc.leaves.smoothing import SUM_TOLERANCE
from spnc.registry import LEAVES


@dataclass(frozen=True, eq=False)
class LeafTable:
    """The leaves of one distribution (and number of states): nodes first … first+len-1."""

    distribution: str
    states: int
    first: int
    variables: Ints

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def last(self) -> int:
        """One past the last node."""
        return self.first + len(self.variables)

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
    """All that training changes: sum weights by slot, and one table per leaf table."""

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
        """How large the circuit is, as `metrics.json` and `spnc inspect` say it."""
        sums = sum(s.last - s.first for s in self.segments if s.is_sum)
        products = sum(s.last - s.first for s in self.segments if not s.is_sum)
        leaf_parameters = sum(len(t) * t.kind.free_parameters(t.states) for t in self.leaves)
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "layers": self.layers,
            "sums": sums,
            "products": products,
            "leaves": sum(len(t) for t in self.leaves),
            "parameters": self.slots - sums + leaf_parameters,
        }

    def scopes(self) -> list[int]:
        """The columns below every node, as bit sets."""
        columns = [1 << variable for variable in range(len(self.columns))]
        known: dict[int, int] = {}  # wide scopes are large ints: keep one object of each
        found: list[int] = []
        for table in self.leaves:
            found += [columns[variable] for variable in table.variables.tolist()]
        for segment in self.segments:
            children, starts = segment.children.tolist(), segment.starts.tolist()
            for start, stop in pairwise(starts):
                scope = 0
                for child in children[start:stop]:
                    scope |= found[child]
                found.append(known.setdefault(scope, scope))
        return found

    def problems(self, parameters: Parameters) -> Iterator[str]:
        """What is wrong with the arrays: for files that may have been tampered with."""
        shape = list(self._shape_problems())
        yield from shape
        if not shape:
            yield from self._validity_problems()
            yield from self._parameter_problems(parameters)

    def _shape_problems(self) -> Iterator[str]:
        names = [c.name for c in self.columns]
        if len(set(names)) < len(names) or any(c.states < 2 for c in self.columns):
            yield "the columns are not well formed"
        seen = 0
        for table in self.leaves:
            if table.distribution not in LEAVES:
                yield f"unknown leaf distribution {table.distribution!r}"
                return
            if table.first != seen or len(table) == 0 or table.variables.dtype != np.int64:
                yield "leaf tables are not consecutive"
                return
            seen = table.last
            if not _within(table.variables, 0, len(self.columns)):
                yield "a leaf names a column that does not exist"
                return
            own = {self.columns[v] for v in set(table.variables.tolist())}
            if any(c.states != table.states or c.kind not in table.kind.kinds for c in own):
                yield "a leaf does not fit its column"
        slot = 0
        for s in self.segments:
            if s.first != seen or s.last <= s.first or len(s.starts) != s.last - s.first + 1:
                yield "segments are not consecutive"
                return
            if s.children.dtype != np.int64 or s.starts.dtype != np.int64:
                yield "child lists are not whole numbers"
                return
            if s.starts[0] != 0 or s.starts[-1] != len(s.children) or (np.diff(s.starts) < 1).any():
                yield "child lists are not well formed"
                return
            if not _within(s.children, 0, s.first):
                yield "a node's child does not come before it"
                return
            if s.is_sum:
                if s.first_slot != slot:
                    yield "weight slots are not consecutive"
                slot += len(s.children)
            seen = s.last
        if not 0 <= self.root < seen:
            yield "the root does not exist"

    def _validity_problems(self) -> Iterator[str]:
        scope = self.scopes()
        for s in self.segments:
            children, starts = s.children.tolist(), s.starts.tolist()
            for n, (start, stop) in enumerate(pairwise(starts), s.first):
                own = [scope[c] for c in children[start:stop]]
                if s.is_sum and any(one != scope[n] for one in own):
                    yield f"sum {n} has children with different variables"
                elif not s.is_sum and sum(map(int.bit_count, own)) > scope[n].bit_count():
                    yield f"product {n} has children that share variables"
            parents = np.repeat(np.arange(s.first, s.last), np.diff(s.starts))
            if len(np.unique(parents * self.nodes + s.children)) < len(s.children):
                yield "a node has the same child twice"
        has_parent = np.zeros(self.nodes, dtype=bool)
        for s in self.segments:
            has_parent[s.children] = True
        if has_parent[self.root] or not has_parent[np.arange(self.nodes) != self.root].all():
            yield "a node is not below the root"
        if scope[self.root] != (1 << len(self.columns)) - 1:
            yield "the root does not model every column"

    def _parameter_problems(self, parameters: Parameters) -> Iterator[str]:
        weights = parameters.weights
        if weights.shape != (self.slots,) or weights.dtype != np.float64:
            yield f"{weights.shape} weights for {self.slots} slots"
        elif not (np.isfinite(weights).all() and (weights >= 0).all()):
            yield "a weight is negative or not a number"
        elif self.slots:
            totals = np.add.reduceat(weights, self.weight_starts[:-1])
            if (np.abs(totals - 1.0) > SUM_TOLERANCE).any():
                yield "the weights of a sum do not add up to one"
        if len(parameters.tables) != len(self.leaves):
            yield "leaf parameters are missing"
            return
        for leaf, table in zip(self.leaves, parameters.tables, strict=True):
            if table.dtype != np.float64 or table.ndim != 2 or len(table) != len(leaf):
                yield "a leaf table has the wrong shape"
            elif not leaf.kind.is_valid(table, leaf.states):
                yield f"{with_article(leaf.distribution)} leaf has invalid parameters"


def _within(values: Ints, low: int, high: int) -> bool:
    return len(values) == 0 or (int(values.min()) >= low and int(values.max()) < high)
