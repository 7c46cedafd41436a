"""The root models every column."""

from __future__ import annotations

from spnc.checks.view import View
from spnc.common.column_sets import complement
from spnc.diagnostics import counted, listed


def check(view: View) -> None:
    """E211: columns that the root does not model."""
    root = view.graph.graph.get("root")
    if root is None:
        if len(view.tops) != 1:
            return
        root = view.tops[0]
    if root in view.unknown:
        return
    missing = complement(view.scopes[root], len(view.columns))
    if missing:
        names = view.names(missing)
        view.error(
            "E211",
            f"the root does not model {counted(len(names), 'column')}",
            root,
            [f"missing: {listed(names)}"],
            "multiply leaves over these columns into the circuit, or drop the columns",
        )
