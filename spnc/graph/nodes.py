"""The circuit as a graph: its nodes, how it is built, and how it is traversed.

A circuit is a `networkx.DiGraph` whose edges run from parent to child:

- `graph.nodes[n]["node"]` is a `Sum`, `Product` or `Leaf`;
- `graph.edges[n, c]["weight"]` is the weight of a sum's child, and absent below products;
- `graph.graph["columns"]` is the tuple of `Column`s that leaves refer to by index;
- `graph.graph["root"]` is the root, where one was declared.

Scopes are not stored but derived by `spnc.graph.scopes`, so that they cannot be inconsistent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.common.gc_pause import gc_paused
from spnc.diagnostics import Span
from spnc.graph.edge_arrays import EdgeArrays
from spnc.graph.recorded import Recorded, edge_columns

if TYPE_CHECKING:
    from spnc.data.columns import Column
    from spnc.graph.node_arrays import NodeArrays
    from spnc.leaves import Distribution

    Graph = nx.DiGraph[Any]
else:
    Graph = nx.DiGraph


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a node: a line of a circuit file, or a learner named by a line of a spec."""

    text: str
    # Computed only when needed, and not part of the comparison of two origins.
    place: Callable[[], Span | None] | None = field(default=None, compare=False)

    @property
    def span(self) -> Span | None:
        """The position of that line."""
        return self.place() if self.place is not None else None


@dataclass(frozen=True, slots=True)
class Sum:
    """A mixture of its children. `rows`: how many training rows it was built from.

    Nodes with the same `tie` share one set of parameters.
    """

    rows: float = 0.0
    origin: Origin | None = None
    tie: Hashable = None


@dataclass(frozen=True, slots=True)
class Product:
    """A factorisation into its children."""

    rows: float = 0.0
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A distribution over one column, given by its index."""

    variable: int
    distribution: Distribution
    rows: float = 0.0
    origin: Origin | None = None
    tie: Hashable = None


Node = Sum | Product | Leaf


class Builder:
    """Adds nodes to one graph under consecutive integer names.

    Nodes that are added many at once are only recorded, as arrays, until someone asks for the
    graph. A forest that needs no graph gets none (see `spnc.graph.circuit_arrays`).
    """

    def __init__(self, columns: Sequence[Column], origin: Origin | None = None) -> None:
        self._graph: Graph = nx.DiGraph(columns=tuple(columns))
        self.is_recording = True  # whether there is no graph yet
        self.recorded: list[Recorded] = []
        self.origin = origin
        self._next = 0

    @property
    def graph(self) -> Graph:
        """The graph. From now on, nodes are added to it at once."""
        self.is_recording = False
        recorded, self.recorded = self.recorded, []
        for block in recorded:
            block.add_to(self._graph)
        return self._graph

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that leaves refer to."""
        found: tuple[Column, ...] = self._graph.graph["columns"]
        return found

    @property
    def declared_root(self) -> Any:
        """The root, if one was declared."""
        return self._graph.graph.get("root")

    def declare_root(self, name: int) -> None:
        """Declare a node to be the root."""
        self._graph.graph["root"] = name

    def _add(self, node: Node) -> int:
        name = self._next
        self._next += 1
        self.graph.add_node(name, node=node)
        return name

    def leaf(self, variable: int, distribution: Distribution, rows: float = 0.0) -> int:
        """Add a leaf. Return its name."""
        return self._add(Leaf(variable, distribution, rows, self.origin))

    def product(self, children: Sequence[int] = (), rows: float = 0.0) -> int:
        """Add a product over existing nodes; more can be connected later. Return its name."""
        name = self._add(Product(rows, self.origin))
        self.graph.add_edges_from((name, child) for child in children)
        return name

    def sum(
        self, children: Sequence[int] = (), weights: Sequence[float] = (), rows: float = 0.0
    ) -> int:
        """Add a sum over existing nodes; more can be connected later. Return its name."""
        name = self._add(Sum(rows, self.origin))
        pairs = zip(children, weights, strict=True)
        self.graph.add_edges_from((name, child, {"weight": weight}) for child, weight in pairs)
        return name

    def connect(self, parent: int, child: int, weight: float | None = None) -> None:
        """Add an edge, with its weight if the parent is a sum."""
        if weight is None:
            self.graph.add_edge(parent, child)
        else:
            self.graph.add_edge(parent, child, weight=weight)

    def extend(self, nodes: Iterable[Node], edges: Iterable[tuple[int, int, float | None]]) -> int:
        """Add many nodes and edges at once; edges number the new nodes from 0.

        Return the name of the first node; the names of the others follow it.
        """
        return self.extend_by_arrays(list(nodes), *edge_columns(edges))

    def extend_by_arrays(
        self,
        nodes: list[Node] | NodeArrays,
        parents: Ints,
        children: Ints,
        weights: Floats,
        weighted: NDArray[np.bool_] | None = None,
    ) -> int:
        """Do the same with edges as arrays; weights that are absent are NaN."""
        weighted = ~np.isnan(weights) if weighted is None else weighted
        first = self._next
        block = Recorded(first, nodes, self.origin, parents, children, weights, weighted)
        self._next += len(nodes)
        if self.is_recording:
            self.recorded.append(block)
        else:
            block.add_to(self._graph)
        return first

    @gc_paused()
    def copy(self) -> Builder:
        """Return an independent copy with the same nodes and edges, in the same order."""
        made = copy(self)
        made.recorded = list(self.recorded)
        if self.is_recording:
            made._graph = nx.DiGraph(**self._graph.graph)
            return made
        graph: Any = nx.DiGraph(**self.graph.graph)
        # networkx's own copy adds edge by edge, which is slower and changes the order of parents.
        down = {
            n: {child: dict(edge) for child, edge in below.items()}
            for n, below in children(self.graph).items()
        }
        up = {n: {p: down[p][n] for p in above} for n, above in parents(self.graph).items()}
        graph._node = {n: dict(data) for n, data in self.graph.nodes(data=True)}
        graph._adj, graph._pred = down, up
        made._graph = graph
        return made

    @property
    def next_name(self) -> int:
        """The name that the next node will get."""
        return self._next

    def insert(
        self,
        nodes: Iterable[Node],
        below: dict[int, dict[int, dict[str, float]]],
        above: dict[int, dict[int, dict[str, float]]],
    ) -> None:
        """Add nodes under the next names, with their children and parents in these orders.

        `below` and `above` hold the same attributes of each edge.
        """
        for node in nodes:
            self._add(node)
        graph: Any = self.graph
        graph._adj.update(below)
        graph._pred.update(above)

    def like(self, node: Node, **changes: Any) -> int:
        """Add a node without children, with the payload of another but the builder's origin."""
        return self._add(replace(node, origin=self.origin, **changes))


