"""The most valuable residual links first: every possible link is weighed before one is drawn.

The paper leaves it for later work to "compute the expected value of adding a residual link". Here
it is, for all pairs of a target and a node of another component (or a sample of them): the gain of
`support/link_gain.py` with the best weight that the link can have. Links are drawn in the order of
gain. A link changes what others are worth: of those to the same target that is known at once, of
all others when the targets are looked at again, which is done some twenty times. A gain that was
worked out before a change is worked out anew before its link is drawn.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.link_gain import Judge, Judged, judged_rows
from spnc.residuals.support.receiver import Receiver

_BATCH = 400  # links weighed with one pass over the rows
_LOOKS = 20  # how often the targets are looked at again


@RESIDUALS.register("best-gain")
@dataclass(frozen=True, kw_only=True)
class BestGain(Judged):
    """The links that raise the likelihood most, in the order of what they are worth."""

    ratio: float = option(
        0.15, "links for each other component, by the number of nodes of the linked one", above=0
    )
    judge_rows: int = option(3_000, "how many distinct rows of these are looked at, at most", min=1)
    warm_up: int = option(
        10, "iterations of EM on the components before links are weighed", min=0, max=10_000
    )
    tries: int = option(3_000, "possible links weighed, at most: a random sample of all", min=1)
    min_gain: float = option(
        0.0, "links worth less are not drawn, in nats per row of the data", min=0
    )

    def link(self, task: LinkingTask) -> Forest:
        """The forest with one component more, a copy with the best links."""
        task.warm_up(self.warm_up)
        receiver = self.receiver(task)
        targets = list(receiver.targets(list(receiver.visit()), self.targets))
        pairs = self._pairs(receiver, targets, task.rng)
        if not pairs:
            return receiver.finish()
        rows = judged_rows(task, self.judge, self.judge_rows)
        judge = Judge(receiver, rows, task.backend)
        judge.look_at(targets)
        values = np.empty((len(pairs), rows.rows))
        for begin in range(0, len(pairs), _BATCH):
            task.progress("links weighed", begin, len(pairs))
            batch = pairs[begin : begin + _BATCH]
            values[begin : begin + _BATCH] = judge.values([child for _, _, child in batch])
        least = self.min_gain * float(rows.weights.sum())
        most = self.ratio * len(receiver.own) * len(receiver.partners)
        changes: dict[int, int] = dict.fromkeys(targets, 0)  # how often each was looked at anew

        def weighed(i: int) -> tuple[float, int, int, float]:
            target = pairs[i][0]
            share = judge.best_share(target, values[i])
            return -judge.gain(target, values[i], share), i, changes[target], share

        heap = [weighed(i) for i in range(len(pairs))]
        heapq.heapify(heap)
        since_looking = 0
        while heap and len(receiver.links) < most:
            loss, i, seen, share = heapq.heappop(heap)
            target, partner, _ = pairs[i]
            if seen < changes[target]:
                heapq.heappush(heap, weighed(i))
            elif -loss <= least or not 0.0 < share < 1.0:
                continue
            elif receiver.edges >= self.max_edges:
                receiver.report_budget(task.sink, self.span_of("max_edges"))
                break
            elif receiver.draw(target, partner, share):
                judge.accept(target, values[i], share)
                changes[target] += 1
                since_looking += 1
                if since_looking >= most / _LOOKS:
                    task.progress("links drawn", len(receiver.links), int(most))
                    judge.look_at(targets)
                    changes = {n: count + 1 for n, count in changes.items()}
                    since_looking = 0
        return receiver.finish()

    def _pairs(
        self, receiver: Receiver, targets: list[int], rng: np.random.Generator
    ) -> list[tuple[int, int, int]]:
        """Possible links: target, partner, and what the partner is over the target's columns."""
        found = [
            (target, partner)
            for root in receiver.partners
            for nodes in [receiver.breadth_first(root)]
            for target in targets
            for partner in receiver.fitting(target, nodes)
        ]
        if len(found) > self.tries:
            chosen = np.sort(rng.choice(len(found), self.tries, replace=False)).tolist()
            found = [found[i] for i in chosen]
        made = [(target, partner, receiver.marginal(target, partner)) for target, partner in found]
        return [(target, partner, child) for target, partner, child in made if child is not None]
