"""`ProgramIndex`: what planning needs to know about a program, whatever the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.backends.planning.kinds import PRODUCT, SUM
from spnc.common.arrays import Floats, Ints
from spnc.common.column_sets import members
from spnc.data.dataset import Table
from spnc.leaves.finite import as_finite
from spnc.program.program import Parameters, Program

Codes = NDArray[np.unsignedinteger]  # codes[column, row]; the number of states where missing


class ProgramIndex:
    """A program's columns, leaf probabilities, scopes (numbered smallest first) and inner nodes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.states = np.array([c.states for c in program.columns], dtype=np.int64)
        self.leaf_columns: Ints = np.concatenate([t.variables for t in program.leaves])
        # Leaf probabilities are one flat list, [leaf, state] table by table; the last state of
        # every leaf stands for a missing value and has probability one.
        widths = np.concatenate([np.full(len(t), t.states + 1) for t in program.leaves])
        self.leaf_sources: Ints = np.cumsum(widths) - widths
        self.probability_count = int(widths.sum())
        self._joined: dict[tuple[int, ...], tuple[Ints, Ints]] = {}

    def encode(self, table: Table) -> Codes:
        """Return `codes[column, row]`: the value, or the number of states where it is missing."""
        narrow = int(self.states.max()) < np.iinfo(np.uint16).max
        found = np.empty((table.width, table.rows), dtype=np.uint16 if narrow else np.uint32)
        for block in table.blocks:
            missing = block.missing
            holed = bool(missing.any())
            states = self.states[block.columns, None]
            found[block.columns] = np.where(missing, states, block.cells) if holed else block.cells
        return found

    def leaf_tables(self, states: Floats) -> tuple[Floats, ...]:
        """Split numbers in the order of the flat list of leaf probabilities into leaf tables.

        The entries for missing values are left out.
        """
        found, start = [], 0
        for leaf in self.program.leaves:
            stop = start + len(leaf) * (leaf.states + 1)
            found.append(states[start:stop].reshape(len(leaf), -1)[:, :-1])
            start = stop
        return tuple(found)

    # -- scopes, computed at first use ---------------------------------------------------------

    @cached_property
    def _scopes(self) -> tuple[list[int], list[int]]:
        """The distinct scopes as column sets, smallest first, and the scope of every node."""
        bits = self.program.scopes()
        distinct = sorted(set(bits), key=lambda s: (s.bit_count(), s))
        number = {s: i for i, s in enumerate(distinct)}
        return distinct, [number[s] for s in bits]

    @cached_property
    def _columns(self) -> list[Ints]:
        return [np.array(members(s), dtype=np.int64) for s in self._scopes[0]]

    @property
    def scope_count(self) -> int:
        """The number of distinct scopes."""
        return len(self._scopes[0])

    @property
    def scope_of(self) -> list[int]:
        """The scope number of every node."""
        return self._scopes[1]

    @cached_property
    def scope_part(self) -> list[int]:
        """By scope: the largest scope of a child of a product over it; -1 if there is none."""
        part = np.full(self.scope_count, -1, dtype=np.int64)
        scope_of = np.array(self.scope_of, dtype=np.int64)
        for segment in self.program.segments:
            if not segment.is_sum:
                largest = np.maximum.reduceat(scope_of[segment.children], segment.starts[:-1])
                own = scope_of[segment.first : segment.last]
                inside = largest < own  # a product of one child has its child's scope
                np.maximum.at(part, own[inside], largest[inside])
        found: list[int] = part.tolist()
        return found

    def scope_columns(self, scope: int) -> Ints:
        """Return the columns of a scope, ascending."""
        return self._columns[scope]

    def union_columns(self, scopes: Sequence[int]) -> Ints:
        """Return the columns of disjoint scopes together, ascending."""
        return np.sort(np.concatenate([self._columns[s] for s in scopes]))

    def scopes_columns(self, scopes: tuple[int, ...]) -> tuple[Ints, Ints]:
        """Return where the columns of each of several scopes start, and all their columns."""
        found = self._joined.get(scopes)
        if found is None:
            own = [self._columns[s] for s in scopes]
            found = self._joined[scopes] = (np.cumsum([0, *map(len, own)]), np.concatenate(own))
        return found

    @cached_property
    def inner_nodes(self) -> tuple[Any, ...]:
        """All inner nodes as flat arrays: kinds, starts of child lists, children, weight slots."""
        segments = self.program.segments
        kinds = [np.full(s.last - s.first, SUM if s.is_sum else PRODUCT) for s in segments]
        fans = [np.diff(s.starts) for s in segments]
        slots = [s.first_slot + np.arange(len(s.children)) for s in segments]
        none = np.zeros(0, dtype=np.int64)
        return (
            np.concatenate([none, *kinds]).astype(np.uint8),
            np.concatenate([[0], np.cumsum(np.concatenate([none, *fans]))]),
            np.concatenate([none, *(s.children for s in segments)]),
            np.concatenate([none, *slots]),
        )

    def inner(self) -> Iterator[tuple[int, bool, Ints, int]]:
        """Yield every inner node, children first: number, is it a sum, children, first slot."""
        for segment in self.program.segments:
            starts = segment.starts.tolist()
            for i, n in enumerate(range(segment.first, segment.last)):
                start, stop = starts[i], starts[i + 1]
                yield n, segment.is_sum, segment.children[start:stop], segment.first_slot + start


def shuffled(index: ProgramIndex, table: Table) -> tuple[Codes, Floats, NDArray[np.intp]]:
    """Return a table's codes and weights in a fixed random order, and the rows' positions before.

    Tables are often sorted. Then consecutive rows add their flows to the same places, and the
    processor has to wait for each addition.
    """
    order = np.random.default_rng(0).permutation(table.rows)
    return np.take(index.encode(table), order, axis=1), table.weights[order], order


def leaf_probabilities(program: Program, parameters: Parameters) -> Floats:
    """Return the flat list of leaf probabilities, in the order of `ProgramIndex.leaf_sources`."""
    parts = []
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        known = as_finite(leaf.kind).probabilities(table, leaf.states)
        parts.append(np.concatenate([known, np.ones((len(known), 1))], axis=1).reshape(-1))
    return np.concatenate(parts)
