"""Circuits as networkx graphs with plain attributes, and as node-link JSON.

Nodes carry `kind` (sum, product or leaf); leaves also `variable`, `distribution` and its
parameter `p`; the edges of sums carry `weight`. The graph's own attributes hold `variables`
(a mapping of names to types, in column order, or a list of names of binary columns) and, where
it is not the only node without parents, `root`. Graphs made by spnc itself pass as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import networkx as nx

from spnc.diagnostics import Sink, Source, Span
from spnc.graph.assemble import Draft, DraftEdge, DraftNode, DraftVariable, Place, assemble, nowhere
from spnc.graph.nodes import Graph, Leaf, Node, find_root, payloads

_LEAF_KEYS = {"kind", "variable", "distribution", "rows", "tie", "id", "node"}


def from_networkx(graph: Any, sink: Sink) -> Graph:
    """A graph for spnc from any networkx directed graph, multigraphs included."""
    if "columns" in graph.graph and all("node" in data for _, data in graph.nodes(data=True)):
        return graph  # type: ignore[no-any-return]
    draft = Draft(str(graph.graph.get("name", "graph")))
    draft.variables = _variables(graph.graph.get("variables", ()))
    draft.root = graph.graph.get("root")
    for name, attributes in graph.nodes(data=True):
        draft.nodes.append(_draft_node(name, attributes, nowhere))
    for parent, child, data in graph.edges(data=True):
        draft.edges.append(DraftEdge(parent, child, data.get("weight")))
    return assemble(draft, sink)


def from_node_link(data: Any, sink: Sink, source: Source | None = None) -> Graph | None:
    """A graph from node-link data; `source` is the text it was read from, for positions."""
    problem = _shape_problem(data)
    if problem is not None:
        where = source.span(1, 1, 1, 2) if source is not None else None
        sink.error(
            "E223",
            f"this is not a circuit in node-link form: {problem}",
            where,
            help='it needs "nodes" with "id" and "kind", and "edges" with "source" and "target"',
        )
        return None
    attributes = data.get("graph", {})
    name = source.name if source is not None else "circuit"
    draft = Draft(str(attributes.get("name", name)))
    draft.variables = _variables(attributes.get("variables", ()))
    draft.root = attributes.get("root")
    for item in data["nodes"]:
        place = _finder(source, _pair("id", item["id"]))
        draft.nodes.append(_draft_node(item["id"], item, place))
    for item in data.get("edges", data.get("links", ())):
        ends = _pair("source", item["source"]) + r"[^{}]*" + _pair("target", item["target"])
        place = _finder(source, ends)
        draft.edges.append(DraftEdge(item["source"], item["target"], item.get("weight"), place))
    return assemble(draft, sink)


def read_node_link_text(source: Source, sink: Sink) -> Graph | None:
    """A graph from node-link JSON text."""
    try:
        data = json.loads(source.text)
    except json.JSONDecodeError as error:
        span = source.span(error.lineno, error.colno, error.lineno, error.colno + 1)
        sink.error("E223", f"this is not JSON: {error.msg}", span)
        return None
    return from_node_link(data, sink, source)


def to_node_link(graph: Graph) -> dict[str, Any]:
    """The graph in node-link form, which reads back to an equal one."""
    columns = graph.graph["columns"]
    nodes: list[dict[str, Any]] = []
    for name, payload in payloads(graph).items():
        nodes.append({"id": name, **_attributes(payload, columns)})
    edges = [{"source": n, "target": c, **data} for n, c, data in graph.edges(data=True)]
    about = {"variables": {c.name: str(c) for c in columns}, "root": find_root(graph)}
    return {"directed": True, "multigraph": False, "graph": about, "nodes": nodes, "edges": edges}


def to_networkx(graph: Graph) -> nx.DiGraph[Any]:
    """A plain networkx graph with attributes that any tool can read."""
    plain: nx.DiGraph[Any] = nx.DiGraph(nx.node_link_graph(to_node_link(graph), edges="edges"))
    return plain


def _attributes(payload: Node, columns: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": type(payload).__name__.lower()}
    if isinstance(payload, Leaf):
        leaf = payload.distribution
        p: Any = list(leaf.row) if leaf.arity is None else leaf.row[0]
        found |= {
            "variable": columns[payload.variable].name,
            "distribution": leaf.plugin_name,
            "p": p,
        }
    return found | {"rows": payload.rows}


def _draft_node(name: Any, attributes: Mapping[str, Any], place: Place) -> DraftNode:
    rows = attributes.get("rows", 0.0)
    return DraftNode(
        name,
        str(attributes.get("kind", "")),
        place,
        variable=_text(attributes.get("variable")),
        distribution=_text(attributes.get("distribution")),
        parameters={k: v for k, v in attributes.items() if k not in _LEAF_KEYS},
        rows=float(rows) if isinstance(rows, int | float) else 0.0,
        tie=attributes.get("tie"),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _variables(given: Any) -> list[DraftVariable]:
    if isinstance(given, Mapping):
        return [DraftVariable(str(name), str(kind)) for name, kind in given.items()]
    return [DraftVariable(str(name), "binary") for name in given]


def _shape_problem(data: Any) -> str | None:
    if not isinstance(data, Mapping) or not isinstance(data.get("nodes"), list):
        return 'there is no list of "nodes"'
    edges = data.get("edges", data.get("links", []))
    if not isinstance(edges, list):
        return '"edges" is not a list'
    if any(not isinstance(n, Mapping) or "id" not in n for n in data["nodes"]):
        return 'a node has no "id"'
    if any(not isinstance(n["id"], str | int) for n in data["nodes"]):
        return 'an "id" is neither a text nor a whole number'
    if any(not isinstance(e, Mapping) or not {"source", "target"} <= set(e) for e in edges):
        return 'an edge lacks "source" or "target"'
    if not isinstance(data.get("graph", {}), Mapping):
        return '"graph" is not a mapping'
    return None


def _pair(key: str, value: Any) -> str:
    return rf'"{key}"\s*:\s*{re.escape(json.dumps(value))}'


def _finder(source: Source | None, pattern: str) -> Place:
    """Positions are not kept by JSON readers; a search finds them again when one is needed."""

    def find() -> Span | None:
        if source is None:
            return None
        match = re.search(pattern, source.text)
        return source.span_at(match.start(), match.end()) if match else None

    return find
