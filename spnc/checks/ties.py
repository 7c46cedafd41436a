"""Tied nodes are equal: they have the same parameters and the same children."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from spnc.checks.view import View
from spnc.diagnostics import listed
from spnc.graph.equality import representatives
from spnc.graph.nodes import Product


def check(view: View) -> None:
    """E226: nodes with the same `tie` that differ."""
    tied: dict[Hashable, list[Hashable]] = defaultdict(list)
    for n in view.order:
        payload = view.node[n]
        if not isinstance(payload, Product) and payload.tie is not None and n not in view.unknown:
            tied[payload.tie].append(n)
    groups = {tie: names for tie, names in tied.items() if len(names) > 1}
    if not groups or view.unknown or view.weightless:
        return
    same = representatives(view.graph, view.order, finished=False)
    for tie, names in groups.items():
        others = [n for n in names if same[n] != same[names[0]]]
        if others:
            view.error(
                "E226",
                f"nodes tied as `{_given(tie)}` are not the same",
                others[0],
                [f"{view.title(names[0])} differs from {listed(view.titles(others))}"],
                "tied nodes have the same kind, column, parameters and children",
            )


def _given(tie: Hashable) -> Hashable:
    """Return a tie as it was written: copies of a circuit put their origin before it."""
    return _given(tie[-1]) if isinstance(tie, tuple) and tie else tie
