"""The structure at a glance: layers, scopes, which part carries the flow, what parts share."""

from __future__ import annotations

import numpy as np

from spnc.diagnostics import counted
from spnc.report.facts.circuit import Circuit
from spnc.report.facts.gather import Facts
from spnc.report.page.charts import Bar, bars_chart, columns_chart
from spnc.report.page.html import Html, el, joined, percent
from spnc.report.page.matrix import matrix, scale
from spnc.report.page.parts import Section, figure, legend, subheading, table

MOST_BARS, MOST_IN_MATRIX = 20, 24
KINDS = (("f2", "sums"), ("f1", "products"), ("f3", "leaves"))


def section(facts: Facts) -> Section:
    """Layers and scopes always; parts if the topmost node is a sum."""
    circuit = facts.circuit
    body = [el("div", _layers(circuit), _scopes(facts), class_="pair")]
    body += _parts(circuit)
    return Section("structure", "What it is made of", _finding(facts), joined(body))


def _finding(facts: Facts) -> str:
    circuit, size = facts.circuit, facts.run.metrics["model"]
    said = f"{counted(size['nodes'], 'node')} in {counted(size['layers'], 'layer')}"
    if not circuit.parts:
        return f"{said}; the topmost node is a {circuit.top}, so there are no parts to weigh."
    name = _noun(circuit)
    first = circuit.parts[0]
    share = first.weight if first.share is None else first.share
    if len(circuit.parts) == 1:
        return f"{said}; all of the flow goes through the one {name}."
    half = int(np.searchsorted(np.cumsum(_shares(circuit)), 0.5)) + 1
    return (
        f"{said}; of {len(circuit.parts):,} {_noun(circuit, 2)} the largest carries "
        f"{percent(share)} of the flow, and {half:,} {_verb(half)} half of it."
    )


def _verb(count: int) -> str:
    return "carries" if count == 1 else "carry"


def _noun(circuit: Circuit, count: int = 1) -> str:
    word = "component" if circuit.are_components else "branch"
    return word if count == 1 else {"component": "components", "branch": "branches"}[word]


def _shares(circuit: Circuit) -> list[float]:
    return [p.weight if p.share is None else p.share for p in circuit.parts]


def _layers(circuit: Circuit) -> Html:
    layers = circuit.layers
    stacks = [(class_, kind, [r[kind] for r in layers]) for class_, kind in KINDS]
    labels = [str(r["layer"]) for r in layers]
    title = f"Nodes per layer: {len(layers)} layers, leaves are layer 1. The numbers follow."
    rows = [(r["layer"], *(f"{r[k]:,}" for _, k in KINDS), f"{r['edges']:,}") for r in layers]
    head = ["layer", "sums", "products", "leaves", "edges down"]
    return el(
        "div",
        subheading("Nodes by layer"),
        legend([(f"box {class_}", kind) for class_, kind in KINDS]),
        figure(
            columns_chart(title, labels, stacks, "layer", "nodes", log=True),
            "Layer 1 holds the leaves, the last one the topmost node. Heights go by the logarithm; "
            "colours are shares of a bar.",
            table(head, rows, caption="Nodes by layer and kind"),
        ),
    )


def _scopes(facts: Facts) -> Html:
    """Inner nodes by the number of columns below them, in bins that double."""
    scopes = [r for r in facts.circuit.scopes if r["sums"] or r["products"]]
    width = len(facts.run.model.columns)
    bins: list[tuple[int, int]] = []
    low = 1
    while low <= width:
        high = min(width, low if low <= 2 else 2 * low - 2)
        bins.append((low, high))
        low = high + 1
    labels = [str(a) if a == b else f"{a}–{b}" for a, b in bins]

    def values(kind: str) -> list[float]:
        return [sum(r[kind] for r in scopes if a <= r["columns"] <= b) for a, b in bins]

    stacks = [(class_, kind, values(kind)) for class_, kind in KINDS[:2]]
    title = "Sums and products by the number of columns below them. The numbers follow."
    rows = [
        (label, f"{int(stacks[0][2][i]):,}", f"{int(stacks[1][2][i]):,}")
        for i, label in enumerate(labels)
    ]
    return el(
        "div",
        subheading("Sums and products by scope"),
        legend([(f"box {class_}", kind) for class_, kind in KINDS[:2]]),
        figure(
            columns_chart(title, labels, stacks, "columns below", "nodes"),
            "How many columns a node speaks about; a leaf speaks about one.",
            table(["columns below", "sums", "products"], rows, caption="Nodes by scope"),
        ),
    )


