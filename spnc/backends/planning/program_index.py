"""`ProgramIndex`: what planning needs to know about a program, whatever the table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spnc.backends.planning.kinds import PRODUCT, SUM
from spnc.backends.planning.scope_numbers import ScopeNumbers, scope_numbers
from spnc.common.arrays import Floats, Ints
from spnc.common.column_sets import members
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import Parameters, Program


class LeafGroup(NamedTuple):
    """The leaves of one distribution over one numeric column, all of the same leaf table."""

    column: int
    table: int  # the number of the leaf table
    places: Ints  # the position of each leaf in the table
    nodes: Ints  # the number of each leaf among the program's nodes
    kind: type[Distribution]
    columns: LeafColumns

    def parameters(self, parameters: Parameters) -> Floats:
        """Return the parameters of these leaves."""
        return parameters.tables[self.table][self.places]

    def log_densities(self, parameters: Floats, values: Floats) -> Floats:
        """Return log p(value), `[leaf, value]`, given the parameters of these leaves."""
        return self.kind.log_density(parameters, values[None], self.columns)

    def statistics(self, parameters: Floats, values: Floats, flows: Floats) -> Floats:
        """Return the statistics of `flows[leaf, value]`, given the parameters of these leaves."""
        return self.kind.statistics(values[None], flows, parameters, self.columns)


class ProgramIndex:
    """A program's columns, leaves, scopes (numbered smallest first) and inner nodes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.states = np.array([c.states for c in program.columns], dtype=np.int64)
        self.leaf_columns: Ints = np.concatenate([t.variables for t in program.leaves])
        self._columns: dict[int, Ints] = {}

    @cached_property
    def leaf_groups(self) -> tuple[LeafGroup, ...]:
        """The leaves over numeric columns, by column."""
        found = []
        for number, leaf in enumerate(self.program.leaves):
            if leaf.kind.is_finite:
                continue
            for column in np.unique(leaf.variables).tolist():
                own = np.flatnonzero(leaf.variables == column)
                columns = leaf.columns.take(own)
                found.append(LeafGroup(column, number, own, leaf.first + own, leaf.kind, columns))
        return tuple(sorted(found, key=lambda group: (group.column, group.table)))

    @cached_property
    def numeric_leaves(self) -> dict[int, int]:
        """The number of leaves over each numeric column that has any."""
        found: dict[int, int] = {}
        for group in self.leaf_groups:
            found[group.column] = found.get(group.column, 0) + len(group.nodes)
        return found

    @cached_property
    def numeric_columns(self) -> tuple[int, ...]:
        """The columns of numbers, with or without leaves."""
        return tuple(i for i, c in enumerate(self.program.columns) if not c.is_finite)

    # -- scopes, computed at first use ---------------------------------------------------------

    @cached_property
    def scopes(self) -> ScopeNumbers:
        """The distinct scopes, smallest first, the scope of every node, and shapes of products."""
        return scope_numbers(self.program)

    @property
    def scope_count(self) -> int:
        """The number of distinct scopes."""
        return len(self.scopes.distinct)

    @cached_property
    def scope_part(self) -> list[int]:
        """By scope: the largest scope of a child of a product over it; -1 if there is none."""
        part = np.full(self.scope_count, -1, dtype=np.int64)
        scope_of = self.scopes.of
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
        found = self._columns.get(scope)
        if found is None:
            own = members(self.scopes.distinct[scope])
            found = self._columns[scope] = np.array(own, dtype=np.int64)
        return found

    def node_columns(self, nodes: Ints) -> list[Ints]:
        """Return the columns of some nodes, ascending."""
        return [self.scope_columns(scope) for scope in self.scopes.of[nodes].tolist()]

    def union_columns(self, scopes: Sequence[int]) -> Ints:
        """Return the columns of disjoint scopes together, ascending."""
        return np.sort(np.concatenate([self.scope_columns(s) for s in scopes]))

    def scopes_columns(self, scopes: Sequence[int]) -> tuple[Ints, Ints]:
        """Return where the columns of each of several scopes start, and all their columns."""
        own = [self.scope_columns(s) for s in scopes]
        return np.cumsum([0, *map(len, own)]), np.concatenate(own)

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
