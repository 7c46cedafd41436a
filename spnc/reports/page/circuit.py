"""The structure of the circuit: layers, scopes, the flow through its parts, shared nodes."""

from __future__ import annotations

import numpy as np

from spnc.diagnostics import counted
from spnc.reports.facts.circuit import CircuitFacts
from spnc.reports.facts.gather import Facts
from spnc.reports.facts.sharing import Sharing
from spnc.reports.page.charts import Bar, bars_chart, columns_chart
from spnc.reports.page.html import Html, el, joined, percent
from spnc.reports.page.matrix import matrix, scale
from spnc.reports.page.parts import Section, cut_to, figure, legend, subheading, table

MOST_BARS = 20
KINDS = (("f2", "sums"), ("f1", "products"), ("f3", "leaves"))
LISTED = 200  # parts in the table


def section(facts: Facts) -> Section:
    """Return layers and scopes; also the parts below the root, if the root is a sum."""
    circuit = facts.circuit
    body = [el("div", _layers(circuit), _scopes(facts), class_="pair")]
    body += _parts(circuit)
    return Section("structure", "Structure", _finding(facts), joined(body))


def _finding(facts: Facts) -> str:
    circuit, size = facts.circuit, facts.run.metrics.model
    said = f"{counted(size['nodes'], 'node')} in {counted(size['layers'], 'layer')}"
    if not circuit.parts:
        return f"{said}; the root is a {circuit.top}, so there are no branches to compare."
    name = _noun(circuit)
    first = circuit.parts[0]
    share = first.weight if first.share is None else first.share
    what = _what(circuit)
    if len(circuit.parts) == 1:
        return f"{said}; there is only one {name}, which carries all of the {what}."
    said += (
        f"; the largest of {len(circuit.parts):,} {_noun(circuit, 2)} carries {percent(share)} "
        f"of the {what}"
    )
    half = int(np.searchsorted(np.cumsum(_shares(circuit)), 0.5)) + 1
    return f"{said}, the {half:,} largest carry half of it." if half > 1 else f"{said}."


def _what(circuit: CircuitFacts) -> str:
    """Return what measures parts: the flow of rows, or weights where there are no rows."""
    return "weight" if circuit.parts[0].share is None else "flow"


def _noun(circuit: CircuitFacts, count: int = 1) -> str:
    word = "component" if circuit.are_components else "branch"
    return word if count == 1 else {"component": "components", "branch": "branches"}[word]


def _shares(circuit: CircuitFacts) -> list[float]:
    return [p.weight if p.share is None else p.share for p in circuit.parts]


def _layers(circuit: CircuitFacts) -> Html:
    layers = circuit.layers
    stacks = [(class_, kind, [r[kind] for r in layers]) for class_, kind in KINDS]
    labels = [str(r["layer"]) for r in layers]
    title = f"Nodes per layer: {len(layers)} layers, leaves are layer 1. The numbers follow."
    rows = [(r["layer"], *(f"{r[k]:,}" for _, k in KINDS), f"{r['edges']:,}") for r in layers]
    head = ["layer", "sums", "products", "leaves", "edges to children"]
    return el(
        "div",
        subheading("Nodes by layer"),
        legend([(f"box {class_}", kind) for class_, kind in KINDS]),
        figure(
            columns_chart(title, labels, stacks, "layer", "nodes", log=True),
            "Layer 1 holds the leaves, the last layer the root. The height of a bar is on a log "
            "scale; its colours divide it by share.",
            table(head, rows, caption="Nodes by layer and kind"),
        ),
    )


def _scopes(facts: Facts) -> Html:
    """Return inner nodes by the size of their scopes, in bins whose width doubles."""
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
    title = "Sums and products by the number of columns in their scope. The numbers follow."
    rows = [
        (label, f"{int(stacks[0][2][i]):,}", f"{int(stacks[1][2][i]):,}")
        for i, label in enumerate(labels)
    ]
    return el(
        "div",
        subheading("Sums and products by scope"),
        legend([(f"box {class_}", kind) for class_, kind in KINDS[:2]]),
        figure(
            columns_chart(title, labels, stacks, "columns in scope", "nodes"),
            "The scope of a node is the set of columns that it describes; a leaf describes one.",
            table(["columns in scope", "sums", "products"], rows, caption="Nodes by scope"),
        ),
    )


def _parts(circuit: CircuitFacts) -> list[Html]:
    if not circuit.parts:
        return []
    found = [subheading(f"{_what(circuit).capitalize()} by {_noun(circuit)}")]
    shown = circuit.parts[:MOST_BARS]
    shares = _shares(circuit)
    flow = circuit.parts[0].share is not None
    what = f"of the {_what(circuit)}" + (" of the training rows" if flow else "")
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
            *((percent(p.share, 2),) if flow else ()),
            percent(p.weight, 2),
            p.branches,
            f"{p.own_nodes:,}",
            f"{p.shared_nodes:,}",
        )
        for i, p in enumerate(circuit.parts[:LISTED])
    ]
    head = [
        _noun(circuit),
        *(["flow"] if flow else []),
        "weight",
        "branches",
        "own nodes",
        "shared nodes",
    ]
    numbers = table(
        head,
        rows,
        caption=f"{_noun(circuit, 2).capitalize()} by their share of the {_what(circuit)}",
    )
    found.append(figure(bars_chart(title, bars), _parts_caption(circuit), numbers))
    return found + _common(circuit)


