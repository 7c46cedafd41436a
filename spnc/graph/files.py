"""Circuit files, in the language or as node-link JSON."""

from __future__ import annotations

from spnc.diagnostics import Sink, Source
from spnc.graph.interchange import read_node_link_text
from spnc.graph.nodes import Graph
from spnc.graph.text import read_circuit_text


def read_circuit(source: Source, sink: Sink) -> Graph | None:
    """Return the graph in a circuit file, or None after reporting why it cannot be read."""
    if source.name.lower().endswith(".json"):
        return read_node_link_text(source, sink)
    return read_circuit_text(source, sink)
