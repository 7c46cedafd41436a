"""DOT, the language of Graphviz: `dot -Tsvg circuit.dot`."""

from __future__ import annotations

from spnc.common.wording import visible
from spnc.exports.drawing import Drawing
from spnc.exports.labels import short

_CIRCLE = "shape=circle, fixedsize=true, width=0.28, style=filled, fontcolor=white, penwidth=0"
_STYLES = {
    "sum": f'{_CIRCLE}, fillcolor="#c8540a"',
    "product": f'{_CIRCLE}, fillcolor="#0072b2"',
    "leaf": 'shape=box, style="rounded,filled", fillcolor="#e4f3ee", color="#00805c"',
    "rest": 'shape=box, style="rounded,dashed", color="#80868c"',
}


def write_dot(drawing: Drawing) -> str:
    """Return a drawing as DOT text; sums have the weights of their children at the edges."""
    lines = [
        f"digraph {_quoted(drawing.name)} {{",
        '  graph [rankdir=LR, ranksep=0.7, nodesep=0.12, bgcolor="white"];',
        '  node [fontname="sans-serif", fontsize=11, margin="0.08,0.04", height=0.2];',
        '  edge [fontname="sans-serif", fontsize=9, color="#80868c", arrowhead=none];',
    ]
    for i, shape in enumerate(drawing.shapes):
        about = f"label={_quoted(shape.text)}, tooltip={_quoted(shape.title)}"
        lines.append(f"  n{i} [{about}, {_STYLES[shape.kind]}];")
    for line in drawing.lines:
        weight = "" if line.weight is None else f" [label={_quoted(short(line.weight))}]"
        lines.append(f"  n{line.parent} -> n{line.child}{weight};")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    """Return a text as DOT quotes it; backslashes do not begin an escape of Graphviz."""
    return '"' + visible(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
