"""Sums are complete: all children of a sum have the same columns in their scopes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from spnc.checks.rules import is_complete
from spnc.checks.view import View
from spnc.common.column_sets import ColumnSet
from spnc.diagnostics import listed
from spnc.graph.nodes import Sum


def check(view: View) -> None:
    """E203: the children of a sum have different scopes."""
    scope, unknown = view.scopes, view.unknown
    for n in view.order:
        if not isinstance(view.node[n], Sum) or n in unknown:
            continue
        children = view.below[n]
        whole = scope[n]
        if is_complete([scope[c] for c in children]):
            continue
        groups: dict[ColumnSet, list[Hashable]] = defaultdict(list)
        for c in children:
            groups[scope[c]].append(c)
        notes = [
            f"{listed(view.titles(group), 4)}: lacks {listed(view.names(whole ^ s))}"
            if s != whole
            else f"{listed(view.titles(group), 4)}: has all of {listed(view.names(whole))}"
            for s, group in groups.items()
        ]
        view.error(
            "E203",
            f"{view.title(n)} has children with different variables",
            n,
            notes,
            "a sum needs identical scopes; multiply the missing leaves into the child that "
            "lacks them",
        )
