"""The component that receives residual links: a copy of one of the forest's components.

A link is one more child of a sum: a node of another component (the partner), marginalised to the
sum's columns. Only the receiver's own nodes are changed: those of the copy, and those made by
marginalising. Nodes that it shares with a partner stay as they are, so that links never change the
other components.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from spnc.common.column_sets import ColumnSet
from spnc.diagnostics import Sink, Span, counted
from spnc.graph.copying import copy_joined
from spnc.graph.forest import Forest
from spnc.graph.marginals import Marginals
from spnc.graph.nodes import Node, Origin, Sum, below, children_first
from spnc.graph.scopes import scopes
from spnc.residuals import LinkingTask

TargetKind = Literal["sums", "all"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link that was drawn: a new child of a sum."""

    target: int  # the sum itself, or the node that the sum was put above
    partner: int  # the node of another component that was marginalised
    child: int  # the partner's marginal over the target's columns
    weight: float  # when the link was drawn


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
        self.scope = cast("dict[int, ColumnSet]", scopes(self.graph, order))
        self.own = set(made.values())
        self.links: list[Link] = []
        self._over_budget = False
        self._shared = Marginals(self.builder, self.scope)
        self._copies = None if share else Marginals(self.builder, self.scope, share=False)
        self.edges = self.graph.number_of_edges()  # of the linked forest
        self._wrapped: dict[int, int] = {}  # from a node that is not a sum to the sum put above it
        self._rows: dict[int, float] = {}  # behind the children of each sum with links
        self._before = set(self.graph) - self.own

    @property
    def partners(self) -> list[int]:
        """The roots of the other components."""
        roots = enumerate(self.forest.roots)
        return [root for i, root in roots if i != self.chosen and root != self.root]

    def node(self, n: int) -> Node:
        """Return a node's payload."""
        return cast("Node", self.graph.nodes[n]["node"])

    def visit(self) -> Iterator[int]:
        """Yield the receiver's own nodes breadth first, including those added meanwhile."""
        seen, queue = {self.root}, [self.root]
        for n in queue:
            yield n
            new = [*self.graph.succ[n], *self.graph.succ.get(self._wrapped.get(n), ())]
            queue += [c for c in dict.fromkeys(new) if c in self.own and c not in seen]
            seen.update(new)

    def targets(self, nodes: Iterable[int], kind: TargetKind) -> Iterator[int]:
        """Yield those of the nodes that may receive links.

        The root may not, and neither may a node below a sum that was put above it. With "sums",
        only sums may; with "all", another node gets a sum above it, over the node and its links.
        """
        for n in nodes:
            excluded = n == self.root or n in self._wrapped
            if not excluded and (kind == "all" or isinstance(self.node(n), Sum)):
                yield n

    def recipient(self, target: int) -> int:
        """Return the node that gets a target's links: itself, or the sum that was put above it."""
        return self._wrapped.get(target, target)

    def breadth_first(self, root: int, *, by_size: bool = False) -> list[int]:
        """Return the nodes below a root breadth first, or by their number of columns."""
        nodes = list(below(self.graph, root))
        if by_size:
            nodes.sort(key=lambda n: self.scope[n].bit_count())
        return nodes

    def candidates(self, target: int, nodes: Iterable[int]) -> Iterator[int]:
        """Yield those of the nodes whose columns include all the target's columns."""
        wanted, scope = self.scope[target], self.scope
        return (n for n in nodes if wanted & scope[n] == wanted)

    def marginal(self, target: int, partner: int) -> int | None:
        """Return the partner's marginal over the target's columns; None if a link is impossible.

        A link is impossible to a node that is a child already, or that lies above the target.
        """
        child = self._shared.of(partner, self.scope[target])
        recipient = self.recipient(target)
        if self.graph.has_edge(recipient, child) or self._reaches(child, recipient):
            return None
        return child

    def _reaches(self, start: int, goal: int) -> bool:
        """Return whether `goal` is `start` or lies below it.

        `start` has exactly the goal's columns, and so has every node on a path between them.
        """
        seen, queue = {start}, [start]
        for n in queue:
            if n == goal:
                return True
            more = [c for c in self.graph.succ[n] if self.scope[c] == self.scope[goal]]
            queue += [c for c in more if c not in seen]
            seen.update(more)
        return False

    def initial_weight(self, target: int, partner: int) -> float:
        """Return the weight of a new link: the partner's share of the rows behind both nodes.

        Where the rows are unknown, as in circuits written by hand, the new child gets the average
        weight of a child.
        """
        recipient = self.recipient(target)
        old, new = self._rows.get(recipient, self.node(recipient).rows), self.node(partner).rows
        if old > 0.0 and new > 0.0:
            return new / (old + new)
        count = len(self.graph.succ[recipient]) if isinstance(self.node(recipient), Sum) else 1
        return 1.0 / (1 + count)

    def draw(self, target: int, partner: int, weight: float | None = None) -> bool:
        """Draw a link of this weight, or else of `initial_weight`. Return False if impossible."""
        if self._copies is not None:
            child: int | None = self._copies.of(partner, self.scope[target])
        else:
            child = self.marginal(target, partner)
        if child is None:
            return False
        if weight is None:
            weight = self.initial_weight(target, partner)
        recipient = self.recipient(target)
        if not isinstance(self.node(recipient), Sum):
            recipient = self._wrap(target)
        rows = self._rows.get(recipient, self.node(recipient).rows)
        for data in self.graph.succ[recipient].values():
            data["weight"] *= 1.0 - weight
        self.builder.connect(recipient, child, weight)
        self._shared.mark_changed(recipient)  # which may be or be part of an earlier marginal
        self.edges += 1
        self._own(child)
        self._rows[recipient] = rows + self.node(partner).rows if rows > 0.0 else 0.0
        self.links.append(Link(target, partner, child, weight))
        return True

    def _wrap(self, target: int) -> int:
        """Put a new sum in the place of a node, which becomes the sum's only child."""
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
        """Make the new nodes of a drawn link the receiver's own."""
        queue = [child]
        for n in queue:
            if n not in self._before and n not in self.own:
                self.own.add(n)
                self.edges += len(self.graph.succ[n])
                queue += self.graph.succ[n]

    def report_budget(self, sink: Sink, span: Span | None, done: int | None = None) -> None:
        """Warn that drawing stopped because the forest has too many edges."""
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
        """Return the forest with the receiver as one more component, or unchanged without links.

        Nodes that were made but not used are removed.
        """
        forest = self.forest
        if self.links:
            weights = forest.weights
            if weights is not None:
                weights = (*weights, weights[self.chosen])
            forest = Forest(self.builder, (*forest.roots, self.root), weights)
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
                help="another `seed` picks another component; larger components have more sums "
                "that can receive links",
            )
        used = set(below(self.graph, *forest.roots))
        self.graph.remove_nodes_from([n for n in self.graph if n not in used])
        return forest
