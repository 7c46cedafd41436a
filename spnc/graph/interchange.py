"""Circuits as networkx graphs with plain attributes, and as node-link JSON.

Nodes carry `kind` (sum, product or leaf); leaves also `variable`, `distribution` and `p`, its
parameter or a list of them; the edges of sums carry `weight`. The graph's own attributes hold
`variables` (a mapping of names to types, in column order, or a list of names of binary columns)
and, where it is not the only node without parents, `root`. A type is a text such as
"categorical(3)", or a mapping with `kind`, `labels`, `scale` and `unit`. Graphs made by spnc itself
are used as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import networkx as nx

from spnc.common.wording import with_article
from spnc.data.column_types import plain_of_text, short_type, shown_plain
from spnc.diagnostics import Sink, Source
from spnc.graph.assemble import as_number, assemble
from spnc.graph.draft import Draft, DraftEdge, DraftNode, DraftVariable, Place, nowhere
from spnc.graph.json_places import JsonPlaces
from spnc.graph.nodes import Graph, Leaf, Node, Product, find_root, payloads

_MOST_SHAPE_PROBLEMS = 10
_SHAPE = 'a circuit needs "nodes" with "id" and "kind", and "edges" with "source" and "target"'
_LEAF_KEYS = {"kind", "variable", "distribution", "rows", "tie", "id", "node"}


def from_networkx(graph: Any, sink: Sink) -> Graph | None:
    """Return spnc's graph for any directed networkx graph, including multigraphs."""
    if not isinstance(graph, nx.DiGraph):
        found = type(graph).__name__
        sink.error(
            "E223",
            f"a circuit is a directed networkx graph, not {with_article(found)}",
            help="make a networkx.DiGraph, with edges from parent to child",
        )
        return None
    if "columns" in graph.graph and _is_native(graph):
        return _native(graph, sink)
    where = JsonPlaces(None)
    draft = Draft(str(graph.graph.get("name", "graph")))
    if not _read_attributes(graph.graph, draft, where, sink):
        return None
    for name, attributes in graph.nodes(data=True):
        draft.nodes.append(_draft_node(name, attributes, nowhere))
    for parent, child, data in graph.edges(data=True):
        draft.edges.append(DraftEdge(parent, child, data.get("weight")))
    return assemble(draft, sink)


def _is_native(graph: Any) -> bool:
    """Return whether the nodes carry spnc's own payloads."""
    return all(isinstance(data.get("node"), Node) for _, data in graph.nodes(data=True))


def _native(graph: Any, sink: Sink) -> Graph | None:
    """Return a graph of spnc's own payloads without parallel edges; None after an error."""
    sound = True
    root = graph.graph.get("root")
    if root is not None and root not in graph:
        sink.error("E214", f"the root `{root}` is not defined")
        sound = False
    if graph.is_multigraph():
        for parent, child in {(n, c) for n, c, key in graph.edges(keys=True) if key}:
            sink.error("E210", f"node `{child}` is twice a child of `{parent}`")
            sound = False
        graph = nx.DiGraph(graph)
    return graph if sound else None


def from_node_link(
    data: Any, sink: Sink, source: Source | None = None, places: JsonPlaces | None = None
) -> Graph | None:
    """Return the graph of node-link data; `source` is its text, for positions in messages.

    `places` finds these positions if the text is not JSON.
    """
    where = JsonPlaces(source) if places is None else places
    problems = list(_shape_problems(data))
    for i, (path, problem) in enumerate(problems[:_MOST_SHAPE_PROBLEMS]):
        message = f"this is not a circuit in node-link form: {problem}"
        sink.error("E223", message, where.of(*path)(), help=_SHAPE if i == 0 else None)
    if problems:
        return None
    draft = Draft(source.name if source is not None else "circuit", place=where.of("nodes"))
    attributes = data.get("graph", {})
    draft.name = str(attributes.get("name", draft.name))
    if not _read_attributes(attributes, draft, where, sink, "graph"):
        return None
    for i, item in enumerate(data["nodes"]):
        place = where.of("nodes", i, long="id")
        draft.nodes.append(_draft_node(item["id"], item, place))
    key = "edges" if "edges" in data else "links"
    for i, item in enumerate(data.get(key, ())):
        place = where.of(key, i, long="target")
        draft.edges.append(DraftEdge(item["source"], item["target"], item.get("weight"), place))
    return assemble(draft, sink)


def read_node_link_text(source: Source, sink: Sink) -> Graph | None:
    """Return the graph of a node-link JSON text; None after an error."""
    if not source.text.strip():
        sink.error("E112", "the file is empty", source.span(1, 1, 1, 2), help=_SHAPE)
        return None
    repeated = False

    def as_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated |= len(found) < len(pairs)
        return found

    try:
        data = json.loads(source.text, object_pairs_hook=as_mapping, parse_int=_whole)
    except json.JSONDecodeError as error:
        at = min(error.pos, len(source.text.rstrip()))
        sink.error("E223", f"this is not JSON: {error.msg}", source.span_at(at, at + 1))
        return None
    except RecursionError:
        sink.error("E223", "this is not a circuit: it is nested too deep", source.span(1, 1, 1, 2))
        return None
    for key, first, second in JsonPlaces(source).repeated() if repeated else ():
        sink.error(
            "E103",
            f"`{key}` is given twice",
            second,
            notes=[f"first given at {first}"],
            help="keep one of them",
        )
    return from_node_link(data, sink, source)


