"""Products and quotients of two circuits, as circuits.

The product p(x) q(x), divided by its sum over all rows, is a circuit again: products are multiplied
part by part, and a sum is multiplied child by child. It has at most as many nodes as both circuits
multiplied if the two divide their columns in the same ways; otherwise it may have many more, and is
given up above a limit. The quotient p(x) / q(x) is the product with 1 / q(x), which is a circuit if
q is deterministic (`spnc.queries.determinism`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.column_sets import ColumnOrder, ColumnSet
from spnc.common.gc_pause import gc_paused
from spnc.data.columns import Column
from spnc.graph.nodes import (
    Builder,
    Graph,
    Leaf,
    Sum,
    children,
    children_first,
    drop_unreachable,
    find_root,
    payloads,
)
from spnc.graph.scopes import scope_order, scopes
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite
from spnc.leaves.gaussian import Gaussian

MOST_NODES = 1_000_000  # of a product


class IncompatibleError(Exception):
    """Two circuits whose product is not a circuit that can be made; the text says why."""


class Scaled(NamedTuple):
    """A node, and the logarithm of the number by which it has to be multiplied."""

    node: int
    log_scale: float


# What is multiplied with instead of a probability of the second circuit: a function of it.
Function = Callable[[float], float]


def inverse(value: float) -> float:
    """Return 1 / value; zero for zero."""
    return 1.0 / value if value > 0.0 else 0.0


def support(value: float) -> float:
    """Return one if the value is positive, zero otherwise."""
    return 1.0 if value > 0.0 else 0.0


def same(value: float) -> float:
    """Return the value."""
    return value


@gc_paused()
def multiplied(first: Graph, second: Graph, function: Function = same) -> tuple[Graph, float]:
    """Return the circuit proportional to p(x) f(q(x)), and the log of its sum over all rows.

    `function` is `same`, or for a deterministic second circuit `inverse` or `support`. Both
    circuits have the same columns. Raises `IncompatibleError`.
    """
    maker = _Multiplying(first, second, function)
    found = maker.of((find_root(first),), (find_root(second),))
    if found is None:
        raise IncompatibleError("no row is possible in both circuits")
    maker.builder.graph.graph["root"] = found.node
    drop_unreachable(maker.builder.graph)  # factors of products that are zero elsewhere
    return maker.builder.graph, found.log_scale


Part = tuple[Any, ...]  # nodes of a circuit without common columns
Pair = tuple[Part, Part]


class _Plan(NamedTuple):
    """Pairs of parts to multiply first, and what makes the product from theirs."""

    pairs: list[Pair]
    combine: Callable[[Sequence[Scaled | None]], Scaled | None]


class _Circuit:
    """A circuit, with what multiplying asks of it."""

    def __init__(self, graph: Graph, columns: ColumnOrder | None) -> None:
        self.nodes, self.children = payloads(graph), children(graph)
        self.scopes = scopes(graph, children_first(graph), columns)


class _Multiplying:
    """Multiplies parts of two circuits; a part is some nodes without common columns."""

    def __init__(self, first: Graph, second: Graph, function: Function) -> None:
        order = scope_order(first, children_first(first))
        self.first, self.second = _Circuit(first, order), _Circuit(second, order)
        self.function = function
        self.columns: Sequence[Column] = first.graph["columns"]
        self.builder = Builder(self.columns)
        self.known: dict[Pair, Scaled | None] = {}

    def of(self, first: Part, second: Part) -> Scaled | None:
        """Return the product of two parts with the same columns; None if it is zero everywhere."""
        stack = [(first, second)]
        plans: dict[Pair, _Plan] = {}
        while stack:
            pair = stack[-1]
            if pair in self.known:
                stack.pop()
                continue
            if pair not in plans:
                plans[pair] = self._plan(*pair)
            plan = plans[pair]
            missing = [other for other in plan.pairs if other not in self.known]
            if missing:
                stack += missing
                continue
            self.known[pair] = plan.combine([self.known[other] for other in plan.pairs])
            del plans[pair]
            if len(self.known) > MOST_NODES:
                raise IncompatibleError(f"the product has more than {MOST_NODES:,} nodes")
        return self.known[first, second]

    def _plan(self, first: Part, second: Part) -> _Plan:
        """Return the pairs of parts of which a product is made, and how."""
        groups = self._groups(first, second)
        if len(groups) > 1:
            return _Plan(groups, self._product)
        # A sum is multiplied child by child, and a product is opened: the widest node first.
        sides: tuple[tuple[Part, _Circuit, Function], ...] = (
            (first, self.first, same),
            (second, self.second, self.function),
        )
        inner = [
            (circuit.scopes[n].bit_count(), -side, n)
            for side, (nodes, circuit, _) in enumerate(sides)
            for n in nodes
            if not isinstance(circuit.nodes[n], Leaf)
        ]
        if inner:
            _, minus_side, n = max(inner)
            nodes, circuit, function = sides[-minus_side]

            def replaced(*new: Any) -> Pair:
                part = tuple(sorted([m for m in nodes if m != n] + list(new)))
                return (part, second) if minus_side == 0 else (first, part)

            below = circuit.children[n]
            if isinstance(circuit.nodes[n], Sum):
                weights = [function(edge["weight"]) for edge in below.values()]
                return _Plan([replaced(child) for child in below], partial(self._sum, weights))
            return _Plan([replaced(*below)], lambda found: found[0])
        p, q = self.first.nodes[first[0]], self.second.nodes[second[0]]
        assert isinstance(p, Leaf)
        assert isinstance(q, Leaf)
        made = self._leaf(p, q)
        return _Plan([], lambda _: made)

    def _groups(self, first: Part, second: Part) -> list[Pair]:
        """Return the smallest groups of nodes of both parts that have the same columns."""
        left: list[tuple[ColumnSet, list[Any], list[Any]]] = []
        sides = [(n, self.first.scopes[n], 1) for n in first]
        sides += [(n, self.second.scopes[n], 2) for n in second]
        for n, scope, side in sides:
            met = [group for group in left if group[0] & scope]
            left = [group for group in left if not group[0] & scope]
            a = [m for group in met for m in group[1]] + ([n] if side == 1 else [])
            b = [m for group in met for m in group[2]] + ([n] if side == 2 else [])
            joined = scope
            for group in met:
                joined |= group[0]
            left.append((joined, a, b))
        return [(tuple(sorted(a)), tuple(sorted(b))) for _, a, b in sorted(left)]

    def _product(self, parts: Sequence[Scaled | None]) -> Scaled | None:
        some = [part for part in parts if part is not None]
        if len(some) < len(parts):
            return None
        total = sum(part.log_scale for part in some)
        return Scaled(self.builder.product([part.node for part in some]), total)

    def _sum(self, weights: Sequence[float], parts: Sequence[Scaled | None]) -> Scaled | None:
        terms = [
            (part.node, part.log_scale + math.log(weight))
            for part, weight in zip(parts, weights, strict=True)
            if part is not None and weight > 0.0
        ]
        if not terms:
            return None
        top = max(log for _, log in terms)
        total = math.fsum(math.exp(log - top) for _, log in terms)
        shares: dict[int, float] = {}
        for node, log in terms:
            shares[node] = shares.get(node, 0.0) + math.exp(log - top) / total
        if len(shares) == 1:
            return Scaled(terms[0][0], top + math.log(total))
        made = self.builder.sum(list(shares), list(shares.values()))
        return Scaled(made, top + math.log(total))

    def _leaf(self, first: Leaf, second: Leaf) -> Scaled | None:
        column = self.columns[first.variable]
        if column.is_finite:
            p, q = _chances(first.distribution, column), _chances(second.distribution, column)
            values = p * np.array([self.function(float(x)) for x in q])
            total = float(values.sum())
            if total == 0.0:
                return None
            kind = as_finite(type(first.distribution))
            row = kind.from_probabilities(
                (values / total)[None], np.array([first.distribution.row])
            )
            made = self.builder.leaf(first.variable, type(first.distribution).from_row(row[0]))
            return Scaled(made, math.log(total))
        return self._numbers(first, second, column)

    def _numbers(self, first: Leaf, second: Leaf, column: Column) -> Scaled:
        p, q = first.distribution, second.distribution
        if isinstance(p, Gaussian) and isinstance(q, Gaussian) and self.function is same:
            precision = p.sd**-2 + q.sd**-2
            mean = (p.location * p.sd**-2 + q.location * q.sd**-2) / precision
            apart = (p.location - q.location) ** 2 / (p.sd**2 + q.sd**2)
            scale = -0.5 * (apart + math.log(2.0 * math.pi * (p.sd**2 + q.sd**2)))
            made = self.builder.leaf(first.variable, Gaussian(mean, precision**-0.5))
            return Scaled(made, scale)
        if self.function is support:  # all numbers are possible where the quotient is asked for
            return Scaled(self.builder.leaf(first.variable, p), 0.0)
        names = f"{p.plugin_name} and {q.plugin_name}"
        raise IncompatibleError(f"leaves over `{column.name}` cannot be combined: {names}")


def _chances(distribution: Distribution, column: Column) -> Floats:
    table = np.array([distribution.row])
    found: Floats = as_finite(type(distribution)).probabilities(table, column.states)[0]
    return found
