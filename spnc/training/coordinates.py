"""All parameters as one flat list of numbers without bounds, for objectives that need gradients.

Weights and finite leaves are logits (`spnc.training.simplices`), followed by the coordinates of
numeric leaves, table by table (`NumericLeaf.coordinates`). Leaves without gradients are not in the
list and keep their parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.numeric import NumericLeaf, as_numeric
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import LeafTable, Parameters, Program
from spnc.program.score import Counts
from spnc.training.simplices import Simplices


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The flat view of a program's parameters."""

    program: Program
    simplices: Simplices
    numeric: tuple[tuple[int, int], ...]  # leaf tables with coordinates, and how many a leaf has

    @staticmethod
    def of(program: Program, parameters: Parameters) -> Coordinates:
        """Return the view of a program with parameters of these shapes."""
        # Without a prior, a probability of zero stays zero: what is impossible remains so.
        simplices = Simplices.of(program, Smoothing.of(0.0))
        numeric = []
        for i, (leaf, table) in enumerate(zip(program.leaves, parameters.tables, strict=True)):
            if not leaf.kind.is_finite:
                found = as_numeric(leaf.kind).coordinates(table, leaf.columns)
                if found is not None:
                    numeric.append((i, found.shape[1]))
        return Coordinates(program, simplices, tuple(numeric))

    @property
    def finite(self) -> int:
        """How many of the coordinates are logits of weights and finite leaves: the first ones."""
        return self.simplices.entries

    def numeric_leaves(self) -> Iterator[tuple[int, LeafTable, type[NumericLeaf], slice]]:
        """Yield the number, leaves, class and place in the list of each numeric leaf table."""
        start = self.finite
        for i, width in self.numeric:
            leaf = self.program.leaves[i]
            place = slice(start, start + len(leaf) * width)
            yield i, leaf, as_numeric(leaf.kind), place
            start = place.stop

    def flat(self, parameters: Parameters) -> Floats:
        """Return the coordinates of parameters; -inf is a probability of zero."""
        parts = [self.simplices.logits(parameters)]
        for i, leaf, kind, _ in self.numeric_leaves():
            found = kind.coordinates(parameters.tables[i], leaf.columns)
            assert found is not None
            parts.append(found.reshape(-1))
        return np.concatenate(parts)

    def parameters(self, flat: Floats, old: Parameters) -> Parameters:
        """Return the parameters at these coordinates; those without coordinates are as in `old`."""
        found = self.simplices.parameters(self.probabilities(flat), old)
        tables = list(found.tables)
        for i, leaf, kind, place in self.numeric_leaves():
            own = flat[place].reshape(len(leaf), -1)
            tables[i] = kind.from_coordinates(own, tables[i], leaf.columns)
        return Parameters(found.weights, tuple(tables))

    def probabilities(self, flat: Floats) -> Floats:
        """Return the probabilities at the coordinates that are logits."""
        return self.simplices.probabilities(flat[: self.finite])

    def group_totals(self, counts: Counts) -> Floats:
        """Return, for each logit, the sum of the counts of its sum or finite leaf."""
        return self._totals(self._finite_counts(counts))

    def gradient(self, flat: Floats, parameters: Parameters, counts: Counts) -> Floats:
        """Return the derivatives of the summed log-likelihood, from its expected counts.

        `parameters` are those at `flat`. `counts` may be the difference of two sets of counts
        under these parameters.
        """
        finite = self._finite_counts(counts)
        parts = [finite - self.probabilities(flat) * self._totals(finite)]
        for i, leaf, kind, _ in self.numeric_leaves():
            own = kind.gradient(parameters.tables[i], counts.tables[i], leaf.columns)
            parts.append(own.reshape(-1))
        return np.concatenate(parts)

    def _finite_counts(self, counts: Counts) -> Floats:
        tables = zip(self.program.leaves, counts.tables, strict=True)
        parts = [table.reshape(-1) for leaf, table in tables if leaf.kind.is_finite]
        return np.concatenate([counts.weights, *parts])

    def _totals(self, finite: Floats) -> Floats:
        if len(finite) == 0:
            return finite
        sums = np.add.reduceat(finite, self.simplices.starts)
        return np.repeat(sums, self.simplices.sizes)


def difference(one: Counts, other: Counts) -> Counts:
    """Return the counts of one pass minus those of another, with the score of the first."""
    tables = tuple(a - b for a, b in zip(one.tables, other.tables, strict=True))
    return Counts(one.weights - other.weights, tables, one.score)
