"""What a drawing shows of a circuit: all of it, or its top; drawings of large circuits are refused.

The same drawing is written as DOT and as SVG.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spnc.diagnostics import Sink, counted
from spnc.exports.labels import Labels
from spnc.graph.nodes import Graph, Leaf, Sum, children, find_root

# Larger drawings cannot be read. 200 nodes are one or two screens of text lines.
MOST_NODES = 200


@dataclass(frozen=True, slots=True)
class Shape:
    """A node of a drawing: its kind, the text at it, and a longer text about it.

    A shape of the kind `rest` stands for an inner node whose children are not drawn.
    """

    kind: Literal["sum", "product", "leaf", "rest"]
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge of a drawing, between numbers of shapes; below products it has no weight."""

    parent: int
    child: int
    weight: float | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes, parents before their children and the root first, and the lines between them."""

    name: str
    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]


def drawing_of(
    graph: Graph, name: str, sink: Sink, *, depth: int | None = None, force: bool = False
) -> Drawing | None:
    """Return the drawing of a circuit, or of its top `depth` layers.

    Return None after reporting that it would be too large to be read (E862), unless `force`.
    """
    root = find_root(graph)
    edges = children(graph)
    layer: dict[Hashable, int] = {root: 0}
    shown = [root]
    for n in shown:  # breadth first, so that the first parent is the nearest to the root
        if layer[n] != depth:
            new = [child for child in edges[n] if child not in layer]
            layer |= dict.fromkeys(new, layer[n] + 1)
            shown += new
    if len(shown) > MOST_NODES and not force:
        _refuse(layer.values(), graph, depth, sink)
        return None
    labels = Labels(graph)
    number = {n: i for i, n in enumerate(shown)}
    shapes = []
    for n in shown:
        node = graph.nodes[n]["node"]
        if isinstance(node, Leaf):
            shapes.append(Shape("leaf", labels.of(n), labels.title(n)))
        elif layer[n] == depth:
            shapes.append(Shape("rest", f"… {labels.scope(n)}", labels.title(n)))
        else:
            kind: Literal["sum", "product"] = "sum" if isinstance(node, Sum) else "product"
            shapes.append(Shape(kind, labels.of(n), labels.title(n)))
    lines = [
        Line(number[n], number[c], data.get("weight"))
        for n in shown
        if layer[n] != depth
        for c, data in edges[n].items()
    ]
    return Drawing(name, tuple(shapes), tuple(lines))


def _refuse(layers: Iterable[int], graph: Graph, depth: int | None, sink: Sink) -> None:
    """Report that the nodes of these layers are too many, and which depth would do."""
    sizes = np.cumsum(np.bincount(np.fromiter(layers, dtype=np.int64)))
    what = f"the circuit has {counted(graph.number_of_nodes(), 'node')}"
    if depth is not None:
        what = f"to a depth of {depth}, the circuit has {counted(int(sizes[-1]), 'node')}"
    fitting = int(np.searchsorted(sizes, MOST_NODES, side="right")) - 1
    less = f"--depth {fitting} draws the top of it" if fitting > 0 else "its top alone is too large"
    sink.error(
        "E862",
        f"{what}; a drawing can be read up to {MOST_NODES:,}",
        help=f"{less}; --force draws it all the same",
    )
