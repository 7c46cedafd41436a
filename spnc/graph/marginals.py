"""Marginalisation: a node's distribution over some of its columns, as a node.

A node whose columns are all wanted stays as it is, and a node without wanted columns is left out.
In between, a product is copied with the factors that have wanted columns, and a sum is copied with
its children marginalised. Children that become the same node add up their weights, and a node with
one child left is replaced by that child. Every node is marginalised once per set of columns.
"""

from __future__ import annotations

from spnc.common.column_sets import ColumnSet
from spnc.graph.nodes import Builder, Leaf, Product


class Marginals:
    """Marginalises nodes of a builder's graph, with a cache of earlier results.

    `scope` maps every node to its columns, and is extended by the new nodes. With `share`, nodes
    whose columns are all wanted, and earlier results, are used as they are; without, every result
    is a separate copy. Earlier results may be changed by the caller, who then calls `mark_changed`,
    so that they are not returned again.
    """

    def __init__(
        self, builder: Builder, scope: dict[int, ColumnSet], *, share: bool = True
    ) -> None:
        self.builder, self.scope, self.share = builder, scope, share
        self.made: set[int] = set()
        self._known: dict[tuple[int, ColumnSet], int] = {}
        self._changed: set[int] = set()  # results that are no marginals any more

    def mark_changed(self, n: int) -> None:
        """Note that a node's distribution has changed, and that of all results above it.

        `n` is a result, or a node that was put above one.
        """
        queue = [n] if n not in self._changed else []
        self._changed.update(queue)
        for at in queue:
            # What is above a changed node was marked with it: new results are never put there.
            above = [p for p in self.builder.graph.pred[at] if p not in self._changed]
            queue += above
            self._changed.update(above)

    def of(self, n: int, wanted: ColumnSet) -> int:
        """Return the node for `n` over those of its columns that are `wanted`."""
        if not self.share:
            self._known = {}
        first = (n, self.scope[n] & wanted)
        stack = [first]
        while stack:
            at, kept = stack[-1]
            if self._find(at, kept) is not None:
                stack.pop()
                continue
            inside = [c for c in self.builder.graph.succ[at] if self.scope[c] & kept]
            missing = [(c, self.scope[c] & kept) for c in inside]
            missing = [key for key in missing if self._find(*key) is None]
            if missing:
                stack += missing
            else:
                self._known[at, kept] = self._make(at, kept, inside)
                stack.pop()
        found = self._find(*first)
        assert found is not None
        return found

    def _find(self, n: int, kept: ColumnSet) -> int | None:
        if self.share and kept == self.scope[n]:
            return n
        found = self._known.get((n, kept))
        return None if found in self._changed else found

    def _make(self, n: int, kept: ColumnSet, inside: list[int]) -> int:
        """Make the node, after its children have been made."""
        builder = self.builder
        payload, edges = builder.graph.nodes[n]["node"], builder.graph.succ[n]
        if isinstance(payload, Leaf):
            made = builder.like(payload, tie=None)
        elif isinstance(payload, Product):
            factors = [self._known_of(c, kept) for c in inside]
            if len(factors) == 1:
                return factors[0]
            made = builder.product(factors, payload.rows)
        else:
            weights: dict[int, float] = {}
            for child in inside:
                found = self._known_of(child, kept)
                weights[found] = weights.get(found, 0.0) + edges[child]["weight"]
            if len(weights) == 1:
                return next(iter(weights))
            made = builder.sum(list(weights), list(weights.values()), payload.rows)
        self.scope[made] = kept
        self.made.add(made)
        return made

    def _known_of(self, child: int, kept: ColumnSet) -> int:
        found = self._find(child, self.scope[child] & kept)
        assert found is not None
        return found
