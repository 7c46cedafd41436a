"""Estimates of what a try will cost, from what earlier tries took.

Before the first iteration come the structure, the lowering and the plan; then every iteration costs
a roughly constant time per edge, since the rows are always the same. The estimate follows the try
of the same family that is nearest in size among the last few; tries of other families where it has
none; and guesses at the very beginning, which is why the first tries are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spnc.runs.outcome import Outcome
from spnc.search.auto.proposal import FinishedTry, Proposal

# Guesses, from hidden Chow-Liu trees on two cores: seconds per edge, and per edge and row.
SETUP_GUESS = 6e-5
PACE_GUESS = 6e-10
FINISH_GUESS = 8e-6  # seconds per edge to lower the best model once more, check and write it
PAIR_SECONDS = 5e-7  # of a pair of columns, to count it and to find a tree
SETUP_LEAST = 0.05  # seconds that any try takes before its first iteration
STRANGER = 1.5  # factor on the rates of another family
# Five times the edges take 2.7 times as long on Plants and 3.8 times on Audio; fourteen times of
# 2,400 take 4 times as long on MSNBC.
GROWTH = 0.9
OVERHEAD_EDGES = 5_000.0  # fixed cost of a pass, in edges
RECENT = 4  # tries that say how fast a family is
CAUTION = 1.2  # factor on estimated times in plans
# Rules of thumb; no measurement of them is recorded.
LEAST_ITERATIONS = 5.0  # a try has to have time for this many iterations, or
LEAST_SHARE = 0.4  # for this share of those expected, whichever is more
WRAP_UP_LEAST = 0.4  # seconds that any model takes from the last iteration to the written file
LOWERING_AGAIN = 0.6  # time to lower the trained circuit, as a share of the first lowering


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a try, in seconds."""

    setup: float
    pace: float  # for an iteration
    iterations: int
    wrap_up: float  # finishing, and scoring the test rows in the end

    @property
    def total(self) -> float:
        """Everything but the wrap-up."""
        return self.setup + self.pace * self.iterations

    @property
    def least(self) -> float:
        """The least time that makes it worth beginning: training can be cut, but not everywhere."""
        worth_while = min(self.iterations, max(LEAST_ITERATIONS, LEAST_SHARE * self.iterations))
        return CAUTION * (self.setup + self.pace * worth_while) + self.wrap_up


@dataclass(frozen=True)
class Costs:
    """How many rows a pass looks at; estimates from these and from finished tries."""

    rows: int  # distinct rows that an iteration looks at
    test_rows: int = 0  # distinct rows that the best model is scored on in the end

    def estimate(self, proposal: Proposal, tried: Sequence[FinishedTry]) -> Estimate:
        """Return what a proposal will cost: as the try nearest in size, more if it is larger."""
        edges = max(1.0, proposal.edges)
        own = [t.outcome for t in tried if t.family == proposal.family]
        others = [t.outcome for t in tried[1:] if t.family != proposal.family]
        setup, pace = SETUP_GUESS * edges, PACE_GUESS * self.rows * edges
        lowering = setup
        fixed = min((t.outcome.lowering for t in tried), default=0.0)  # independent of the size
        for outcomes, factor in ((others, STRANGER), (own, 1.0)):
            measured = [o for o in outcomes if o.setup > 0.0][-RECENT:]
            if measured:
                near = min(measured, key=lambda o: abs(o.edges - edges))
                # The structure of another family says nothing about this one's.
                took = near.setup if outcomes is own else near.lowering
                each = max(SETUP_GUESS, (took - fixed) / (near.edges + OVERHEAD_EDGES))
                setup = factor * (took + each * max(0.0, edges - near.edges))
                lowering = (
                    factor
                    * near.lowering
                    * max(1.0, (edges + OVERHEAD_EDGES) / (near.edges + OVERHEAD_EDGES))
                )
            measured = [o for o in outcomes if o.pace > 0.0][-RECENT:]
            if measured:
                near = min(measured, key=lambda o: abs(o.edges - edges))
                pace = (
                    factor
                    * near.pace
                    * ((edges + OVERHEAD_EDGES) / (near.edges + OVERHEAD_EDGES)) ** GROWTH
                )
        setup = 0.0 if proposal.sure else setup
        before = max(SETUP_LEAST, setup, proposal.structure)
        wrap_up = self.wrap_up(min(lowering, before), edges)
        return Estimate(before, pace, proposal.iterations, wrap_up)

    def wrap_up(self, lowering: float, edges: float) -> float:
        """Return the seconds from the last iteration to the written model.

        `lowering` is what lowering took before training: finishing lowers the circuit once more,
        and the test rows need a plan as the others did.
        """
        finishing = edges * (FINISH_GUESS + PACE_GUESS * self.test_rows)
        return WRAP_UP_LEAST + max(LOWERING_AGAIN * lowering, finishing)

    def wrap_up_of(self, outcome: Outcome) -> float:
        """Return the wrap-up seconds of a finished try."""
        return self.wrap_up(outcome.lowering, outcome.edges)
