"""Marginalisation: a node's distribution over some of its columns, as a node.

What lies wholly inside the wanted columns stays what it is, and what lies wholly outside is left
out. In between, a product is copied with the factors that have something to say, and a sum with
its children marginalised; children that have become one node add up their weights, and a node
with one child left is that child. On a DAG every node is marginalised once for each set of columns.
"""

from __future__ import annotations

from spnc.graph.nodes import Builder, Leaf, Product


class Marginals:
    """Marginalises nodes of a builder's graph; what was made once is used again.

    `scope` has the columns of every node, and gains those of the nodes made. With `share`, nodes
    inside the wanted columns are used as they are, and so are earlier results; without, every
    result is a copy of its own.
    """

    def __init__(self, builder: Builder, scope: dict[int, int], *, share: bool = True) -> None:
        self.builder, self.scope, self.share = builder, scope, share
        self.made: set[int] = set()
        self._known: dict[tuple[int, int], int] = {}

    def of(self, n: int, wanted: int) -> int:
        """The node for `n` over those of its columns that are among the `wanted` ones."""
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

    def _find(self, n: int, kept: int) -> int | None:
        if self.share and kept == self.scope[n]:
            return n
        return self._known.get((n, kept))

    def _make(self, n: int, kept: int, inside: list[int]) -> int:
        """The node itself, once its children are there."""
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

    def _known_of(self, child: int, kept: int) -> int:
        found = self._find(child, self.scope[child] & kept)
        assert found is not None
        return found
