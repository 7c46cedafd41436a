"""Reading large circuit texts quickly, if they are written plainly, as machines write them.

`spnc.language.plain_circuit` says what plain means. Statements are matched one after another and
go into the graph at once, without a parse tree or a draft.

A text that is not plain, or that has a problem of any kind, is left to `spnc.graph.parsed_text`,
which reads every circuit and says what is wrong. The graphs made here are the same as those made
there: names, the order of nodes, children and parents, and the places that nodes come from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from spnc.common.gc_pause import gc_paused
from spnc.diagnostics import InputError, Sink, Source
from spnc.graph.nodes import Graph, Leaf, Node, Origin, Product, Sum
from spnc.graph.parsed_text import read_parsed_text, weight_of
from spnc.language.grammar import unquoted
from spnc.language.plain_circuit import ADDEND, FACTOR, HEAD, STATEMENT, without_comments
from spnc.leaves import Distribution
from spnc.registry import LEAVES

_Children = dict[str, dict[str, float]]  # with the attributes of the edges to them
_WrittenLeaf = tuple[int, str, str, Origin]  # place among the nodes, column, parameters


class _NotPlainError(Exception):
    """A text is not plain, or has a problem."""


@gc_paused()
def read_plain_text(source: Source) -> Graph | None:
    """Return the graph of a plain circuit text without problems; None for any other text."""
    text = without_comments(source.text)
    head = HEAD.match(text)
    if head is None:
        return None
    reader, sink = _Reader(source), Sink()
    try:
        reader.read(text, head.end())
        graph = read_parsed_text(source, sink, head.end())
        if graph is None or sink.diagnostics:
            return None
        reader.make_leaves({column.name: i for i, column in enumerate(graph.graph["columns"])})
        reader.connect(graph)
    except _NotPlainError:
        return None
    return graph


class _Reader:
    """Collects the nodes of a text, and adds them to a graph that has only columns so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root: str | None = None
        self.names: list[str] = []
        self.nodes: list[Any] = []  # None where a leaf belongs
        self.below: list[_Children] = []  # the children of each node
        self.leaves: dict[str, list[_WrittenLeaf]] = defaultdict(list)  # by distribution

    def read(self, text: str, start: int) -> None:
        """Read all statements from an offset on. `text` is the source's, without comments."""
        place = self.source.span_at
        word = unquoted if '"' in text or "'" in text else str  # which is much faster
        for found in STATEMENT.finditer(text, start):
            name, column, kind, parameters, addends, factors, root = found.groups()
            if name is None:
                self._declare(root)
                continue
            end = found.end()
            parts: list[Any] = []
            children: _Children = {}
            node: Node | None = None
            if addends is not None:
                parts = ADDEND.findall(addends)
                children = {word(child): {"weight": weight_of(a, b)} for a, b, child in parts}
                node = Sum(0.0, Origin("", partial(place, end - len(addends), end)))
            elif factors is not None:
                parts = FACTOR.findall(factors)
                children = {word(child): {} for child in parts}
                node = Product(0.0, Origin("", partial(place, end - len(factors), end)))
            else:
                origin = Origin("", partial(place, found.start(2), end))
                self.leaves[kind].append((len(self.nodes), word(column), parameters, origin))
            if len(children) < len(parts):
                raise _NotPlainError  # a child is named twice
            self.names.append(word(name))
            self.nodes.append(node)
            self.below.append(children)

    def _declare(self, root: str | None) -> None:
        """Declare the root; None stands for a sign that is not the beginning of a statement."""
        if root is None or self.root is not None:
            raise _NotPlainError
        self.root = unquoted(root)

    def make_leaves(self, index: Mapping[str, int]) -> None:
        """Make the leaves, all of one distribution at once. `index` numbers the columns."""
        for kind, leaves in self.leaves.items():
            found = _find(kind)
            rows = [_numbers(parameters) for _, _, parameters, _ in leaves]
            widths = set(map(len, rows))
            if found is None or (found.arity is not None and widths != {found.arity}):
                raise _NotPlainError
            table = np.array(rows) if len(widths) == 1 else map(np.array, rows)
            for (place, column, _, origin), row in zip(leaves, table, strict=True):
                if column not in index:
                    raise _NotPlainError
                self.nodes[place] = Leaf(index[column], found.from_row(row), 0.0, origin)

    def connect(self, graph: Any) -> None:
        """Put the nodes and the edges between them into the graph."""
        nodes = {name: {"node": node} for name, node in zip(self.names, self.nodes, strict=True)}
        below = dict(zip(self.names, self.below, strict=True))
        above: dict[str, _Children] = {name: {} for name in nodes}
        if len(nodes) < len(self.names) or not (self.root is None or self.root in nodes):
            raise _NotPlainError
        try:
            for parent, children in below.items():
                for child, edge in children.items():
                    above[child][parent] = edge
        except KeyError:
            raise _NotPlainError from None  # a child is not defined
        graph._node.update(nodes)
        graph._adj.update(below)
        graph._pred.update(above)
        if self.root is not None:
            graph.graph["root"] = self.root


def _numbers(parameters: str) -> list[float]:
    """Return the parameters of a leaf, given as `0.2, 0.8` or `p = 0.2`."""
    return list(map(float, parameters.rpartition("=")[2].split(",")))


def _find(kind: str) -> type[Distribution] | None:
    """Return the distribution of a name; None if there is none, or it cannot be used."""
    try:
        return LEAVES.find(kind)
    except InputError:
        return None