def to_node_link(graph: Graph) -> dict[str, Any]:
    """Return the graph in node-link form, which reads back as an equal graph."""
    columns = graph.graph["columns"]
    nodes: list[dict[str, Any]] = []
    for name, payload in payloads(graph).items():
        nodes.append({"id": name, **_attributes(payload, columns)})
    edges = [{"source": n, "target": c, **data} for n, c, data in graph.edges(data=True)]
    about = {"variables": {c.name: short_type(c) for c in columns}, "root": find_root(graph)}
    return {"directed": True, "multigraph": False, "graph": about, "nodes": nodes, "edges": edges}


def to_networkx(graph: Graph) -> nx.DiGraph[Any]:
    """Return a plain networkx graph with attributes that any tool can read."""
    plain: nx.DiGraph[Any] = nx.DiGraph(nx.node_link_graph(to_node_link(graph), edges="edges"))
    return plain


def _attributes(payload: Node, columns: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": type(payload).__name__.lower()}
    if isinstance(payload, Leaf):
        leaf = payload.distribution
        numbers = [_plain(x) for x in leaf.row]
        p: Any = numbers[0] if leaf.arity == 1 else numbers
        found |= {
            "variable": columns[payload.variable].name,
            "distribution": leaf.plugin_name,
            "p": p,
        }
    if not isinstance(payload, Product) and payload.tie is not None:
        found["tie"] = payload.tie if isinstance(payload.tie, str | int) else str(payload.tie)
    return found | {"rows": payload.rows}


def _plain(number: float) -> float | str:
    """Return a parameter as JSON can hold it: JSON has no infinite numbers."""
    return number if math.isfinite(number) else str(number)


def _read_attributes(
    attributes: Mapping[str, Any], draft: Draft, where: JsonPlaces, sink: Sink, *path: str
) -> bool:
    """Read variables and root into the draft. Return False after reporting an error."""
    given = attributes.get("variables", ())
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        sink.error(
            "E223",
            f"`variables` is neither a mapping nor a list: `{given}`",
            where.of(*path, "variables")(),
            help='write {"rain": "binary", "tea": "categorical(3)"}, or ["rain", "wind"]',
        )
        return False
    types = given if isinstance(given, Mapping) else None
    for i, name in enumerate(given):
        kind = "binary" if types is None else types[name]
        place = where.of(*path, "variables", i if types is None else name)
        if isinstance(kind, Mapping):
            text, plain = shown_plain(kind), kind
        else:
            text, plain = str(kind), plain_of_text(str(kind))
        draft.variables.append(DraftVariable(str(name), text, plain, place))
    draft.root = _name(attributes.get("root"))
    draft.root_place = where.of(*path, "root")
    return True


def _draft_node(name: Any, attributes: Mapping[str, Any], place: Place) -> DraftNode:
    rows = as_number(attributes.get("rows"))
    if "p" in attributes:
        parameters = {"p": attributes["p"]}  # other attributes are not ours
    else:  # one of these may have been meant as `p`; the error message names it
        parameters = {k: v for k, v in attributes.items() if k not in _LEAF_KEYS}
    return DraftNode(
        name,
        str(attributes.get("kind", "")),
        place,
        variable=_text(attributes.get("variable")),
        distribution=_text(attributes.get("distribution")),
        parameters=parameters,
        rows=rows if rows is not None and 0 <= rows < math.inf else 0.0,
        tie=_name(attributes.get("tie")),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _name(value: Any) -> Hashable:
    """Return a value that can be a name: itself or, for a list or mapping, its text."""
    return value if isinstance(value, Hashable) else str(value)


def _whole(text: str) -> int | float:
    """Parse an integer; one of absurd length becomes a float, possibly infinite."""
    return int(text) if len(text) <= 300 else float(text)


def _shape_problems(data: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield problems that keep the data from being a graph, each with the path to it."""
    if not isinstance(data, Mapping) or not isinstance(data.get("nodes"), list):
        yield (), 'there is no list of "nodes"'
        return
    if data.get("directed") is False:
        yield ("directed",), "its edges have no direction"
    if not isinstance(data.get("graph", {}), Mapping):
        yield ("graph",), '"graph" is not a mapping'
    for i, node in enumerate(data["nodes"]):
        if not isinstance(node, Mapping) or "id" not in node:
            yield ("nodes", i), 'a node has no "id"'
        elif not _is_id(node["id"]):
            yield ("nodes", i, "id"), 'an "id" is neither a text nor a whole number'
    key = "edges" if "edges" in data else "links"
    edges = data.get(key, [])
    if not isinstance(edges, list):
        yield (key,), f'"{key}" is not a list'
        return
    for i, edge in enumerate(edges):
        if not isinstance(edge, Mapping) or not {"source", "target"} <= set(edge):
            yield (key, i), 'an edge lacks "source" or "target"'
            continue
        for end in ("source", "target"):
            if not _is_id(edge[end]):
                yield (key, i, end), f'a "{end}" is neither a text nor a whole number'


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
