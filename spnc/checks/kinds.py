"""Sums and products have children; leaves have none."""

from __future__ import annotations

from spnc.checks.rules import has_fitting_children
from spnc.checks.view import View
from spnc.diagnostics import listed
from spnc.graph.nodes import Leaf


def check(view: View) -> None:
    """E212: an inner node without children. E213: a leaf with children."""
    damaged = view.graph.graph.get("damaged", ())
    for n, payload in view.node.items():
        children = view.below[n]
        if has_fitting_children(payload, len(children)):
            continue
        if isinstance(payload, Leaf):
            view.error(
                "E213",
                f"{view.title(n)} has children",
                n,
                [f"children: {listed(view.titles(children))}"],
                "a leaf is a distribution over one column; make it a sum or a product",
            )
        elif n not in damaged:
            view.error(
                "E212",
                f"{view.title(n)} has no children",
                n,
                help="give it children, or remove it",
            )
