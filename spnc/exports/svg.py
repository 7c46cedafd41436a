"""SVG: a picture of a small circuit, drawn by our own layout, without Graphviz.

The root is on the left, the leaves are lines of text on the right. Every shape has a title, which
browsers show when the pointer rests on it.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise, product

from spnc.common.wording import clipped, visible, width
from spnc.diagnostics import counted
from spnc.exports.drawing import Drawing, Shape
from spnc.exports.labels import short
from spnc.exports.layout import Layout, layout

_ROW = 26.0  # height of a line of text with its frame and distance
_RADIUS = 10.0  # of sums and products
_MARGIN = 18.0
_HEADING = 30.0
_LETTER = 6.7  # width of a letter in text of 12 pixels, on average
_STEP = 104.0  # between layers: room for a weight
_WEIGHT_ROW = 11.0  # height of a weight
_SQUARE = 60.0  # larger than a weight
_PLACES = (0.62, 0.5, 0.72, 0.42, 0.8, 0.34, 0.26)  # on an edge, where a weight may be; best first
_MOST_LETTERS = 70  # of a leaf's text; its title has the rest
_STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1d2125 }
.name { font-weight: 600; font-size: 13px }
.note { fill: #545a61 }
.edge { fill: none; stroke: #80868c }
.weight { font-size: 10.5px; text-anchor: middle; fill: #8a3a06; stroke: #fff; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke }
.sum { fill: #c8540a }
.product { fill: #0072b2 }
.sign { fill: #fff; font-size: 15px; font-weight: 600; text-anchor: middle }
.leaf { fill: #e9f5f1; stroke: #00805c }
.rest { fill: #f4f4f2; stroke: #80868c; stroke-dasharray: 3 3 }
"""  # noqa: E501


def write_svg(drawing: Drawing) -> str:
    """Return a drawing as an SVG picture."""
    shapes = drawing.shapes
    is_text = [shape.kind in ("leaf", "rest") for shape in shapes]
    edges = [(line.parent, line.child) for line in drawing.lines]
    places = layout(len(shapes), edges, is_text)
    texts = [clipped(shape.text, _MOST_LETTERS) for shape in shapes]
    sizes = [_text_width(t) + 14.0 for t, own in zip(texts, is_text, strict=True) if own]
    heights = [*places.height, *(h for route in places.routes for _, h in route)]
    right = _x(max(places.layer)) + max([_RADIUS, *sizes]) + _MARGIN
    heading = _heading(drawing)
    right = max(right, _text_width(heading[0]) * 1.15 + _text_width(heading[1]) + 4 * _MARGIN)
    bottom = _y(max(heights)) + _ROW / 2 + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title about" '
        f'width="{right:.0f}" height="{bottom:.0f}" viewBox="0 0 {right:.0f} {bottom:.0f}">',
        f'<title id="title">{_escaped(heading[0])}</title>',
        f'<desc id="about">{_escaped(heading[1])}</desc>',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 6}"><tspan class="name">{_escaped(heading[0])}</tspan>'
        f'<tspan class="note" dx="12">{_escaped(heading[1])}</tspan></text>',
        *_edges(drawing, places, is_text),
        *(_shape(s, t, places, i) for i, (s, t) in enumerate(zip(shapes, texts, strict=True))),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _heading(drawing: Drawing) -> tuple[str, str]:
    """Return the name of the circuit, and how much of it is drawn."""
    kinds = [shape.kind for shape in drawing.shapes]
    counts = [
        counted(kinds.count("sum"), "sum"),
        counted(kinds.count("product"), "product"),
        counted(kinds.count("leaf"), "leaf", "leaves"),
        counted(len(drawing.lines), "edge"),
    ]
    if "rest" in kinds:
        counts.append(f"{counted(kinds.count('rest'), 'part')} not drawn")
    return clipped(drawing.name, _MOST_LETTERS), ", ".join(counts)


