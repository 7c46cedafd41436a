"""Circuit texts that are read without the grammar, compared with what the grammar says."""

from __future__ import annotations

from spnc.diagnostics import Sink, Source
from spnc.graph.nodes import Graph, children, parents, payloads
from spnc.graph.parsed_text import read_parsed_text
from spnc.graph.plain_text import read_plain_text


def is_plain(source: Source) -> bool:
    """Whether a text is read without the grammar; if so, the grammar has to give the same graph."""
    found = read_plain_text(source)
    if found is None:
        return False
    sink = Sink()
    expected = read_parsed_text(source, sink)
    assert expected is not None, f"the grammar refuses it: {sink.diagnostics}"
    assert not sink.diagnostics, f"the grammar finds problems: {sink.diagnostics}"
    _compare(found, expected)
    return True


def _compare(found: Graph, expected: Graph) -> None:
    """Both graphs have the same nodes, edges and places, and all of that in the same order."""
    nodes, same_nodes = payloads(found), payloads(expected)
    assert list(nodes.items()) == list(same_nodes.items())
    for edges, same_edges in (
        (children(found), children(expected)),
        (parents(found), parents(expected)),
    ):
        assert list(edges) == list(same_edges)
        for name, ends in same_edges.items():
            assert list(edges[name].items()) == list(ends.items()), name
    about, same_about = dict(found.graph), dict(expected.graph)
    assert about.pop("place")() == same_about.pop("place")()
    assert list(about.items()) == list(same_about.items())
    for name, node in nodes.items():
        origin, same_origin = node.origin, same_nodes[name].origin
        assert origin is not None, name
        assert same_origin is not None, name
        assert origin.span == same_origin.span, name
