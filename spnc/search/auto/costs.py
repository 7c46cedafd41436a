"""What a try will take, by what earlier tries took.

Before an iteration there is the structure, the lowering and the plan, then every iteration costs
about so much for each edge, since the rows are always the same. What the nearest in size of the
last few tries of a family took tells what the next one will; that of other families where it has
none; and guesses at the very beginning, which is why the first tries are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spnc.runs.outcome import Outcome
    from spnc.search.auto import Proposal, Tried

# Guesses, from hidden Chow-Liu trees on two cores: seconds for an edge, and for an edge and row.
SETUP_GUESS = 6e-5
PACE_GUESS = 6e-10
FINISH_GUESS = 8e-6  # to lower the best model once more, check and write it
SETUP_LEAST = 0.05  # seconds that any try takes before its first iteration
STRANGER = 1.5  # rates of another family are taken to be this much higher
# Five times the edges take 2.7 times as long on Plants and 3.8 times on Audio; fourteen times of
# 2,400 take 4 times as long on MSNBC.
GROWTH = 0.9
ANY = 5_000.0  # edges, that the smallest circuit costs as much as
RECENT = 4  # so many tries say how fast a family is
CAUTION = 1.2  # plans are made with times this much longer


@dataclass(frozen=True)
class Estimate:
    """Seconds."""

    setup: float
    pace: float  # for an iteration
    iterations: int
    wrap_up: float  # finishing, and scoring the test rows in the end

    @property
    def total(self) -> float:
        """All of it, the end apart."""
        return self.setup + self.pace * self.iterations

    @property
    def least(self) -> float:
        """Without which it is not worth beginning: training can be cut, but not everywhere."""
        worth_while = min(self.iterations, max(5.0, 0.4 * self.iterations))
        return CAUTION * (self.setup + self.pace * worth_while) + self.wrap_up


@dataclass(frozen=True)
class Costs:
    """How fast things go here."""

    rows: int  # distinct rows that an iteration looks at
    test_rows: int = 0  # distinct rows that the best model is scored on in the end

    def estimate(self, proposal: Proposal, tried: Sequence[Tried]) -> Estimate:
        """What a proposal will take: as the nearest in size, and more where it is larger."""
        edges = max(1.0, proposal.edges)
        own = [t.outcome for t in tried if t.family == proposal.family]
        others = [t.outcome for t in tried[1:] if t.family != proposal.family]
        setup, pace = SETUP_GUESS * edges, PACE_GUESS * self.rows * edges
        lowering = setup
        fixed = min((t.outcome.lowering for t in tried), default=0.0)  # whatever the size
        for outcomes, factor in ((others, STRANGER), (own, 1.0)):
            measured = [o for o in outcomes if o.setup > 0.0][-RECENT:]
            if measured:
                near = min(measured, key=lambda o: abs(o.edges - edges))
                # Structures of another family tell nothing.
                took = near.setup if outcomes is own else near.lowering
                each = max(SETUP_GUESS, (took - fixed) / (near.edges + ANY))
                setup = factor * (took + each * max(0.0, edges - near.edges))
                lowering = factor * near.lowering * max(1.0, (edges + ANY) / (near.edges + ANY))
            measured = [o for o in outcomes if o.pace > 0.0][-RECENT:]
            if measured:
                near = min(measured, key=lambda o: abs(o.edges - edges))
                pace = factor * near.pace * ((edges + ANY) / (near.edges + ANY)) ** GROWTH
        setup = 0.0 if proposal.sure else setup
        before = max(SETUP_LEAST, setup, proposal.structure)
        wrap_up = self.wrap_up(min(lowering, before), edges)
        return Estimate(before, pace, proposal.iterations, wrap_up)

    def wrap_up(self, lowering: float, edges: float) -> float:
        """Seconds from the last iteration to the written model; `lowering` is what came before it.

        Finishing lowers the circuit once more, and the test rows need a plan as the others did.
        """
        return 0.4 + max(0.6 * lowering, edges * (FINISH_GUESS + PACE_GUESS * self.test_rows))

    def wrap_up_of(self, outcome: Outcome) -> float:
        """The same for a finished try."""
        return self.wrap_up(outcome.lowering, outcome.edges)
