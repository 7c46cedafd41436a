"""A circuit as written: named parts that have not been checked against one another.

The circuit language, node-link JSON and networkx graphs with plain attributes all become a
`Draft`, which `spnc.graph.assemble` turns into a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spnc.diagnostics import Span

Place = Callable[[], Span | None]  # where something was written; computed only if needed


def nowhere() -> None:
    """Return the place of something that was not written in a text: none."""
    return None


@dataclass(frozen=True, slots=True)
class DraftVariable:
    """A declared column: its name, its type as written, and that type as plain values."""

    name: str
    type: str
    plain: Mapping[str, Any]  # see `spnc.data.column_types`
    place: Place = nowhere
    complaint: str | None = None  # an error that the reader found in the type


@dataclass(frozen=True, slots=True)
class DraftNode:
    """A node as written. `parameters` are those of a leaf's distribution, by position or name."""

    name: Hashable
    kind: str
    place: Place = nowhere
    variable: str | None = None
    distribution: str | None = None
    parameters: Sequence[Any] | Mapping[str, Any] = ()
    complaint: str | None = None  # an error that the reader found in the parameters
    rows: float = 0.0
    tie: Hashable = None


@dataclass(frozen=True, slots=True)
class DraftEdge:
    """An edge as written."""

    parent: Hashable
    child: Hashable
    weight: Any = None
    place: Place = nowhere


@dataclass(eq=False)
class Draft:
    """A circuit as written."""

    name: str
    variables: list[DraftVariable] = field(default_factory=list)
    nodes: list[DraftNode] = field(default_factory=list)
    edges: list[DraftEdge] = field(default_factory=list)
    root: Hashable = None
    root_place: Place = nowhere
    place: Place = nowhere
    mentioned: set[Hashable] = field(default_factory=set)  # in parts that could not be used
