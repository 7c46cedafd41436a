"""Circuits for other programs: one format, one file, found through `FORMATS` by name or suffix.

A format turns a checked graph into the bytes of a file. Formats that spnc reads as well (`spn`,
`json`, `graphml`) are written by the room `graph`. `spnc.exports.spflow` converts objects, not
files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spnc.diagnostics import Sink, did_you_mean, listed
from spnc.graph.nodes import Graph


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be written: a graph under a name, and how much of it a drawing shows."""

    graph: Graph
    name: str
    depth: int | None = None  # layers below the root that are drawn; None: all
    force: bool = False  # draw also what is too large to be read


Write = Callable[[Request, Sink], bytes | None]  # None after reporting why it cannot be done


@dataclass(frozen=True)
class Format:
    """A kind of file: its name, which is also its suffix, what it is for, and how it is written."""

    name: str
    about: str
    write: Write
    is_drawing: bool = False
    is_text: bool = True


def _dot(request: Request, sink: Sink) -> bytes | None:
    from spnc.exports.dot import write_dot
    from spnc.exports.drawing import drawing_of

    drawing = drawing_of(
        request.graph, request.name, sink, depth=request.depth, force=request.force
    )
    return None if drawing is None else write_dot(drawing).encode()


def _svg(request: Request, sink: Sink) -> bytes | None:
    from spnc.exports.drawing import drawing_of
    from spnc.exports.svg import write_svg

    drawing = drawing_of(
        request.graph, request.name, sink, depth=request.depth, force=request.force
    )
    return None if drawing is None else write_svg(drawing).encode()


def _graphml(request: Request, sink: Sink) -> bytes:
    from spnc.exports.labels import Labels
    from spnc.graph.graphml import write_graphml

    del sink
    return write_graphml(request.graph, request.name, Labels(request.graph).of)


def _node_link(request: Request, sink: Sink) -> bytes:
    from spnc.graph.interchange import to_node_link

    del sink
    return (json.dumps(to_node_link(request.graph), indent=1) + "\n").encode()


def _circuit(request: Request, sink: Sink) -> bytes:
    from spnc.graph.text import write_circuit_text

    del sink
    return write_circuit_text(request.graph, request.name).encode()


def _onnx(request: Request, sink: Sink) -> bytes | None:
    from spnc.exports.onnx import write_onnx

    return write_onnx(request.graph, request.name, sink)


FORMATS: Mapping[str, Format] = {
    found.name: found
    for found in (
        Format("dot", "a drawing for Graphviz", _dot, is_drawing=True),
        Format("svg", "a picture", _svg, is_drawing=True),
        Format("graphml", "a graph for Gephi, yEd, Cytoscape and igraph", _graphml),
        Format("json", "a graph in the node-link form of networkx", _node_link),
        Format("spn", "a circuit in spnc's own language", _circuit),
        Format("onnx", "log-likelihoods for ONNX Runtime", _onnx, is_text=False),
    )
}


def find_format(name: str | None, path: Path | None, sink: Sink) -> Format | None:
    """Return the format with a name or, without one, that of a file's suffix.

    Return None after reporting that there is none (E861).
    """
    known = name if name is not None else path.suffix.removeprefix(".").lower() if path else ""
    if known in FORMATS:
        return FORMATS[known]
    names = listed(sorted(FORMATS))
    if name is not None:
        sink.error("E861", f"there is no format `{name}`", help=did_you_mean(name, FORMATS))
    else:
        sink.error(
            "E861",
            f"the suffix of `{path}` names no format",
            where=str(path),
            help=f"suffixes are .{names.replace(', ', ', .')}; or choose with --format",
        )
    return None


def exported(request: Request, format: Format, sink: Sink) -> bytes:
    """Return the content of a file. Raises `InputError` for what the format cannot hold."""
    return sink.require(format.write(request, sink))
