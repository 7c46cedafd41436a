"""Greedy residual links, breadth first (Algorithm 4 of the paper).

A random component is copied. For every other component, the copy's nodes are visited breadth
first, and each is linked to nodes of that component whose columns include its own, until the
number of links exceeds `ratio` times the number of the copy's nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, Options, option
from spnc.registry.reads import Source
from spnc.residuals import LinkingTask
from spnc.residuals.support.receiver import Receiver, TargetKind


@RESIDUALS.register("greedy-bfs")
@dataclass(frozen=True, kw_only=True)
class GreedyBfs(Options):
    """Links from the nodes of a copied component to all others, breadth first (Algorithm 4)."""

    draws: ClassVar[bool] = True
    reads: ClassVar[tuple[Source, ...]] = ()

    ratio: float = option(
        0.15,
        "number of links per other component, as a fraction of the nodes of the component that "
        "receives them",
        above=0,
    )
    partners: Literal["all", "first", "closest"] = option(
        "all",
        "which nodes of another component a target is linked to: all whose columns include its "
        "own, the first of them from the top, or the one with the fewest columns",
    )
    bfs: Literal["snapshot", "live"] = option(
        "snapshot",
        "whether the targets are fixed when a component's turn begins, or include parts linked "
        "during it",
    )
    links: Literal["share", "copy"] = option(
        "share", "whether linked parts are shared with their component, or copies"
    )
    targets: TargetKind = option(
        "sums", "what receives links: sums only, or all nodes (others get a sum above them)"
    )
    max_edges: int = option(
        200_000, "stop drawing links when the forest has this many edges", min=1
    )

    def link(self, task: LinkingTask) -> Forest:
        """Return the forest with one more component: a copy that has the links."""
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
        """Draw the links to one component. Return False if the edges run out."""
        most = self.ratio * len(receiver.own)
        before = len(receiver.links)
        nodes = receiver.breadth_first(root, by_size=self.partners == "closest")
        visited = receiver.visit() if self.bfs == "live" else list(receiver.visit())
        for target in receiver.targets(visited, self.targets):
            for partner in receiver.candidates(target, nodes):
                if receiver.edges >= self.max_edges:
                    return False
                if receiver.draw(target, partner) and self.partners != "all":
                    break
            if len(receiver.links) - before > most:
                break
        return True
