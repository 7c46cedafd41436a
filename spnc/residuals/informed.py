"""Informed residual links: as `greedy-bfs`, but only those that help (the paper's InfoResSPN).

A link is kept if it raises the likelihood of the rows that its target is responsible for. How far
that is for a row the flow through the target says (see `support/link_gain.py`), not the learner's
own splits: so components of any learner have such rows, validation rows have them too, and they
follow what the parameters say now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.link_gain import Judge, Judged, judged_rows
from spnc.residuals.support.receiver import Receiver

_BATCH = 400  # links judged with one pass over the rows; and targets with one pass of flows


@RESIDUALS.register("informed")
@dataclass(frozen=True, kw_only=True)
class Informed(Judged):
    """Links as drawn by `greedy-bfs`, each kept only if it helps the rows its target explains."""

    ratio: float = option(
        0.1, "links kept to each other component, by the number of nodes of the linked one", above=0
    )
    judge_rows: int = option(5_000, "how many distinct rows of these are looked at, at most", min=1)
    weights: Literal["slices", "fitted"] = option(
        "slices",
        "the weight that a link is judged with, and starts with: by the numbers of rows behind "
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
    tries: int = option(5_000, "links tried to each other component, at most", min=1)

    def link(self, task: LinkingTask) -> Forest:
        """The forest with one component more, a copy with the links that help."""
        task.warm_up(self.warm_up)
        receiver = self.receiver(task)
        rows = judged_rows(task, self.judge, self.judge_rows)
        judge = Judge(receiver, rows, task.backend)
        partners = receiver.partners
        for done, root in enumerate(partners):
            task.progress("linked components", done, len(partners))
            if not self._link_to(receiver, judge, root):
                receiver.report_budget(task.sink, self.span_of("max_edges"), done + 1)
                break
        return receiver.finish()

    def _link_to(self, receiver: Receiver, judge: Judge, root: int) -> bool:
        """Draw the links to one component that help; False if edges ran out."""
        most = self.ratio * len(receiver.own)
        before = len(receiver.links)
        targets = list(receiver.targets(list(receiver.visit()), self.targets))
        if not targets:
            return True
        pairs = islice(self._pairs(receiver, targets, root), self.tries)
        looked_at: set[int] = set()
        while batch := list(islice(pairs, _BATCH)):
            if not looked_at.issuperset(target for target, _, _ in batch):
                begin = targets.index(batch[0][0])
                group = targets[begin : begin + _BATCH]
                judge.look_at(group)
                looked_at = set(group)
            values = judge.values([child for _, _, child in batch])
            for (target, partner, _), own in zip(batch, values, strict=True):
                share = receiver.share_of(target, partner)
                if self.weights == "fitted":
                    share = judge.best_share(target, own)
                if not 0.0 < share < 1.0 or judge.gain(target, own, share) <= 0.0:
                    continue
                if receiver.edges >= self.max_edges:
                    return False
                if receiver.draw(target, partner, share):
                    judge.accept(target, own, share)
                if len(receiver.links) - before > most:
                    return True
        return True

    def _pairs(
        self, receiver: Receiver, targets: list[int], root: int
    ) -> Iterator[tuple[int, int, int]]:
        """Possible links: target, partner, and what the partner is over the target's columns."""
        nodes = receiver.breadth_first(root, by_size=self.partners == "closest")
        for target in targets:
            for partner in receiver.fitting(target, nodes):
                child = receiver.marginal(target, partner)
                if child is not None:
                    yield target, partner, child
                    if self.partners != "all":
                        break
