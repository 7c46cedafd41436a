"""The rules of validity that the checks and the proof share, as predicates.

A check applies a rule node by node and, where it is violated, works out what to tell the user. The
proof applies all rules in one pass and only needs to know whether any is violated.
"""

from __future__ import annotations

from collections.abc import Sequence

from spnc.common.column_sets import ColumnSet
from spnc.data.columns import Column
from spnc.graph.nodes import Leaf, Node
from spnc.leaves import Distribution


def has_fitting_children(node: Node, count: int) -> bool:
    """Return whether a node may have this many children: leaves none, others at least one."""
    return isinstance(node, Leaf) == (count == 0)


def is_over_known_column(leaf: Leaf, columns: Sequence[Column]) -> bool:
    """Return whether a leaf's column exists."""
    return 0 <= leaf.variable < len(columns)


def models_kind(distribution: Distribution, column: Column) -> bool:
    """Return whether a distribution can model columns of this kind."""
    return column.kind in distribution.kinds


def is_complete(child_scopes: Sequence[ColumnSet]) -> bool:
    """Return whether a sum over children with these scopes is complete: all are the same."""
    return child_scopes.count(child_scopes[0]) == len(child_scopes)
