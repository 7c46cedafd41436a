"""A circuit has exactly one root, from which everything is reached."""

from __future__ import annotations

from spnc.checks.view import View
from spnc.diagnostics import counted, listed
from spnc.graph.nodes import below


def check(view: View) -> None:
    """E202: several roots. E205: a node that the declared root does not reach.

    If there is no root at all, there is a cycle, which `acyclic` reports.
    """
    tops = view.tops
    root = view.graph.graph.get("root")
    if root is None:
        if len(tops) > 1:
            view.error(
                "E202",
                f"the circuit has {len(tops)} roots",
                tops[1],
                [f"without a parent: {listed(view.titles(tops))}"],
                "join them in a sum, remove the unused, or declare the root",
            )
        return
    reached = set(below(view.graph, root))
    for top in tops:
        if top not in reached:
            lost = [n for n in below(view.graph, top) if n not in reached]
            extra = [f"with {counted(len(lost) - 1, 'node')} below it"] if len(lost) > 1 else []
            view.error(
                "E205",
                f"{view.title(top)} is not reachable from the root",
                top,
                [f"the root is {view.title(root)}", *extra],
                "use it below the root, or remove it",
            )
