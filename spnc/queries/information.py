"""Entropy and mutual information of columns, given an event and given other columns.

All are sums and differences of joint entropies. A joint entropy is exact for columns with states,
with one numeric column at most beside them: its entropy given their states is integrated. Where two
numeric columns meet, both are divided into bins of equal probability under the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.program.program import Parameters, Program
from spnc.queries.events import Box, both
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import ValueSet

BINS = 32  # of a numeric column where it meets another one
MOST_STATES = 1 << 18  # joint states that are summed over
PIECE = 1 << 23  # nodes times joint states computed at once


class TooManyStatesError(Exception):
    """The columns have more joint states than can be summed over."""


@dataclass(frozen=True, slots=True)
class Information:
    """An entropy or a mutual information in nats; `note` says what is not exact about it."""

    nats: float
    exact: bool
    note: str = ""


def entropy(
    program: Program,
    parameters: Parameters,
    boxes: Sequence[Box],
    columns: Sequence[int],
    given: Sequence[int] = (),
) -> Information:
    """Return H[columns | given], given disjoint boxes, which must be possible.

    The entropy of a numeric column is that of its density in the column's unit.
    """
    joint = _Joint(program, parameters, boxes, {*columns, *given})
    found = joint.entropy({*columns, *given}) - joint.entropy(set(given))
    return Information(found, joint.exact, joint.note)


def mutual_information(
    program: Program,
    parameters: Parameters,
    boxes: Sequence[Box],
    first: Sequence[int],
    second: Sequence[int],
    given: Sequence[int] = (),
) -> Information:
    """Return MI[first; second | given], given disjoint boxes, which must be possible."""
    a, b, c = set(first), set(second), set(given)
    joint = _Joint(program, parameters, boxes, a | b | c)
    parts = joint.entropy(a | c) + joint.entropy(b | c) - joint.entropy(a | b | c)
    return Information(max(parts - joint.entropy(c), 0.0), joint.exact, joint.note)


class _Joint:
    """The joint distribution of some columns, given boxes."""

    def __init__(
        self, program: Program, parameters: Parameters, boxes: Sequence[Box], columns: set[int]
    ) -> None:
        self.posterior = Posterior(program, parameters, boxes)
        self.program, self.parameters = program, parameters
        numeric = sorted(i for i in columns if not program.columns[i].is_finite)
        self.exact = len(numeric) < 2
        self.note = "" if self.exact else f"numbers are divided into {BINS} bins"
        # The sets of values that stand for states, by column.
        self.states: dict[int, list[ValueSet]] = {}
        for i in sorted(columns):
            column = program.columns[i]
            if column.is_finite:
                self.states[i] = [ValueSet.codes(column, [s]) for s in range(column.states)]
            elif not self.exact:
                self.states[i] = self._bins(i)
        self.known: dict[frozenset[int], float] = {}

    def entropy(self, columns: set[int]) -> float:
        """Return the joint entropy of these columns."""
        key = frozenset(columns)
        if key not in self.known:
            self.known[key] = self._entropy(sorted(columns))
        return self.known[key]

    def _entropy(self, columns: list[int]) -> float:
        numbers = [i for i in columns if i not in self.states]
        sets = [self.states[i] for i in columns if i in self.states]
        named = [i for i in columns if i in self.states]
        if not columns:
            return 0.0
        if not named:
            return self.posterior.column(numbers[0]).entropy()
        total = 1
        for own in sets:
            total *= len(own)
        if total > MOST_STATES:
            raise TooManyStatesError
        cells = itertools.product(*sets)
        states = [dict(zip(named, cell, strict=True)) for cell in cells]
        found = 0.0
        step = max(1, PIECE // (self.program.nodes * max(1, len(self.posterior.boxes))))
        for begin in range(0, len(states), step):
            found += self._part(states[begin : begin + step], numbers)
        return found

    def _part(self, states: Sequence[Box], numbers: list[int]) -> float:
        """Return the part of a joint entropy that these states contribute."""
        pairs = [
            (place, common)
            for place, state in enumerate(states)
            for own in self.posterior.boxes
            if (common := both(own, state)) is not None
        ]
        if not pairs:
            return 0.0
        places = np.array([place for place, _ in pairs])
        within = Posterior(self.program, self.parameters, [box for _, box in pairs])
        root = within.log_values[self.program.root] - self.posterior.log_probability
        chances = np.bincount(places, weights=np.exp(root), minlength=len(states))
        some = chances[chances > 0.0]
        found = float(-(some * np.log(some)).sum())
        for place in np.flatnonzero(chances > 0.0).tolist() if numbers else ():
            own = np.flatnonzero(places == place).tolist()
            found += chances[place] * within.column(numbers[0], own).entropy()
        return found

    def _bins(self, column: int) -> list[ValueSet]:
        """Return bins of about equal probability, or single values of a count if these are few."""
        known = self.program.columns[column]
        mixture = self.posterior.column(column)
        cuts = np.unique(mixture.quantiles(np.arange(1, BINS) / BINS))
        if known.kind == "count":
            top = mixture.quantile(1.0 - 1e-12)
            if top < BINS:
                cuts = np.arange(top)
            ends = [-1.0, *cuts.tolist(), np.inf]
            return [
                ValueSet.of(known, [(low + 1.0, high)]) for low, high in itertools.pairwise(ends)
            ]
        ends = [-np.inf, *cuts.tolist(), np.inf]
        return [ValueSet.of(known, [span]) for span in itertools.pairwise(ends)]
