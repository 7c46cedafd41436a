"""`Posterior`: a model given an event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from spnc.backends.passes import ByChild, downward, logs
from spnc.common.arrays import Floats
from spnc.program.program import Parameters, Program
from spnc.queries.column_mixture import ColumnMixture, Part
from spnc.queries.events import EVERYTHING, Box, both
from spnc.queries.evidence import log_probability, log_sum, node_log_values


class Posterior:
    """A model given that a row is in one of some disjoint boxes. All its answers are exact.

    With `cells`, it is also given the known cells of a row, NaN where missing, each by its density.
    """

    def __init__(
        self,
        program: Program,
        parameters: Parameters,
        boxes: Sequence[Box] = (EVERYTHING,),
        cells: Floats | None = None,
    ) -> None:
        self.program, self.parameters, self.boxes = program, parameters, list(boxes)
        self.cells = cells
        self.log_values = node_log_values(program, parameters, self.boxes, cells)  # [node, box]
        self.log_probability = log_sum(self.log_values[program.root])

    @property
    def is_possible(self) -> bool:
        """Whether the event has a positive probability."""
        return self.log_probability > -np.inf

    def log_probability_of(self, boxes: Sequence[Box]) -> float:
        """Return the log probability of one of these disjoint boxes, given the event.

        It is NaN if the event is impossible.
        """
        if not self.is_possible:
            return float("nan")
        common = [both(own, box) for own in self.boxes for box in boxes]
        known = [box for box in common if box is not None]
        found = log_probability(self.program, self.parameters, known, self.cells)
        return min(found - self.log_probability, 0.0)  # above zero only by rounding

    @cached_property
    def flows(self) -> Floats:
        """The probability that each node generates its columns, by box, `[node, box]`.

        Given the event, that is: the flow through the root adds up to one over all boxes.
        """
        root = self.log_values[self.program.root]
        shares = np.exp(root - self.log_probability) if self.is_possible else np.zeros_like(root)
        edges = [ByChild.of(segment) for segment in self.program.segments]
        weights = logs(self.parameters.weights)
        return downward(self.program, edges, weights, self.log_values, shares)

    def column(self, column: int, places: Sequence[int] | None = None) -> ColumnMixture:
        """Return the distribution of a column, given the event, which must be possible.

        With `places`, it is given the boxes at these places, which must be possible together. The
        column is none of the known cells.
        """
        total = 1.0
        if places is None:
            places = range(len(self.boxes))
        else:
            total = float(self.flows[self.program.root, list(places)].sum())
        parts = []
        for leaf, table in zip(self.program.leaves, self.parameters.tables, strict=True):
            own = np.flatnonzero(leaf.variables == column)
            for place in places:
                flow = self.flows[leaf.first + own, place] / total
                taken = own[flow > 0.0]
                if len(taken):
                    known = leaf.columns.take(taken)
                    weights = flow[flow > 0.0]
                    parts += Part.restricted(
                        leaf, table[taken], known, weights, self.boxes[place].get(column)
                    )
        return ColumnMixture(self.program.columns[column], parts)
