"""Pages with a circuit inside that can be asked: a page of its own, or a panel of another page."""

from __future__ import annotations

from html import escape
from pathlib import Path

from spnc.common.atomic import write_text
from spnc.common.web import base_style, policy_of, script_json, text_of, theme_script
from spnc.common.wording import visible
from spnc.data.images import ImageSize, Shape, chosen_shape
from spnc.diagnostics import Sink, counted, listed, writing
from spnc.explore.circuit_data import circuit_data, unknown_leaves
from spnc.program.program import Parameters, Program

SUFFIXES = (".html", ".htm")
# A circuit of this size makes a page of about 7 MB, in which an answer takes about 10 ms: twice
# what `pytest tests/unit/explore/test_answers.py -k large -s` prints.
MOST_EDGES = 400_000
_DATA = "circuit-data"
# The parts of the script, in the order in which they use one another.
_SCRIPTS = (
    "special.js",
    "leaves.js",
    "circuit.js",
    "evaluator.js",
    "likely.js",
    "wording.js",
    "bars.js",
    "range.js",
    "pixels.js",
    "changes.js",
    "findings.js",
    "explorer.js",
    "start.js",
)


def write_page(
    path: str | Path,
    sink: Sink,
    *,
    name: str,
    program: Program,
    parameters: Parameters,
    image: ImageSize = None,
    max_edges: int = MOST_EDGES,
) -> Path:
    """Write the page of a circuit and return its path.

    Raises `InputError` for another suffix than .html or .htm (E602), a shape of pictures that does
    not fit (E604), and a circuit that a page cannot hold (E605).
    """
    check_suffix(Path(path), sink)
    check_circuit(program, sink, max_edges)
    shape = chosen_shape(image, program.columns, sink)
    sink.stop()
    with writing(path):
        write_text(Path(path), page(name, program, parameters, shape))
    return Path(path)


def check_suffix(path: Path, sink: Sink) -> None:
    """Report a file name that does not end in .html or .htm."""
    if path.suffix.lower() not in SUFFIXES:
        kind = f"as `{path.suffix}`" if path.suffix else "without a suffix"
        sink.error(
            "E602",
            f"a page cannot be written {kind}",
            where=str(path),
            help=f"give a name that ends in {SUFFIXES[0]}",
        )


def check_circuit(program: Program, sink: Sink, max_edges: int) -> None:
    """Report a circuit that a page cannot hold, or that it cannot evaluate (E605)."""
    if program.edges > max_edges:
        sink.error(
            "E605",
            f"the circuit has {counted(program.edges, 'edge')}, and a page holds at most "
            f"{max_edges:,}",
            help="prune the model, or allow more with --max-edges; the page becomes slower",
        )
    unknown = unknown_leaves(program)
    if unknown:
        sink.error(
            "E605",
            f"a page cannot evaluate leaves of the kind {listed(unknown)}",
            help="only spnc's own leaves over numbers are known to the script of the page",
        )


def page(name: str, program: Program, parameters: Parameters, shape: Shape | None) -> str:
    """Return one self-contained HTML text, which runs no script but its own."""
    script = theme_script() + explore_script()
    title = escape(visible(name))
    sizes = f"{counted(len(program.columns), 'column')}, {counted(program.edges, 'edge')}"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy_of(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="generator" content="spnc explore">
<title>{title} · spnc explore</title>
<style>{base_style()}{explore_style()}</style></head>
<body><a href="#main" class="skip">Skip to content</a>
<header><p class="kind">spnc explore</p><h1>{title}</h1><p class="line">{sizes}</p>
<button type="button" class="theme" hidden>Dark</button></header>
<main id="main">{panel(name, program, parameters, shape)}</main>
<footer><p>Written by spnc. This page is self-contained, and its answers are exact.</p></footer>
<script>{script}</script></body></html>
"""


def panel(name: str, program: Program, parameters: Parameters, shape: Shape | None) -> str:
    """Return the element that `explore_script` fills, with the circuit beside it."""
    content = script_json(circuit_data(name, program, parameters, shape))
    return (
        f'<noscript><p class="warning">Answers need JavaScript.</p></noscript>'
        f'<div class="explore" data-explore="{_DATA}"></div>'
        f'<script type="application/json" id="{_DATA}">{content}</script>'
    )


def explore_style() -> str:
    """Return the style of the panel."""
    return text_of("spnc.explore.web", "explore.css")


def explore_script() -> str:
    """Return the script of the panel: all parts within one function."""
    parts = [text_of("spnc.explore.web", name) for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"