def _parts_caption(circuit: CircuitFacts) -> str:
    said = f"{_noun(circuit, 2).capitalize()} are numbered by their share. "
    few = cut_to(f"the {LISTED} largest", LISTED, len(circuit.parts), _noun(circuit, 2))
    said += f"{few} " if few else ""
    if circuit.are_components:
        said += "Each of them is a component of the forest. "
    elif circuit.components is not None:
        own = counted(len(circuit.parts), "branch", "branches")
        why = (
            "a component whose root is a sum is merged into the root of the model, which does not "
            "record which branches belonged to it"
        )
        if circuit.pruned:
            why = "edges were dropped, and a model does not record the component of the others"
        elif len(circuit.parts) < circuit.components:
            why = "with fewer branches than components, the two cannot be matched"
        forest = counted(circuit.components, "component")
        said += f"The root has {own}, the forest of the recipe {forest}: {why}. "
    if circuit.parts[0].share is not None:
        said += "A bar is the expected share of the training rows; the stroke is the weight. "
    if circuit.rows < circuit.all_rows:
        said += f"Computed from {circuit.rows:,} of {circuit.all_rows:,} rows, drawn at random."
    return said.strip()


def _common(circuit: CircuitFacts) -> list[Html]:
    """Return what parts share. A model does not record which part a shared node was made for."""
    found = circuit.sharing
    if found is None or len(circuit.parts) < 2:
        return []
    name, names = _noun(circuit), _noun(circuit, 2)
    heading = subheading(f"Nodes that {names} share")
    if not found.edges:
        why = "the recipe draws no links"
        if circuit.draws_links:
            why = "if the recipe drew links, they are copies or stay within a branch"
        elif circuit.draws_links is None:
            why = "whether the recipe drew links is unknown"
        return [heading, el("p", f"No node is used by two {names}: {why}.")]
    lead = counted(found.edges, "edge") + (" leads" if found.edges == 1 else " lead")
    if circuit.draws_links is False:
        said = (
            f"The recipe draws no links. {lead} to nodes that several {names} use, because a "
            "finished model keeps equal nodes only once."
        )
        return [heading, el("p", said)]
    i, j = found.most
    one, other = (int(found.shown[k]) + 1 for k in sorted((i, j)))
    sharers = int((found.partners > 0).sum())
    said = (
        f"{lead} from nodes of a single {name} to nodes that several use. {sharers:,} of "
        f"{len(circuit.parts):,} {names} share nodes; {name} {int(found.partners.argmax()) + 1} "
        f"shares with the most others ({int(found.partners.max()):,}). {names.capitalize()} {one} "
        f"and {other} have most in common: {counted(int(found.nodes[i, j]), 'node')}"
    )
    by_flow = bool(np.nan_to_num(found.cells).any())
    if by_flow:
        said += f", which explain {percent(float(found.cells[i, j]))} of all cells"
    return [heading, el("p", f"{said}."), *_common_matrix(circuit, found, by_flow)]


def _common_matrix(circuit: CircuitFacts, found: Sharing, by_flow: bool) -> list[Html]:
    """Return a matrix over pairs of the parts that share most."""
    name, names = _noun(circuit), _noun(circuit, 2)
    values = found.cells if by_flow else found.nodes.astype(float)
    n, top = len(values), float(values.max())
    labels = [str(k + 1) for k in found.shown.tolist()]
    drawn = np.where(np.eye(n, dtype=bool), np.nan, values)
    what = "cells that shared nodes explain" if by_flow else "nodes that both use"
    title = f"For each pair of {names}, {what}; symmetric about the diagonal."
    square = el("div", matrix(title, drawn, labels, top, sides=(name, name)), class_="plot square")
    above = np.triu_indices(n, k=1)
    order = np.argsort(-values[above], kind="stable")[:50]
    pairs = [(int(above[0][k]), int(above[1][k])) for k in order if values[above][k] > 0]
    rows = [
        (
            f"{labels[a]} and {labels[b]}",
            f"{found.nodes[a, b]:,}",
            percent(float(found.cells[a, b]), 2) if by_flow else "–",
        )
        for a, b in pairs
    ]
    numbers = table([names, "nodes", "cells"], rows, caption=f"Nodes that two {names} share")
    caption = f"Number of nodes that two {names} share, without leaves that have no parameters."
    if by_flow:
        caption = (
            f"For each pair of {names}, the share of all cells of the training rows that is "
            f"explained by nodes which both use, no matter which {name} the flow passes through. A "
            f"node that three {names} use counts for each pair, so the shares do not add up to "
            "100 %."
        )
    if n < len(circuit.parts):
        caption += f" The {n} {names} that share most are shown."
    shades = scale(100 * top, "% of all cells") if by_flow else scale(top, "nodes")
    return [shades, figure(square, caption, numbers)]
