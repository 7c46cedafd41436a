"""Informed residual links: as `greedy-bfs`, but only those that help (the paper's InfoResSPN).

A link is kept if it raises the likelihood of the rows that its target is responsible for. The
responsibility for a row is the flow through the target (see `support/link_gain.py`), not the
learner's own split of the rows. So it is defined for the components of any learner and for
validation rows, and follows the current parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.savepoints import StepLog, UnusableError
from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.link_gain import JudgingStrategy, LinkJudge, judging_rows
from spnc.residuals.support.receiver import Receiver

_BATCH = 400  # links judged in one pass over the rows, and targets measured in one


@RESIDUALS.register("informed")
@dataclass(frozen=True, kw_only=True)
class Informed(JudgingStrategy):
    """Links as drawn by `greedy-bfs`, each kept only if it helps the rows its target explains."""

    ratio: float = option(
        0.1,
        "number of links kept per other component, as a fraction of the nodes of the component "
        "that receives them",
        above=0,
    )
    judge_rows: int = option(5_000, "judge by at most this many distinct rows, sampled", min=1)
    weights: Literal["slices", "fitted"] = option(
        "slices",
        "the weight that a link is judged with and starts with: from the numbers of rows behind "
        "both ends, or the best one",
    )
    warm_up: int = option(
        0, "iterations of EM on the components before links are judged", min=0, max=10_000
    )
    partners: Literal["all", "first", "closest"] = option(
        "all",
        "which nodes of another component are tried for a target: all whose columns include its "
        "own, the first of them from the top, or the one with the fewest columns",
    )
    tries: int = option(5_000, "try at most this many links per other component", min=1)

    def link(self, task: LinkingTask) -> Forest:
        """Return the forest with one more component: a copy that has the links that help."""
        task.pretrain(self.warm_up)
        receiver = self.receiver(task)
        rows = judging_rows(task, self.judge, self.judge_rows)
        judge = LinkJudge(receiver, rows, task.backend)
        log = StepLog(task.savepoints, "judged links")
        partners = receiver.partners
        for done, root in enumerate(partners):
            task.deadline.check()
            task.progress("linked components", done, len(partners))
            if not self._link_to(receiver, judge, log, root):
                receiver.report_budget(task.sink, self.span_of("max_edges"), done + 1)
                break
        return receiver.finish()

    def _link_to(self, receiver: Receiver, judge: LinkJudge, log: StepLog, root: int) -> bool:
        """Draw the links to one component that help. Return False if the edges run out.

        The log has the weights of the links that were drawn in each batch, 0 for all others.
        """
        most = self.ratio * len(receiver.own)
        before = len(receiver.links)
        targets = list(receiver.targets(list(receiver.visit()), self.targets))
        if not targets:
            return True
        pairs = islice(self._pairs(receiver, targets, root), self.tries)
        measured: set[int] = set()
        is_live = True  # whether the batch before was judged, not taken from the log
        while batch := list(islice(pairs, _BATCH)):
            group = [] if measured.issuperset(target for target, _, _ in batch) else targets
            if group:
                begin = targets.index(batch[0][0])
                group = targets[begin : begin + _BATCH]
                measured = set(group)
            kept = log.next()
            values = None
            if kept is None:
                if group:
                    judge.measure(group)
                elif not is_live:
                    judge.take_up(log.snapshot)
                values = judge.values([child for _, _, child in batch])
            elif len(kept) != len(batch):
                raise UnusableError("a batch of links is not one of these")
            is_live = kept is None
            weights = np.zeros(len(batch))
            over = ended = False
            for i, (target, partner, _) in enumerate(batch):
                weight = 0.0 if kept is None else float(kept[i])
                if values is not None:
                    weight = self._judged(receiver, judge, target, partner, values[i])
                if weight == 0.0:
                    continue
                if over := receiver.edges >= self.max_edges:
                    break
                if receiver.draw(target, partner, weight):
                    weights[i] = weight
                    if values is not None:
                        judge.accept(target, values[i], weight)
                if ended := len(receiver.links) - before > most:
                    break
            if kept is None and not over:
                log.add(weights, judge.stored)
            if over or ended:
                return not over
        return True

    def _judged(
        self, receiver: Receiver, judge: LinkJudge, target: int, partner: int, values: Floats
    ) -> float:
        """Return the weight of a link that helps, 0 for one that does not."""
        weight = receiver.initial_weight(target, partner)
        if self.weights == "fitted":
            weight = judge.best_weight(target, values)
        if not 0.0 < weight < 1.0 or judge.gain(target, values, weight) <= 0.0:
            return 0.0
        return weight

    def _pairs(
        self, receiver: Receiver, targets: list[int], root: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield possible links: target, partner, and the partner's marginal."""
        nodes = receiver.breadth_first(root, by_size=self.partners == "closest")
        for target in targets:
            for partner in receiver.candidates(target, nodes):
                child = receiver.marginal(target, partner)
                if child is not None:
                    yield target, partner, child
                    if self.partners != "all":
                        break
