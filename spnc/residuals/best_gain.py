"""The most valuable residual links first: all possible links are ranked before one is drawn.

The paper leaves it for later work to "compute the expected value of adding a residual link". This
strategy computes it for all pairs of a target and a node of another component (or for a sample of
them), as the gain of `support/link_gain.py` with the best weight that the link can have. Links are
drawn in decreasing order of gain. Every link changes the gains of others: those to the same target
are updated at once, all others when the targets are measured again, which happens about twenty
times. A gain that is out of date is recomputed before its link is drawn.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.link_gain import JudgingStrategy, LinkJudge, judging_rows
from spnc.residuals.support.receiver import Receiver

_BATCH = 400  # links evaluated in one pass over the rows
_MEASUREMENTS = 20  # how often the targets are measured again


@RESIDUALS.register("best-gain")
@dataclass(frozen=True, kw_only=True)
class BestGain(JudgingStrategy):
    """The links that raise the likelihood most, in decreasing order of gain."""

    ratio: float = option(
        0.15,
        "number of links per other component, as a fraction of the nodes of the component that "
        "receives them",
        above=0,
    )
    judge_rows: int = option(3_000, "judge by at most this many distinct rows, sampled", min=1)
    warm_up: int = option(
        10, "iterations of EM on the components before links are judged", min=0, max=10_000
    )
    tries: int = option(3_000, "judge at most this many possible links, sampled", min=1)
    min_gain: float = option(
        0.0, "the least gain of a link that is drawn, in nats per row of the data", min=0
    )

    def link(self, task: LinkingTask) -> Forest:
        """Return the forest with one more component: a copy that has the best links."""
        task.pretrain(self.warm_up)
        receiver = self.receiver(task)
        targets = list(receiver.targets(list(receiver.visit()), self.targets))
        pairs = self._pairs(receiver, targets, task.rng)
        if not pairs:
            return receiver.finish()
        rows = judging_rows(task, self.judge, self.judge_rows)
        judge = LinkJudge(receiver, rows, task.backend)
        judge.measure(targets)
        values = np.empty((len(pairs), rows.rows))
        for begin in range(0, len(pairs), _BATCH):
            task.deadline.check()
            task.progress("links judged", begin, len(pairs))
            batch = pairs[begin : begin + _BATCH]
            values[begin : begin + _BATCH] = judge.values([child for _, _, child in batch])
        least = self.min_gain * float(rows.weights.sum())
        most = self.ratio * len(receiver.own) * len(receiver.partners)
        changes: dict[int, int] = dict.fromkeys(targets, 0)  # of each target's values so far

        def entry(i: int) -> tuple[float, int, int, float]:
            target = pairs[i][0]
            weight = judge.best_weight(target, values[i])
            return -judge.gain(target, values[i], weight), i, changes[target], weight

        heap = [entry(i) for i in range(len(pairs))]
        heapq.heapify(heap)
        since_measuring = 0
        while heap and len(receiver.links) < most:
            loss, i, seen, weight = heapq.heappop(heap)
            target, partner, _ = pairs[i]
            if seen < changes[target]:
                heapq.heappush(heap, entry(i))
            elif -loss <= least or not 0.0 < weight < 1.0:
                continue
            elif receiver.edges >= self.max_edges:
                receiver.report_budget(task.sink, self.span_of("max_edges"))
                break
            elif receiver.draw(target, partner, weight):
                judge.accept(target, values[i], weight)
                changes[target] += 1
                since_measuring += 1
                if since_measuring >= most / _MEASUREMENTS:
                    task.deadline.check()
                    task.progress("links drawn", len(receiver.links), int(most))
                    judge.measure(targets)
                    changes = {n: count + 1 for n, count in changes.items()}
                    since_measuring = 0
        return receiver.finish()

    def _pairs(
        self, receiver: Receiver, targets: list[int], rng: np.random.Generator
    ) -> list[tuple[int, int, int]]:
        """Return possible links: target, partner, and the partner's marginal."""
        found = [
            (target, partner)
            for root in receiver.partners
            for nodes in [receiver.breadth_first(root)]
            for target in targets
            for partner in receiver.candidates(target, nodes)
        ]
        if len(found) > self.tries:
            chosen = np.sort(rng.choice(len(found), self.tries, replace=False)).tolist()
            found = [found[i] for i in chosen]
        made = [(target, partner, receiver.marginal(target, partner)) for target, partner in found]
        return [(target, partner, child) for target, partner, child in made if child is not None]
