"""Rows with and without their target, for the likelihood of the target given the other cells.

log p(target | other cells) is the log-likelihood of the whole row minus that of the row without
its target, and so are its derivatives. Missing cells are marginalised in both terms. A row whose
target cells are all missing says nothing, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.hiding import hide_cells, hide_columns
from spnc.data.table import Table
from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.training.coordinates import difference


def with_target(table: Table, targets: Sequence[int]) -> Table:
    """Return the rows in which at least one of the target's cells is known."""
    known = np.zeros(table.rows, dtype=np.bool_)
    for column in targets:
        known |= ~np.isnan(table.column(column))
    return table if known.all() else table.take(np.flatnonzero(known))


def hide_at_random(
    table: Table, targets: Sequence[int], share: float, rng: np.random.Generator
) -> Table:
    """Return the table with a share of its cells hidden, but none of the target's."""
    hidden = rng.random((table.rows, table.width)) < share
    hidden[:, list(targets)] = False
    return hide_cells(table, hidden)


@dataclass(frozen=True, eq=False)
class ConditionalRows:
    """Rows as an engine loaded them, with and without their target."""

    engine: Engine
    weights: Floats
    whole: Any
    evidence: Any

    @staticmethod
    def of(
        engine: Engine, table: Table, targets: Sequence[int], *, once: bool = False
    ) -> ConditionalRows:
        """Load rows with known targets; `once` is as in `Engine.load`."""
        whole = engine.load(table, once=once)
        evidence = engine.load(hide_columns(table, targets), once=once)
        return ConditionalRows(engine, table.weights, whole, evidence)

    def scores(self, parameters: Parameters) -> tuple[Score, Score]:
        """Return the scores of the target given the other cells, and of whole rows.

        A row is impossible if the target is, given the other cells, or if the other cells are.
        """
        joint = self.engine.log_likelihood(parameters, self.whole)
        evidence = self.engine.log_likelihood(parameters, self.evidence)
        possible = joint > -np.inf
        logs = np.where(possible, joint, 0.0) - np.where(possible, evidence, 0.0)
        conditional = Score.of(np.where(possible, logs, -np.inf), self.weights)
        return conditional, Score.of(joint, self.weights)

    def counts(self, parameters: Parameters) -> Counts | None:
        """Return the expected counts of whole rows minus those of the rows without their target.

        Return None if some row is impossible: its counts would be missing in one of the terms.
        """
        whole = self.engine.expected_counts(parameters, self.whole)
        if whole.score.impossible > 0.0:
            return None
        return difference(whole, self.engine.expected_counts(parameters, self.evidence))
