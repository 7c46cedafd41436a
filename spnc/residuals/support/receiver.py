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
from spnc.graph.copying import copy_joined
from spnc.graph.forest import Forest
from spnc.graph.marginals import Marginals
from spnc.graph.nodes import Node, Origin, Sum, below, children_first
from spnc.graph.scopes import scopes
from spnc.residuals import LinkingTask

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

    def __init__(self, task: LinkingTask, span: Span | None = None, *, share: bool = True) -> None:
        self.forest, self.builder = task.forest, task.forest.builder
        self._sink, self._span = task.sink, span
        self.graph = self.builder.graph
        self.chosen = int(task.rng.integers(len(task.forest.roots)))
        original = task.forest.roots[self.chosen]
        self.builder.origin = Origin(f"component {self.chosen + 1}, copied to receive links")
        made = copy_joined(self.builder, original)
        self.root = made[original]
        self.builder.origin = Origin(f"a residual link of component {self.chosen + 1}'s copy")
        order = children_first(self.graph)
        self.scope = cast("dict[int, int]", scopes(self.graph, order))
        self.own = set(made.values())
        self.links: list[Link] = []
        self._over_budget = False
        self._shared = Marginals(self.builder, self.scope)
        self._copies = None if share else Marginals(self.builder, self.scope, share=False)
        self.edges = self.graph.number_of_edges()  # of the linked forest
        self._wrapped: dict[int, int] = {}  # the sum that was put above a node that is none
        self._rows: dict[int, float] = {}  # behind the children of each sum with links
        self._before = set(self.graph) - self.own

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
            known = n == self.root or n in self._wrapped  # the sum above it is there for it
            if not known and (kind == "all" or isinstance(self.node(n), Sum)):
                yield n

    def taker(self, target: int) -> int:
        """The sum that a target's links go to: itself, or the one that was put above it."""
        return self._wrapped.get(target, target)

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
        """The partner over the target's columns, to be judged or linked to; None if it cannot be.

        There is no link to a node that is a child already, or that the target lies below.
        """
        child = self._shared.of(partner, self.scope[target])
        taker = self.taker(target)
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
        taker = self.taker(target)
        old, new = self._rows.get(taker, self.node(taker).rows), self.node(partner).rows
        if old > 0.0 and new > 0.0:
            return new / (old + new)
        count = len(self.graph.succ[taker]) if isinstance(self.node(taker), Sum) else 1
        return 1.0 / (1 + count)

    def draw(self, target: int, partner: int, share: float | None = None) -> bool:
        """Draw a link, if there can be one. Its weight is `share`, or `share_of` the two."""
        if self._copies is not None:
            child: int | None = self._copies.of(partner, self.scope[target])
        else:
            child = self.marginal(target, partner)
        if child is None:
            return False
        if share is None:
            share = self.share_of(target, partner)
        taker = self.taker(target)
        if not isinstance(self.node(taker), Sum):
            taker = self._wrap(target)
        rows = self._rows.get(taker, self.node(taker).rows)
        for data in self.graph.succ[taker].values():
            data["weight"] *= 1.0 - share
        self.builder.connect(taker, child, share)
        self.edges += 1
        self._own(child)
        self._rows[taker] = rows + self.node(partner).rows if rows > 0.0 else 0.0
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
            if n not in self._before and n not in self.own:
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
        """The forest with the receiver as one more component, and without what came to no use.

        Without links it is the forest as it was.
        """
        forest = self.forest
        if self.links:
            forest = Forest(self.builder, (*forest.roots, self.root))
        elif not self._over_budget:
            sums = sum(isinstance(self.node(n), Sum) for n in self.own if n != self.root)
            self._sink.warning(
                "W202",
                "no residual links were drawn",
                self._span,
                notes=[
                    f"component {self.chosen + 1}, which was to receive them, has "
                    f"{counted(sums, 'sum')} below its root"
                ],
                help="another `seed` picks another component; larger components give links "
                "more to begin at",
            )
        used = set(below(self.graph, *forest.roots))
        self.graph.remove_nodes_from([n for n in self.graph if n not in used])
        return forest