def _edges(drawing: Drawing, places: Layout, is_text: list[bool]) -> list[str]:
    """Return the edges, then the weights, which lie above all edges."""
    curves, weights = [], []
    taken = _Taken()
    for k, h in zip(places.layer, places.height, strict=True):
        taken.add(_x(k), _y(h), 2 * _RADIUS)
    for line, route in zip(drawing.lines, places.routes, strict=True):
        points = [(_x(k), _y(h)) for k, h in route]
        points[0] = (points[0][0] + _RADIUS, points[0][1])
        points[-1] = (points[-1][0] - (0.0 if is_text[line.child] else _RADIUS), points[-1][1])
        path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
        for (x, y), (to_x, to_y) in pairwise(points):
            half = (x + to_x) / 2
            path.append(f"C{half:.1f},{y:.1f} {half:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}")
        thick = 1.0 if line.weight is None else 0.6 + 2.4 * min(1.0, max(0.0, line.weight))
        dash = ' stroke-dasharray="2 3"' if line.weight == 0.0 else ""
        about = "" if line.weight is None else f"<title>weight {line.weight:.6g}</title>"
        curve = f'<path class="edge" d="{"".join(path)}" stroke-width="{thick:.2f}"{dash}>'
        curves.append(f"{curve}{about}</path>")
        if line.weight is not None:
            weights.append(_weight(short(line.weight, 2), points, taken))
    return curves + weights


class _Taken:
    """Places of texts and nodes, sorted into squares, so that near ones are found quickly."""

    def __init__(self) -> None:
        self._squares: dict[tuple[int, int], list[tuple[float, float, float]]] = {}

    def add(self, x: float, y: float, wide: float) -> None:
        """Add a text around a point."""
        square = int(x // _SQUARE), int(y // _SQUARE)
        self._squares.setdefault(square, []).append((x, y, wide))

    def overlap(self, x: float, y: float, wide: float) -> float:
        """Return the area that a text around a point would share with others."""
        total, column, row = 0.0, int(x // _SQUARE), int(y // _SQUARE)
        for square in product((column - 1, column, column + 1), (row - 1, row, row + 1)):
            for at_x, at_y, other in self._squares.get(square, ()):
                across = (wide + other) / 2 - abs(x - at_x)
                total += max(0.0, across) * max(0.0, _WEIGHT_ROW - abs(y - at_y))
        return total


def _weight(text: str, points: list[tuple[float, float]], taken: _Taken) -> str:
    """Return a weight on its edge, where it hides no other text and no node.

    Most often that is on the first piece, nearer to its end, where edges are apart.
    """
    wide = _text_width(text) * 0.9
    best, least = (0.0, 0.0), float("inf")
    for (x, y), (to_x, to_y) in pairwise(points):
        for t in _PLACES:
            # A piece is a Bézier curve whose control points lie halfway.
            at_x = x + (1.5 * t * (1 - t) + t**3) * (to_x - x)
            at_y = y + (3 * t * t - 2 * t**3) * (to_y - y)
            hidden = taken.overlap(at_x, at_y, wide)
            if hidden < least:
                best, least = (at_x, at_y), hidden
        if least == 0.0:
            break
    at_x, at_y = best
    taken.add(at_x, at_y, wide)
    return f'<text class="weight" x="{at_x:.1f}" y="{at_y + 3.5:.1f}">{text}</text>'


def _shape(shape: Shape, text: str, places: Layout, number: int) -> str:
    x, y = _x(places.layer[number]), _y(places.height[number])
    title = f"<title>{_escaped(shape.title)}</title>"
    if shape.kind in ("sum", "product"):
        return (
            f'<g>{title}<circle class="{shape.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}"/>'
            f'<text class="sign" x="{x:.1f}" y="{y + 5:.1f}">{_escaped(text)}</text></g>'
        )
    wide = _text_width(text) + 14.0
    return (
        f'<g>{title}<rect class="{shape.kind}" x="{x:.1f}" y="{y - 10:.1f}" width="{wide:.1f}" '
        f'height="20" rx="4"/><text x="{x + 7:.1f}" y="{y + 4:.1f}">{_escaped(text)}</text></g>'
    )


def _x(layer: int) -> float:
    return _MARGIN + _RADIUS + layer * _STEP


def _y(height: float) -> float:
    return _MARGIN + _HEADING + _ROW / 2 + height * _ROW


def _text_width(text: str) -> float:
    return width(text) * _LETTER


def _escaped(text: str) -> str:
    """Return a text without markup or hidden characters."""
    return escape(visible(text))
