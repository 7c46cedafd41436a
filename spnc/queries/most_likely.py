"""The most likely values of some columns, given an event, with an upper bound.

All other columns are summed out first. What is left is a search: by enumeration where the columns
have few joint states, otherwise best first, by an upper bound for every partial row, until nothing
better can be left or the budget is spent. In a sum the largest probability is at most the sum of
the largest probabilities of its children; that is the bound. It is often not reached, so a result
is exact only if the search has come to its end.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.backends.passes import ByChild, downward, logs, upward
from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.queries.column_mixture import ColumnMixture, Part
from spnc.queries.condition import conditioned
from spnc.queries.events import Box
from spnc.queries.marginal import marginalised

ENUMERATED = 1 << 14  # joint states up to which all are compared
BUDGET = 1 << 10  # partial rows that are extended
ROUNDS = 20  # of improving a row column by column
CELLS = 1 << 23  # nodes times rows computed at once
SLACK = 1e-9  # by which a bound may exceed a value that reaches it, relatively, from rounding


@dataclass(frozen=True, slots=True)
class MostLikely:
    """A row of values, NaN for the columns that were not asked for.

    `log_value` is the log of its probability, or of its density, given the event; no row has more
    than `upper_bound`. With `exact`, no row has more than `log_value`.
    """

    row: Floats
    log_value: float
    upper_bound: float
    exact: bool


def most_likely(
    program: Program, parameters: Parameters, boxes: Sequence[Box], columns: Sequence[int]
) -> MostLikely:
    """Return the most likely values of these columns, given disjoint boxes.

    Raises `ImpossibleError` if the boxes have probability zero.
    """
    small = lower(conditioned(program, parameters, boxes))
    if len(columns) < len(program.columns):
        small = lower(marginalised(*small, columns))
        order = list(range(len(columns)))
    else:
        order = list(columns)
    row, value, bound = _Search(*small).run()
    found = np.full(len(program.columns), np.nan)
    found[list(columns)] = row[order]
    exact = bound <= value + SLACK * max(1.0, abs(value))
    return MostLikely(found, value, max(bound, value), exact)


class _Search:
    """Looks for the most likely row of a circuit."""

    def __init__(self, program: Program, parameters: Parameters) -> None:
        self.program, self.parameters = program, parameters
        self.log_weights = logs(parameters.weights)
        self.edges = [ByChild.of(segment) for segment in program.segments]
        self.peaks = self._peaks()
        self.best = np.zeros(len(program.columns))
        self.value = -np.inf

    def run(self) -> tuple[Floats, float, float]:
        """Return the best row found, its log value, and an upper bound for all rows."""
        columns = self.program.columns
        self._consider(self._improved(self._traced()))
        sizes = [column.states for column in columns]
        if all(c.is_finite for c in columns) and _product(sizes) <= ENUMERATED:
            rows = np.array(list(itertools.product(*map(range, sizes))), dtype=np.float64)
            for part in np.array_split(rows, self._pieces(len(rows))):
                values = self._values(part, exact=True)
                at = int(np.argmax(values))
                if values[at] > self.value:
                    self.best, self.value = part[at], float(values[at])
            return self.best, self.value, self.value
        return self.best, self.value, self._bounded()

    def _bounded(self) -> float:
        """Extend partial rows, most promising first. Return the bound of what is left."""
        columns = self.program.columns
        finite = [i for i, column in enumerate(columns) if column.is_finite]
        empty = np.full(len(columns), np.nan)
        start = float(self._values(empty[None], exact=False)[0])
        queue: list[tuple[float, int, int, Floats]] = [(-start, 0, 0, empty)]
        closed = -np.inf  # the largest bound of a row that cannot be extended
        for count in range(1, BUDGET + 1):
            if not queue or -queue[0][0] <= self.value + SLACK:
                break
            bound, _, depth, row = heapq.heappop(queue)
            if depth == len(finite):
                self._consider(self._improved(self._filled(row)))
                closed = max(closed, -bound)
                continue
            i = finite[depth]
            rows = np.repeat(row[None], columns[i].states, axis=0)
            rows[:, i] = np.arange(columns[i].states)
            bounds = self._values(rows, exact=False)
            for state, own in enumerate(bounds.tolist()):
                if own > self.value:
                    key = count * max(c.states for c in columns if c.is_finite) + state
                    heapq.heappush(queue, (-own, key, depth + 1, rows[state]))
            if depth + 1 == len(finite) and len(finite) == len(columns):
                self._consider(rows[int(np.argmax(bounds))])
        rest = -queue[0][0] if queue else -np.inf
        return max(rest, closed, self.value)

    def _consider(self, row: Floats) -> None:
        value = float(self._values(row[None], exact=True)[0])
        if value > self.value:
            self.best, self.value = row, value

    def _pieces(self, rows: int) -> int:
        return max(1, -(-rows * self.program.nodes // CELLS))

    def _peaks(self) -> Floats:
        """Return the largest log density of each leaf."""
        found = []
        for leaf, table in zip(self.program.leaves, self.parameters.tables, strict=True):
            modes = leaf.kind.mode(table, leaf.columns)
            found.append(leaf.kind.log_density(table, modes[:, None], leaf.columns)[:, 0])
        return np.concatenate(found)

    def _leaf_values(self, rows: Floats, *, exact: bool) -> Floats:
        """Return log densities of rows at leaves, in an array for all nodes.

        A missing cell counts one if `exact`, and the largest density of the leaf otherwise.
        """
        values = np.empty((self.program.nodes, len(rows)))
        for leaf, table in zip(self.program.leaves, self.parameters.tables, strict=True):
            cells = rows.T[leaf.variables]
            own = leaf.kind.log_density(table, cells, leaf.columns)
            if not exact:
                own = np.where(np.isnan(cells), self.peaks[leaf.first : leaf.last, None], own)
            values[leaf.first : leaf.last] = own
        return values

    def _values(self, rows: Floats, *, exact: bool) -> Floats:
        """Return the log value of each row, or an upper bound of all rows with its known cells."""
        values = self._leaf_values(rows, exact=exact)
        found: Floats = upward(self.program, self.log_weights, values)[self.program.root]
        return found

    def _traced(self) -> Floats:
        """Return the row of the single most probable way down the circuit."""
        values, chosen = self.peaks.tolist(), {}
        for segment in self.program.segments:
            weights = self.log_weights[segment.slots] if segment.is_sum else None
            starts = segment.starts.tolist()
            for n, (a, b) in enumerate(itertools.pairwise(starts), segment.first):
                children = segment.children[a:b].tolist()
                if weights is None:
                    values.append(sum(values[child] for child in children))
                    chosen[n] = children
                    continue
                terms = [values[c] + w for c, w in zip(children, weights[a:b], strict=True)]
                at = int(np.argmax(terms))
                values.append(terms[at])
                chosen[n] = [children[at]]
        return self._modes(_leaves_below(self.program.root, chosen))

    def _modes(self, leaves: Sequence[int]) -> Floats:
        """Return the modes of leaves, one of each column, as a row."""
        row = np.full(len(self.program.columns), np.nan)
        for leaf, table in zip(self.program.leaves, self.parameters.tables, strict=True):
            own = np.array([n for n in leaves if leaf.first <= n < leaf.last], dtype=np.int64)
            places = own - leaf.first
            modes = leaf.kind.mode(table[places], leaf.columns.take(places))
            row[leaf.variables[places]] = modes
        return row

    def _filled(self, row: Floats) -> Floats:
        """Return a partial row with the missing cells of the best row so far."""
        return np.where(np.isnan(row), self.best, row)

    def _improved(self, row: Floats) -> Floats:
        """Replace one cell after the other by its mode given the others, while that helps."""
        row = row.copy()
        value = float(self._values(row[None], exact=True)[0])
        for _ in range(ROUNDS):
            before = value
            for i, column in enumerate(self.program.columns):
                changed = row.copy()
                changed[i] = self._mode(row, i, column)
                own = float(self._values(changed[None], exact=True)[0])
                if own > value:
                    row, value = changed, own
            if not value > before:
                break
        return row

    def _mode(self, row: Floats, i: int, column: Column) -> float:
        """Return the most likely value of a column, given all others."""
        rest = row.copy()
        rest[i] = np.nan
        values = self._leaf_values(rest[None], exact=True)
        upward(self.program, self.log_weights, values)
        if values[self.program.root, 0] == -np.inf:
            return float(row[i])
        flows = downward(self.program, self.edges, self.log_weights, values, np.ones(1))[:, 0]
        parts = []
        for leaf, table in zip(self.program.leaves, self.parameters.tables, strict=True):
            own: Ints = np.flatnonzero(
                (leaf.variables == i) & (flows[leaf.first : leaf.last] > 0.0)
            )
            if len(own):
                known, shares = leaf.columns.take(own), flows[leaf.first + own]
                parts += Part.restricted(leaf, table[own], known, shares, None)
        return ColumnMixture(column, parts).mode()


def _leaves_below(root: int, chosen: dict[int, list[int]]) -> list[int]:
    found, stack = [], [root]
    while stack:
        n = stack.pop()
        if n in chosen:
            stack += chosen[n]
        else:
            found.append(n)
    return found


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
        if total > ENUMERATED:
            break
    return total