def payloads(graph: Graph) -> dict[Hashable, Node]:
    """Return every node's payload."""
    found: dict[Hashable, Any] = {n: data.get("node") for n, data in graph.nodes(data=True)}
    return found


def children(graph: Graph) -> dict[Any, dict[Any, Any]]:
    """Return every node's children, and the attributes of the edges to them.

    These are the graph's own dicts and must not be changed. networkx's views of them create an
    object for every access, which takes most of the time in large graphs.
    """
    return dict(graph.adjacency())


def parents(graph: Graph) -> dict[Any, dict[Any, Any]]:
    """Return every node's parents, in the same form as `children`."""
    return dict(graph.reverse(copy=False).adjacency())


def edge_arrays(graph: Graph) -> EdgeArrays:
    """Return a snapshot of the graph's edges, as arrays."""
    return EdgeArrays(children(graph), parents(graph))


def children_first(graph: Graph) -> list[Any]:
    """Return the nodes, each after all its children, without those on or above a cycle."""
    arrays = edge_arrays(graph)
    return [arrays.names[i] for i in arrays.order.tolist()]


def tops(graph: Graph) -> list[Any]:
    """Return the nodes without parents."""
    return [n for n, above in parents(graph).items() if not above]


def find_root(graph: Graph) -> Any:
    """Return the declared root, or the only node without parents. The graph must be valid."""
    root = graph.graph.get("root")
    if root is not None:
        return root
    (root,) = tops(graph)
    return root


def below(graph: Graph, *roots: Hashable) -> Iterator[Any]:
    """Yield the roots and everything reachable from them, breadth first."""
    edges = children(graph)
    queue = list(dict.fromkeys(roots))
    seen = set(queue)
    for n in queue:
        yield n
        for child in edges[n]:
            if child not in seen:
                seen.add(child)
                queue.append(child)


def drop_unreachable(graph: Graph) -> None:
    """Remove all nodes that are not below the declared root."""
    reached = set(below(graph, graph.graph["root"]))
    graph.remove_nodes_from([n for n in graph if n not in reached])


def title(graph: Graph, name: Hashable) -> str:
    """Return a node as messages call it: `sum `top`` by its own name, or `sum #17`."""
    node = graph.nodes[name].get("node")
    kind = type(node).__name__.lower() if node is not None else "node"
    return f"{kind} `{name}`" if isinstance(name, str) else f"{kind} #{name}"
