"""The component that receives residual links: a copy of one of the forest's, and what it gains.

A link is one more child of a sum: a node of another component (the partner), marginalised to the
sum's columns. Only nodes of the receiver's own are changed: those of the copy, and those that were
made by marginalising. What it shares with a partner stays as it is, so that the components it
draws from are the same before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from spnc.diagnostics import Sink, Span, counted
from spnc.graph.copying import copy_below
from spnc.graph.marginals import Marginals
from spnc.graph.nodes import Node, Origin, Sum, below, children_first
from spnc.graph.scopes import scopes
from spnc.residuals import Forest, Linking

Targets = Literal["sums", "all"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link that was drawn: a sum's new child, what it is the marginal of, and its weight then."""

    target: int  # the node that was to be improved: the sum itself, or one that it now stands above
    partner: int  # the node that was marginalised
    child: int
    weight: float


class Receiver:
    """A copy of a component of the forest, picked at random, that links are added to."""

    def __init__(self, task: Linking, span: Span | None = None, *, share: bool = True) -> None:
        self.forest, self.builder = task.forest, task.forest.builder
        self._sink, self._span = task.sink, span
        self.graph = self.builder.graph
        self.chosen = int(task.rng.integers(len(task.forest.roots)))
        original = task.forest.roots[self.chosen]
        self.builder.origin = Origin(f"component {self.chosen + 1}, copied to receive links")
        made = copy_below(self.builder, self.graph, original)
        self.root = made[original]
        self.builder.origin = Origin(f"a residual link of component {self.chosen + 1}'s copy")
        order = children_first(self.graph)
        self.scope = cast("dict[int, int]", scopes(self.graph, order))
        self.own = set(made.values())
        self.links: list[Link] = []
        self._over_budget = False
        self._marginals = Marginals(self.builder, self.scope, share=share)
        self.edges = self.graph.number_of_edges()  # of the linked forest
        self._wrapped: dict[int, int] = {}  # the sum that was put above a node that is none
        self._rows: dict[int, float] = {}  # behind the children of each sum with links

    @property
    def partners(self) -> list[int]:
        """The roots of the other components."""
        roots = enumerate(self.forest.roots)
        return [root for i, root in roots if i != self.chosen and root != self.root]

    def node(self, n: int) -> Node:
        """A node's payload."""
        return cast("Node", self.graph.nodes[n]["node"])

    def visit(self) -> Iterator[int]:
        """The receiver's own nodes, breadth first, root first; those too that come on the way."""
        seen, queue = {self.root}, [self.root]
        for n in queue:
            yield n
            new = [*self.graph.succ[n], *self.graph.succ.get(self._wrapped.get(n), ())]
            queue += [c for c in dict.fromkeys(new) if c in self.own and c not in seen]
            seen.update(new)

    def targets(self, nodes: Iterable[int], kind: Targets) -> Iterator[int]:
        """Which of the nodes may receive links. The root may not; others have to be sums, or

        (with "all") get a sum above them that has them and the link for children.
        """
        for n in nodes:
            if n != self.root and (kind == "all" or isinstance(self.node(n), Sum)):
                yield n

    def breadth_first(self, root: int, *, by_size: bool = False) -> list[int]:
        """The nodes of another component, from the top; or those with the fewest columns first."""
        nodes = list(below(self.graph, root))
        if by_size:
            nodes.sort(key=lambda n: self.scope[n].bit_count())
        return nodes

    def fitting(self, target: int, nodes: Iterable[int]) -> Iterator[int]:
        """Those among the nodes that say something about all the target's columns."""
        wanted, scope = self.scope[target], self.scope
        return (n for n in nodes if wanted & ~scope[n] == 0)

    def marginal(self, target: int, partner: int) -> int | None:
        """The child that a link would give; None if there can be no such link.

        There is none to a node that is a child already, or that the target lies below.
        """
        child = self._marginals.of(partner, self.scope[target])
        taker = self._wrapped.get(target, target)
        if self.graph.has_edge(taker, child) or self._reaches(child, taker):
            return None
        return child

    def _reaches(self, start: int, goal: int) -> bool:
        """Whether there is a way down. Every node on it has the goal's columns, or more."""
        seen, queue = {start}, [start]
        for n in queue:
            if n == goal:
                return True
            more = [c for c in self.graph.succ[n] if self.scope[c] == self.scope[goal]]
            queue += [c for c in more if c not in seen]
            seen.update(more)
        return False

    def share_of(self, target: int, partner: int) -> float:
        """The weight of a new link: what part of the rows behind both is behind the partner.

        Where that is not known, as with circuits written by hand, a new child weighs as much as
        the others do on average.
        """
        node = self.node(target)
        old, new = self._rows.get(target, node.rows), self.node(partner).rows
        if old > 0.0 and new > 0.0:
            return new / (old + new)
        taker = self._wrapped.get(target, target)
        count = len(self.graph.succ[taker]) if isinstance(self.node(taker), Sum) else 1
        return 1.0 / (1 + count)

    def draw(self, target: int, partner: int, share: float | None = None) -> bool:
        """Draw a link, if there can be one. Its weight is `share`, or `share_of` the two."""
        child = self.marginal(target, partner)
        if child is None:
            return False
        if share is None:
            share = self.share_of(target, partner)
        rows = self._rows.get(target, self.node(target).rows)
        taker = self._wrapped.get(target, target)
        if taker == target and not isinstance(self.node(target), Sum):
            taker = self._wrap(target)
        for data in self.graph.succ[taker].values():
            data["weight"] *= 1.0 - share
        self.builder.connect(taker, child, share)
        self.edges += 1
        self._own(child)
        self._rows[target] = rows + self.node(partner).rows
        self.links.append(Link(target, partner, child, share))
        return True

    def _wrap(self, target: int) -> int:
        """A new sum that takes the place of a node, which becomes its only child."""
        graph = self.graph
        made = self.builder.sum([target], [1.0], self.node(target).rows)
        for parent, data in list(graph.pred[target].items()):
            if parent != made:
                graph.remove_edge(parent, target)
                self.builder.connect(parent, made, data.get("weight"))
        self.scope[made] = self.scope[target]
        self.own.add(made)
        self.edges += 1
        self._wrapped[target] = made
        return made

    def _own(self, child: int) -> None:
        """What was made for a link belongs to the receiver, once it is drawn."""
        queue = [child]
        for n in queue:
            if n in self._marginals.made and n not in self.own:
                self.own.add(n)
                self.edges += len(self.graph.succ[n])
                queue += self.graph.succ[n]

    def report_budget(self, sink: Sink, span: Span | None, done: int | None = None) -> None:
        """Warn that no more links were drawn, since there would have been too many edges."""
        self._over_budget = True
        total = counted(len(self.partners), "component")
        reached = "" if done is None else f", to {done} of {total}"
        sink.warning(
            "W201",
            f"no more residual links: the forest has {self.edges:,} edges",
            span,
            notes=[f"{counted(len(self.links), 'link')} drawn{reached}"],
            help="raise `max_edges`, or draw fewer links with a lower `ratio`",
        )

    def finish(self) -> Forest:
        """The forest with the receiver as one more component, and without what came to no use."""
        if not self.links and not self._over_budget:
            self._sink.warning(
                "W202",
                "no residual links were drawn",
                self._span,
                notes=[self._why_none()],
                help="another `seed` picks another component; larger components, or "
                "`targets: all`, give links more to begin at",
            )
        roots = (*self.forest.roots, self.root)
        used = set(below(self.graph, *roots))
        self.graph.remove_nodes_from([n for n in self._marginals.made if n not in used])
        return Forest(self.builder, roots)

    def _why_none(self) -> str:
        sums = sum(isinstance(self.node(n), Sum) for n in self.own if n != self.root)
        name = f"component {self.chosen + 1}, which was to receive them,"
        if sums == 0:
            return f"{name} has no sum below its root"
        return f"{name} has {counted(sums, 'sum')} below its root, and no link was kept"
