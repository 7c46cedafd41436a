"""Products are decomposable: no two children of a product share a column."""

from __future__ import annotations

from spnc.checks.view import View
from spnc.common.column_sets import union_and_overlap
from spnc.diagnostics import listed
from spnc.graph.nodes import Product


def check(view: View) -> None:
    """E204: children of a product share variables."""
    scope, unknown = view.scopes, view.unknown
    for n in view.order:
        if not isinstance(view.node[n], Product) or n in unknown:
            continue
        _, shared = union_and_overlap([scope[c] for c in view.below[n]])
        if not shared:
            continue
        guilty = [c for c in view.below[n] if scope[c] & shared]
        who = "both contain" if len(guilty) == 2 else "contained more than once"
        notes = [f"{who}: {listed(view.names(shared))}"]
        notes.append(f"children concerned: {listed(view.titles(guilty))}")
        view.error(
            "E204",
            f"{view.title(n)} has children that share variables",
            n,
            notes,
            "a product needs disjoint scopes; drop one child or split it",
        )
