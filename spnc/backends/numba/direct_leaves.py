"""The leaves of a single pass: their values as ratios to a reference distribution.

A finite column is divided by the model's own marginal, which depends on the parameters only; so a
row's values do not depend on the other rows of its table. In a numeric column every row is divided
by the largest density of any leaf there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.direct_kernels import (
    BINARY,
    FINITE,
    NUMERIC,
    flows_of_missing_rows,
)
from spnc.backends.numba.normal_kernels import normal_largest, normal_ratios
from spnc.backends.planning.leaf_list import LeafList, exponential
from spnc.backends.planning.program_index import LeafGroup, ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.leaves.normal import NormalLeaf, Parabolas
from spnc.program.program import Parameters

# The least probability in the reference distribution: dividing by less could overflow.
LEAST_REFERENCE = 1e-20


class Leaves(NamedTuple):
    """What kernels have to know of every leaf."""

    kinds: NDArray[np.uint8]
    columns: Ints
    starts: Ints  # its first entry among the ratios, or its row in a strip


class LeafPlaces:
    """Where the values of leaves are, whatever the parameters."""

    def __init__(self, index: ProgramIndex) -> None:
        self.index = index
        self.finite = LeafList(index, {})
        self.groups: list[tuple[LeafGroup, slice]] = []
        kinds = np.where(index.states[index.leaf_columns] == 2, BINARY, FINITE).astype(np.uint8)
        starts = self.finite.starts.copy()
        self.strip_leaves = 0  # the number of numeric leaves
        for group in index.leaf_groups:
            end = self.strip_leaves + len(group.nodes)
            kinds[group.nodes], starts[group.nodes] = NUMERIC, np.arange(self.strip_leaves, end)
            self.groups.append((group, slice(self.strip_leaves, end)))
            self.strip_leaves = end
        self.leaves = Leaves(kinds, index.leaf_columns, starts)
        # A finite column's part of the tables by code: one entry per state, and a missing value.
        finite = np.array([c.is_finite for c in index.program.columns], dtype=np.bool_)
        self.columns: Ints = np.flatnonzero(finite)
        sizes = np.where(finite, index.states + 1, 0)
        self._starts = np.cumsum(sizes) - sizes
        self.starts: Ints = self._starts[self.columns]
        self.size = int(sizes.sum())
        self.targets = self._targets()  # of every entry of a leaf: column and code
        self.order = np.argsort(self.targets, kind="stable")
        self.begins = np.flatnonzero(np.diff(self.targets[self.order], prepend=-1))
        self.present = self.targets[self.order][self.begins]

    def _targets(self) -> Ints:
        found = [np.empty(0, dtype=np.int64)]
        for _, leaf, _, _ in self.finite.tables:
            states = np.arange(leaf.states + 1)
            found.append((self._starts[leaf.variables][:, None] + states).reshape(-1))
        return np.concatenate(found)


class LeafRatios:
    """The values of finite leaves, and the numbers of the reference distribution by code."""

    def __init__(self, places: LeafPlaces, parameters: Parameters) -> None:
        index = places.index
        self.parameters = parameters
        entries = places.finite.probabilities(parameters)
        flows = flows_of_missing_rows(
            index.program.root, len(index.leaf_columns), index.inner_nodes, parameters.weights
        )
        tables = [leaf for _, leaf, _, _ in places.finite.tables]
        own = [np.repeat(flows[leaf.first : leaf.last], leaf.states + 1) for leaf in tables]
        shares = np.concatenate([np.empty(0), *own])
        reference, largest = np.ones(places.size), np.ones(places.size)
        if len(entries):
            marginal = np.add.reduceat((shares * entries)[places.order], places.begins)
            reference[places.present] = np.maximum(marginal, LEAST_REFERENCE)
            reference[places.starts + index.states[places.columns]] = 1.0  # missing values
            entries /= reference[places.targets]
            top = np.maximum.reduceat(entries[places.order], places.begins)
            largest[places.present] = np.maximum(top, 1.0)
        self.ratios = entries
        self.log_reference = np.log(reference)
        self.log_bounds = np.log(largest)
        self.groups = [NumericRatios(group, own, parameters) for group, own in places.groups]

    def fill(self, numbers: dict[int, Floats], rows: slice, strips: Floats) -> Floats:
        """Write the ratios of numeric leaves for some rows; return the log of their reference.

        Behind the rows, strips hold ratios of one.
        """
        size = rows.stop - rows.start
        largest: dict[int, Floats] = {}
        for group in self.groups:
            column = group.group.column
            cells = numbers[column][rows]
            own = group.largest(cells, strips[group.places, :size])
            largest[column] = np.maximum(largest[column], own) if column in largest else own
        total = np.zeros(size)
        for column, own in largest.items():
            largest[column] = own = np.where(own > -np.inf, own, 0.0)
            total += own
        for group in self.groups:
            column = group.group.column
            group.divide(numbers[column][rows], largest[column], strips[group.places, :size])
        strips[:, size:] = 1.0
        return total


class NumericRatios:
    """The leaves of one distribution over one numeric column, with their parameters."""

    def __init__(self, group: LeafGroup, places: slice, parameters: Parameters) -> None:
        self.group, self.places = group, places
        self.table = group.parameters(parameters)
        self.kind = group.kind if issubclass(group.kind, NormalLeaf) else None
        self.parabolas = Parabolas.of(self.table) if self.kind is not None else None

    def largest(self, cells: Floats, logs: Floats) -> Floats:
        """Return the largest log density by row; `logs` is for what `divide` can use of it."""
        if self.kind is None:
            logs[:] = self.group.log_densities(self.table, cells)
            top: Floats = logs.max(axis=0)
            return top
        found = np.empty(len(cells))
        normal_largest(*self._on_scale(cells), self.parabolas, found)
        return found

    def divide(self, cells: Floats, log_reference: Floats, ratios: Floats) -> None:
        """Write the densities, divided by the reference."""
        if self.kind is None:
            ratios -= log_reference
            exponential(ratios, ratios)
            return
        places = np.arange(len(cells))
        normal_ratios(*self._on_scale(cells), places, log_reference, self.parabolas, ratios)

    def _on_scale(self, cells: Floats) -> tuple[Floats, Floats]:
        """Return the positions of cells, and the logarithms of their slopes."""
        assert self.kind is not None
        one = self.group.columns.take(slice(0, 1))  # all leaves of a group have the same column
        return self.kind.positions(cells[None], one)[0], self.kind.log_slopes(cells[None], one)[0]
