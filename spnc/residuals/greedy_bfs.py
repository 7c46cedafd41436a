"""Greedy residual links, breadth first (Algorithm 4 of the paper).

A random component is copied, and for every other component the copy's nodes are gone through
breadth first; each is linked to nodes of that component whose columns include its own, until more
than `ratio` times as many links are drawn as the copy has nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, Options, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.receiver import Receiver, Targets


@RESIDUALS.register("greedy-bfs")
@dataclass(frozen=True, kw_only=True)
class GreedyBfs(Options):
    """Links from the nodes of a copied component to all others, breadth first (Algorithm 4)."""

    draws: ClassVar[bool] = True

    ratio: float = option(
        0.15, "links to each other component, by the number of nodes of the linked one", above=0
    )
    partners: Literal["all", "first", "closest"] = option(
        "all",
        "which nodes of another component a target is linked to: all whose columns include its "
        "own, the first of them from the top, or the one with the fewest columns",
    )
    bfs: Literal["snapshot", "live"] = option(
        "snapshot",
        "whether the targets are those there when a component's turn comes, or also parts "
        "linked during it",
    )
    links: Literal["share", "copy"] = option(
        "share", "whether linked parts are shared with their component, or copies"
    )
    targets: Targets = option("sums", "what receives links: sums, or (by a sum on top) any node")
    max_edges: int = option(200_000, "no more links once the forest has so many edges", min=1)

    def link(self, task: LinkingTask) -> Forest:
        """The forest with one component more, a copy with links."""
        receiver = Receiver(task, self.span_of(""), share=self.links == "share")
        partners = receiver.partners
        for done, root in enumerate(partners):
            task.deadline.check()
            task.progress("linked components", done, len(partners))
            if not self._link_to(receiver, root):
                receiver.report_budget(task.sink, self.span_of("max_edges"), done + 1)
                break
        return receiver.finish()

    def _link_to(self, receiver: Receiver, root: int) -> bool:
        """Draw the links to one component; False if edges ran out."""
        most = self.ratio * len(receiver.own)
        before = len(receiver.links)
        nodes = receiver.breadth_first(root, by_size=self.partners == "closest")
        visited = receiver.visit() if self.bfs == "live" else list(receiver.visit())
        for target in receiver.targets(visited, self.targets):
            for partner in receiver.fitting(target, nodes):
                if receiver.edges >= self.max_edges:
                    return False
                if receiver.draw(target, partner) and self.partners != "all":
                    break
            if len(receiver.links) - before > most:
                break
        return True