def _parts(circuit: Circuit) -> list[Html]:
    if not circuit.parts:
        return []
    found = [subheading(f"Which {_noun(circuit)} carries how much")]
    shown = circuit.parts[:MOST_BARS]
    shares = _shares(circuit)
    flow = circuit.parts[0].share is not None
    what = "of the flow of the training rows" if flow else "of the weight"
    bars = [
        Bar(
            f"{_noun(circuit)} {i + 1}",
            shares[i],
            percent(shares[i]),
            f"{_noun(circuit)} {i + 1}: {percent(shares[i])} {what}, weight {percent(p.weight)}, "
            f"{counted(p.own_nodes, 'node')} of its own, {p.shared_nodes:,} shared",
            mark=p.weight if flow else None,
        )
        for i, p in enumerate(shown)
    ]
    rest = sum(shares[MOST_BARS:])
    if len(circuit.parts) > MOST_BARS:
        more = f"{len(circuit.parts) - MOST_BARS:,} more"
        bars.append(Bar(more, rest, percent(rest), f"{more}: {percent(rest)} {what}", class_="f0"))
    title = f"Share {what} by {_noun(circuit)}, largest first. The numbers follow."
    rows = [
        (
            str(i + 1),
            percent(p.share, 2) if flow else "–",
            percent(p.weight, 2),
            p.branches,
            f"{p.own_nodes:,}",
            f"{p.shared_nodes:,}",
        )
        for i, p in enumerate(circuit.parts[:200])
    ]
    head = [_noun(circuit), "flow", "weight", "branches", "own nodes", "shared nodes"]
    numbers = table(head, rows, caption=f"{_noun(circuit, 2).capitalize()} by share of the flow")
    found.append(figure(bars_chart(title, bars), _parts_caption(circuit), numbers))
    return found + _links(circuit)


def _parts_caption(circuit: Circuit) -> str:
    said = "Numbered by their share. "
    if circuit.are_components:
        said += "Each is a component of the forest. "
    elif circuit.components is not None:
        own = counted(len(circuit.parts), "branch", "branches")
        said += (
            f"The topmost sum has {own}, the recipe's forest "
            f"{counted(circuit.components, 'component')}: a component that begins with a sum is "
            "merged into the topmost one, and a model does not keep which branches were its. "
        )
    if circuit.parts[0].share is not None:
        said += "A bar is the expected share of training rows, the stroke the weight. "
    if circuit.rows < circuit.all_rows:
        said += f"Counted over {circuit.rows:,} of {circuit.all_rows:,} rows, drawn at random."
    return said.strip()


def _links(circuit: Circuit) -> list[Html]:
    """What parts have in common, where links were drawn or something is shared."""
    if len(circuit.parts) < 2:
        return []
    heading = subheading("Where links go")
    total = int(circuit.links.sum())
    if total > 0 and circuit.draws_links is False:
        said = (
            f"The recipe draws no links. {counted(total, 'edge')} lead to nodes that "
            f"{_noun(circuit, 2)} have in common, since what is equal in a finished model is kept "
            "once."
        )
        return [heading, el("p", said)]
    if total == 0:
        why = "the recipe draws no links"
        if circuit.draws_links:
            why = "links of the recipe, if it drew any, are copies or within a branch"
        said = f"No node is used by two {_noun(circuit, 2)}: {why}."
        return [heading, el("p", said)]
    n = min(len(circuit.parts), MOST_IN_MATRIX)
    links = circuit.links[:n, :n]
    flows = np.nan_to_num(circuit.linked[:n, :n])
    by_flow = circuit.parts[0].share is not None
    values = flows if by_flow else links.astype(float)
    top = float(values.max())
    i, j = (int(k) for k in np.unravel_index(np.argmax(values), values.shape))
    name = _noun(circuit)
    shown = percent(top) if by_flow else f"{int(top):,}"
    said = (
        f"{counted(total, 'edge')} lead from what one {name} has alone into what another uses too; "
        f"most go from {name} {i + 1} into what {name} {j + 1} uses "
        f"({links[i, j]:,} edges" + (f", {shown} of all cells)." if by_flow else ").")
    )
    names = [str(k + 1) for k in range(n)]
    drawn = np.where(np.eye(n, dtype=bool), np.nan, values)
    picture = el(
        "div",
        matrix(f"From line to column. {said}", drawn, names, top, sides=(f"from {name}", "into")),
        class_="plot square",
    )
    order = np.argsort(-values, axis=None, kind="stable")[:50]
    pairs = [divmod(int(k), n) for k in order if values.flat[k] > 0]
    rows = [
        (f"{a + 1} → {b + 1}", f"{links[a, b]:,}", percent(flows[a, b], 2) if by_flow else "–")
        for a, b in pairs
    ]
    numbers = table(["from → into", "edges", "cells"], rows, caption="Edges into shared parts")
    few = f" The {n} largest are shown." if n < len(circuit.parts) else ""
    caption = (
        f"Edges from a node that one {name} has alone to one that several use, by the share of "
        "all cells of the training rows that are explained along them."
        if by_flow
        else f"Edges from a node that one {name} has alone to one that several use."
    )
    caption += few
    shades = el("p", percent(0, 0), class_="legend") if top <= 0 else _scale(top, by_flow)
    return [heading, el("p", said), shades, figure(picture, caption, numbers)]


def _scale(top: float, by_flow: bool) -> Html:
    return scale(100 * top, "% of all cells") if by_flow else scale(top, "edges")
