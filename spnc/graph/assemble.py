"""From named parts, however they were written, to a graph.

The circuit language, node-link JSON and networkx graphs with plain attributes all become a
`Draft` first. Assembling it reports what is wrong with names, kinds and parameters; whether the
result is a valid circuit is for the checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np

from spnc.data.dataset import Column
from spnc.diagnostics import Sink, Span, counted, did_you_mean, nearest
from spnc.graph.nodes import Graph, Leaf, Node, Origin, Product, Sum
from spnc.leaves import Distribution
from spnc.registry import LEAVES

Place = Callable[[], Span | None]  # where something was written, worked out only if needed


def nowhere() -> None:
    """The place of what was not written in a text."""
    return None


@dataclass(frozen=True, slots=True)
class DraftVariable:
    """A declared column: its name, and its type as written."""

    name: str
    type: str
    place: Place = nowhere


@dataclass(frozen=True, slots=True)
class DraftNode:
    """A node as written. `parameters` are those of a leaf's distribution, by position or name."""

    name: Hashable
    kind: str
    place: Place = nowhere
    variable: str | None = None
    distribution: str | None = None
    parameters: Sequence[Any] | Mapping[str, Any] = ()
    rows: float = 0.0
    tie: Hashable = None


@dataclass(frozen=True, slots=True)
class DraftEdge:
    """An edge as written."""

    parent: Hashable
    child: Hashable
    weight: Any = None
    place: Place = nowhere


@dataclass(eq=False)
class Draft:
    """A circuit as written."""

    name: str
    variables: list[DraftVariable] = field(default_factory=list)
    nodes: list[DraftNode] = field(default_factory=list)
    edges: list[DraftEdge] = field(default_factory=list)
    root: Hashable = None
    root_place: Place = nowhere


def assemble(draft: Draft, sink: Sink) -> Graph:
    """The graph of a draft. What cannot be made sense of is reported and marked as damaged."""
    columns = _columns(draft, sink)
    index = {c.name: i for i, c in enumerate(columns)}
    graph: Graph = nx.DiGraph(columns=tuple(columns), name=draft.name)
    damaged: set[Hashable] = set()
    defined: dict[Hashable, DraftNode] = {}
    for item in draft.nodes:
        if item.name in defined:
            first = defined[item.name].place()
            sink.error(
                "E215",
                f"node `{item.name}` is defined twice",
                item.place(),
                notes=[f"first defined at {first}"] if first is not None else [],
                help="rename one of them",
            )
            continue
        defined[item.name] = item
        node = _node(item, index, sink)
        if node is None:
            damaged.add(item.name)
            node = Product(origin=Origin("", item.place()))
        graph.add_node(item.name, node=node)
    _connect(draft, graph, defined, damaged, sink)
    if draft.root is not None:
        if draft.root in defined:
            graph.graph["root"] = draft.root
        else:
            names = [str(n) for n in defined]
            sink.error(
                "E214",
                f"the root `{draft.root}` is not defined",
                draft.root_place(),
                help=did_you_mean(str(draft.root), names),
            )
    if damaged:
        graph.graph["damaged"] = damaged
    return graph


def _connect(
    draft: Draft,
    graph: Graph,
    defined: Mapping[Hashable, DraftNode],
    damaged: set[Hashable],
    sink: Sink,
) -> None:
    names = [str(n) for n in defined]
    for edge in draft.edges:
        ends = [("child", edge.child), ("parent", edge.parent)]
        unknown = [(end, n) for end, n in ends if n not in defined]
        for end, n in unknown:
            other = edge.parent if end == "child" else edge.child
            sink.error(
                "E214",
                f"node `{n}`, a {end} of `{other}`, is not defined",
                edge.place(),
                help=did_you_mean(str(n), names),
            )
        if unknown:
            damaged.add(edge.parent)
        elif graph.has_edge(edge.parent, edge.child):
            sink.error(
                "E210",
                f"node `{edge.child}` is twice a child of `{edge.parent}`",
                edge.place(),
                help="a sum adds the two weights into one edge; a product can have a child once",
            )
            damaged.add(edge.parent)
        elif edge.weight is None:
            graph.add_edge(edge.parent, edge.child)
        else:
            graph.add_edge(edge.parent, edge.child, weight=edge.weight)


_TYPE = re.compile(r"^(binary)$|^categorical\s*\(\s*(\d+)\s*\)$")


def _columns(draft: Draft, sink: Sink) -> list[Column]:
    found: dict[str, Column] = {}
    for variable in draft.variables:
        if variable.name in found:
            sink.error(
                "E216",
                f"variable `{variable.name}` is declared twice",
                variable.place(),
                help="remove one of the two",
            )
            continue
        match = _TYPE.match(variable.type.strip())
        states = int(match[2]) if match and match[2] else 2
        if match is None or states < 2:
            word = variable.type.split("(")[0].strip()
            near = nearest(word, ["binary", "categorical"])
            meant = {"binary": "binary", "categorical": "categorical(3)"}.get(near or "")
            sink.error(
                "E221",
                f"`{variable.type}` is not a type of variable",
                variable.place(),
                help=f"did you mean `{meant}`?"
                if meant and word != near
                else "types are binary, and categorical(k) with k of at least 2",
            )
        kind = "categorical" if match and match[2] else "binary"
        found[variable.name] = Column(variable.name, kind, max(2, states))  # type: ignore[arg-type]
    return list(found.values())


def _node(item: DraftNode, index: Mapping[str, int], sink: Sink) -> Node | None:
    origin = Origin("", item.place())
    if item.kind == "sum":
        return Sum(item.rows, origin, item.tie)
    if item.kind == "product":
        return Product(item.rows, origin)
    if item.kind != "leaf":
        sink.error(
            "E218",
            f"node `{item.name}` is of no known kind: `{item.kind}`",
            item.place(),
            help=did_you_mean(item.kind, ["sum", "product", "leaf"]),
        )
        return None
    variable = item.variable if item.variable is not None else ""
    if variable not in index:
        sink.error(
            "E208",
            f"leaf `{item.name}` is over `{variable}`, which is not a variable",
            item.place(),
            help=did_you_mean(variable, index),
        )
        # Going on as if the nearest name had been written keeps one mistake one message.
        variable = nearest(variable, index) or ""
    distribution = _distribution(item, sink)
    if distribution is None or variable not in index:
        return None
    return Leaf(index[variable], distribution, item.rows, origin, item.tie)


def _distribution(item: DraftNode, sink: Sink) -> Distribution | None:
    name = item.distribution or ""
    leaf = LEAVES.find(name)
    if leaf is None:
        sink.error(
            "E221",
            f"leaf `{item.name}`: no distribution is named `{name}`",
            item.place(),
            help=did_you_mean(name, LEAVES),
        )
        return None
    given = item.parameters
    if isinstance(given, Mapping):
        values = list(given.values())
        unknown = [key for key in given if key != "p"]
    else:
        values, unknown = list(given), []
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = list(values[0])
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    problem = None
    if unknown:
        problem = f"`{unknown[0]}` is not a parameter; it takes p"
    elif len(numbers) < len(values) or not numbers:
        problem = "its parameters have to be numbers"
    elif leaf.arity is not None and len(numbers) != leaf.arity:
        problem = f"it takes {counted(leaf.arity, 'parameter')}, not {len(numbers)}"
    if problem is not None:
        sink.error(
            "E209",
            f"leaf `{item.name}`: {name} has invalid parameters",
            item.place(),
            notes=[problem],
        )
        return None
    return leaf.from_row(np.array(numbers))  # type: ignore[no-any-return]
