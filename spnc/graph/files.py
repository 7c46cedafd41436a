"""Circuit files: in the language, as node-link JSON, or as GraphML."""

from __future__ import annotations

from spnc.diagnostics import Sink, Source
from spnc.graph.graphml import read_graphml_text
from spnc.graph.interchange import read_node_link_text
from spnc.graph.nodes import Graph
from spnc.graph.text import read_circuit_text


def read_circuit(source: Source, sink: Sink) -> Graph | None:
    """Return the graph in a circuit file, or None after reporting why it cannot be read."""
    if source.name.lower().endswith(".json"):
        return read_node_link_text(source, sink)
    if source.name.lower().endswith(".graphml"):
        return read_graphml_text(source, sink)
    return read_circuit_text(source, sink)
