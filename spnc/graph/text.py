"""Circuits in the circuit language: reading and writing."""

from __future__ import annotations

from typing import Any

from spnc.data.column_types import type_text
from spnc.diagnostics import Sink, Source
from spnc.graph.nodes import Graph, Leaf, Sum, children_first, find_root, payloads
from spnc.graph.parsed_text import read_parsed_text
from spnc.graph.plain_text import read_plain_text
from spnc.language.grammar import KEYWORDS, NAME, quoted_on_one_line


def read_circuit_text(source: Source, sink: Sink) -> Graph | None:
    """Return the graph that a circuit text describes; None after a syntax error."""
    graph = read_plain_text(source)
    return graph if graph is not None else read_parsed_text(source, sink)


def write_circuit_text(graph: Graph, name: str) -> str:
    """Return the graph as circuit text, children first, which reads back as an equal graph."""
    columns = graph.graph["columns"]
    node = payloads(graph)
    lines = [f"circuit {_word(name)}", "", "variables {"]
    written = [_word(c.name) for c in columns]
    word = _words(graph)
    lines += [f"  {name}: {type_text(c)}" for name, c in zip(written, columns, strict=True)]
    lines += ["}", ""]
    for n in children_first(graph):
        payload = node[n]
        if isinstance(payload, Leaf):
            leaf = payload.distribution
            numbers = ", ".join(repr(x) for x in leaf.row)
            text = f"{written[payload.variable]} ~ {leaf.plugin_name}({numbers})"
        elif isinstance(payload, Sum):
            edges = graph.succ[n].items()
            text = " + ".join(f"{data['weight']!r} {word[c]}" for c, data in edges)
        else:
            text = " * ".join(word[c] for c in graph.succ[n])
        lines.append(f"{word[n]} = {text}")
    return "\n".join([*lines, "", f"root {word[find_root(graph)]}", ""])


def _words(graph: Graph) -> dict[Any, str]:
    """Return a word for every node: its name, or `n17` for a node that is called 17."""
    taken = {n for n in graph if isinstance(n, str)}
    found: dict[Any, str] = {}
    for n in graph:
        text = n if isinstance(n, str) else f"n{n}"
        while not isinstance(n, str) and text in taken:
            text += "_"
        taken.add(text)
        found[n] = _word(text)
    return found


def _word(name: str) -> str:
    """Return the name of a node or column as the language writes it."""
    return name if NAME.fullmatch(name) and name not in KEYWORDS else quoted_on_one_line(name)
