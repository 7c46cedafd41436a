"""Leaves stand over one known column, of a kind they can model, with valid parameters."""

from __future__ import annotations

from spnc.checks.rules import is_over_known_column, models_kind
from spnc.checks.view import View
from spnc.common.wording import with_article
from spnc.graph.nodes import Leaf


def check(view: View) -> None:
    """E208: unknown column. E209: bad parameters. E220: the wrong kind of column."""
    settled = view.graph.graph.get("settled", ())
    for n, payload in view.node.items():
        if not isinstance(payload, Leaf) or n in settled:
            continue
        if not is_over_known_column(payload, view.columns):
            view.error(
                "E208",
                f"{view.title(n)} is over column {payload.variable}, which does not exist",
                n,
                [f"there are {len(view.columns)} columns, counted from 0"],
            )
            continue
        column = view.columns[payload.variable]
        leaf = payload.distribution
        if not models_kind(leaf, column):
            view.error(
                "E220",
                f"{view.title(n)}: {with_article(leaf.plugin_name)} leaf cannot stand over "
                f"`{column.name}`",
                n,
                [f"`{column.name}` is {column}"],
                f"{leaf.plugin_name} leaves model columns that are {' or '.join(leaf.kinds)}",
            )
            continue
        problems = leaf.problems(column)
        if problems:
            view.error(
                "E209",
                f"{view.title(n)} over `{column.name}` has invalid parameters",
                n,
                problems,
            )
