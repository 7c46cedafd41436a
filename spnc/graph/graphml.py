"""Circuits as GraphML, which Gephi, yEd, Cytoscape and igraph open: reading and writing.

The attributes are those of `spnc.graph.interchange`. GraphML has no lists and no mappings, so `p`
and `variables` are JSON texts. In files that spnc writes, `column` is the number of a leaf's
column, `name` the node's name as JSON, and `variable` and `label` are for people.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from spnc.common.wording import visible
from spnc.diagnostics import Sink, Source, Span, listed
from spnc.graph.interchange import from_node_link, to_node_link
from spnc.graph.json_places import JsonPlaces
from spnc.graph.nodes import Graph

_TEXTS = ("p", "name", "tie")  # node attributes that are JSON texts
_TAG = re.compile(r"<(?:[\w.-]+:)?(node|edge)\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"""([\w.-]+)\s*=\s*("[^"]*"|'[^']*')""")
_HELP = "a circuit needs nodes with `kind`, and a graph attribute `variables`"


def write_graphml(graph: Graph, name: str, label: Callable[[Any], str] | None = None) -> bytes:
    """Return the graph as a GraphML file, which reads back as an equal graph.

    `label` returns the text that tools show at a node; without it, there is none.
    """
    data = to_node_link(graph)
    numbers = {c.name: i for i, c in enumerate(graph.graph["columns"])}
    about = data["graph"]
    ids = {node["id"]: f"n{i}" for i, node in enumerate(data["nodes"])}
    made: nx.DiGraph[str] = nx.DiGraph(
        circuit=_json(name), variables=_json(about["variables"]), root=ids[about["root"]]
    )
    for node in data["nodes"]:
        own = {key: value for key, value in node.items() if key != "id"} | {"name": node["id"]}
        if "variable" in own:
            own |= {"column": numbers[own["variable"]], "variable": visible(own["variable"])}
        plain = {key: _json(own[key]) for key in _TEXTS if key in own}
        shown = {} if label is None else {"label": visible(label(node["id"]))}
        made.add_node(ids[node["id"]], **{**own, **plain, **shown})
    for edge in data["edges"]:
        weight = {"weight": float(edge["weight"])} if "weight" in edge else {}
        made.add_edge(ids[edge["source"]], ids[edge["target"]], **weight)
    file = io.BytesIO()
    nx.write_graphml_xml(made, file)
    return file.getvalue()


def read_graphml_text(source: Source, sink: Sink) -> Graph | None:
    """Return the graph in a GraphML text; None after reporting why it cannot be read."""
    try:
        found: Any = nx.read_graphml(io.BytesIO(source.text.encode("utf-8", "surrogatepass")))
    except ParseError as error:
        line, column = error.position
        at = source.span(line, column + 1, line, column + 2)
        sink.error("E223", f"this is not XML: {str(error).split(':')[0]}", at)
        return None
    except (nx.NetworkXError, LookupError, TypeError, ValueError, StopIteration) as error:
        _refuse(source, sink, f"this is not GraphML: {error or 'there is no graph in it'}")
        return None
    if not found.is_directed():
        _refuse(source, sink, "the edges of this GraphML file have no direction")
        return None
    data = _node_link(found, source, sink)
    if data is None:
        return None
    places = _Places(source, list(found), [(n, c) for n, c in found.edges()])
    return from_node_link(data, sink, source, places)


class _Places(JsonPlaces):
    """Finds the positions of nodes and edges in a GraphML text, by their ids."""

    def __init__(self, source: Source, nodes: list[str], edges: list[tuple[str, str]]) -> None:
        super().__init__(source)
        self.nodes = {n: i for i, n in enumerate(nodes)}
        self.edges: dict[tuple[str, str], list[int]] = {}
        for i, edge in enumerate(edges):
            self.edges.setdefault(edge, []).append(i)

    def _look(self, source: Source) -> Iterator[tuple[tuple[str | int, ...], Span]]:
        waiting = {edge: iter(numbers) for edge, numbers in self.edges.items()}
        for tag in _TAG.finditer(source.text):
            own = {m[1]: unescape(m[2][1:-1]) for m in _ATTRIBUTE.finditer(tag[2])}
            span = source.span_at(tag.start(), tag.end())
            if tag[1] == "node" and own.get("id") in self.nodes:
                yield ("nodes", self.nodes[own["id"]]), span
            elif tag[1] == "edge":
                edge = own.get("source", ""), own.get("target", "")
                number = next(waiting.get(edge, iter(())), None)
                if number is not None:
                    yield ("edges", number), span


def _node_link(found: Any, source: Source, sink: Sink) -> dict[str, Any] | None:
    """Return a graph that networkx read as node-link data; None after reporting."""
    broken: list[str] = []

    def parsed(text: Any, what: str) -> Any:
        try:
            return json.loads(text) if isinstance(text, str) else text
        except ValueError:
            broken.append(what)
            return None

    about = found.graph
    variables = parsed(about.get("variables"), "`variables` of the graph")
    columns = list(variables) if isinstance(variables, dict | list) else []
    ids = {n: _name(data.get("name", n)) for n, data in found.nodes(data=True)}
    nodes = []
    for n, data in found.nodes(data=True):
        node = {key: value for key, value in data.items() if key not in ("name", "column")}
        node["id"] = ids[n]
        if "p" in node:
            node["p"] = parsed(node["p"], f"`p` of node `{visible(str(n))}`")
        if "tie" in node:
            node["tie"] = _name(node["tie"])
        number = data.get("column")
        if isinstance(number, int) and 0 <= number < len(columns):
            node["variable"] = columns[number]
        nodes.append(node)
    if broken:
        _refuse(source, sink, f"not JSON: {listed(broken, 3)}")
        return None
    graph = {"name": str(_name(about.get("circuit", source.name)))}
    graph |= {"variables": variables} if variables is not None else {}
    graph |= {"root": ids.get(about["root"], about["root"])} if "root" in about else {}
    # Of parallel edges networkx gives all; the second of two is reported when it is assembled.
    edges = [{"source": ids[n], "target": ids[c], **data} for n, c, data in found.edges(data=True)]
    return {"directed": True, "graph": graph, "nodes": nodes, "edges": edges}


def _name(text: Any) -> Any:
    """Return the name that a JSON text stands for; any other text is a name itself."""
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
    return found if isinstance(found, str | int) and not isinstance(found, bool) else text


def _refuse(source: Source, sink: Sink, message: str) -> None:
    sink.error("E223", message, where=source.name, help=_HELP)


def _json(value: Any) -> str:
    """Return a value as JSON in ASCII: no character of a name is left that XML cannot hold."""
    return json.dumps(value)
