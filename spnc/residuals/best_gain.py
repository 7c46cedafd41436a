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
from functools import partial
from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.savepoints import Arrays, StepLog, UnusableError
from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.link_gain import JudgingStrategy, LinkJudge, judging_rows
from spnc.residuals.support.receiver import Receiver

_BATCH = 400  # links evaluated in one pass over the rows
_MEASUREMENTS = 20  # how often the targets are measured again


class _Entry(NamedTuple):
    """A possible link in the heap; the one of most gain comes first."""

    loss: float  # minus the gain
    pair: int  # its place among the possible links
    seen: int  # how often its target had changed when the gain was computed
    weight: float


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
        values = self._values(task, judge, pairs)
        least = self.min_gain * float(rows.weights.sum())
        most = self.ratio * len(receiver.own) * len(receiver.partners)
        changes: dict[int, int] = dict.fromkeys(targets, 0)  # of each target's values so far

        def entry(i: int) -> _Entry:
            target = pairs[i][0]
            weight = judge.best_weight(target, values[i])
            return _Entry(-judge.gain(target, values[i], weight), i, changes[target], weight)

        heap = [entry(i) for i in range(len(pairs))]
        heapq.heapify(heap)
        log = StepLog(task.savepoints, "drawn links")
        while (kept := log.next()) is not None:
            for place, weight in zip(kept[::2].tolist(), kept[1::2].tolist(), strict=False):
                target, partner, _ = pairs[_index(place, len(pairs))]
                if not receiver.draw(target, partner, weight):
                    raise UnusableError("a link that was drawn is not possible")
        if log.snapshot:
            judge.measure(targets)
            heap, changes = _restored(log.snapshot, targets, len(pairs))
        drawn: list[tuple[int, float]] = []  # since the targets were measured
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
                drawn.append((i, weight))
                if len(drawn) >= most / _MEASUREMENTS:
                    task.deadline.check()
                    task.progress("links drawn", len(receiver.links), int(most))
                    judge.measure(targets)
                    changes = {n: count + 1 for n, count in changes.items()}
                    log.add(np.array(drawn).ravel(), partial(_stored, heap, changes))
                    drawn = []
        return receiver.finish()

    def _values(
        self, task: LinkingTask, judge: LinkJudge, pairs: list[tuple[int, int, int]]
    ) -> Floats:
        """Return the values of all possible links for the rows that they are judged by."""
        log, width = StepLog(task.savepoints, "values of links"), judge.rows.rows
        found = np.empty((len(pairs), width))
        for begin in range(0, len(pairs), _BATCH):
            task.deadline.check()
            task.progress("links judged", begin, len(pairs))
            batch = pairs[begin : begin + _BATCH]
            kept = log.next()
            if kept is None:
                kept = judge.values([child for _, _, child in batch]).ravel()
                log.add(kept)
            if kept.shape != (len(batch) * width,):
                raise UnusableError("the values of links have the wrong shape")
            found[begin : begin + _BATCH] = kept.reshape(len(batch), width)
        return found

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


def _stored(heap: list[_Entry], changes: dict[int, int]) -> Arrays:
    """Return which links are still possible, and how often their targets have changed."""
    return {"heap": np.array(heap), "changes": np.array(list(changes.values()))}


def _restored(
    arrays: Arrays, targets: list[int], pairs: int
) -> tuple[list[_Entry], dict[int, int]]:
    """Return what was stored. Raises `UnusableError`."""
    heap, changes = arrays.get("heap"), arrays.get("changes")
    if heap is None or changes is None or heap.ndim != 2 or heap.shape[1] != len(_Entry._fields):
        raise UnusableError("the links that are still possible are missing")
    if len(changes) != len(targets):
        raise UnusableError("the targets of links are others")
    entries = [
        _Entry(loss, _index(i, pairs), int(seen), weight) for loss, i, seen, weight in heap.tolist()
    ]
    return entries, dict(zip(targets, changes.tolist(), strict=True))


def _index(place: float, pairs: int) -> int:
    """Return the place of a link among the possible ones. Raises `UnusableError`."""
    if not 0 <= place < pairs:
        raise UnusableError("a link is not one of those that are possible")
    return int(place)
