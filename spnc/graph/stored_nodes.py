"""Part of a graph as arrays and back: the same nodes under the same names, in the same order.

A component that was learned is kept this way, in case the run is killed. Unlike the formats for
people and other programs, this one keeps what later stages depend on without it being a part of the
distribution: the names of nodes, the order of children and of parents, and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.gc_pause import gc_paused
from spnc.common.savepoints import Piece
from spnc.graph.circuit_arrays import CircuitArrays, recorded_part
from spnc.graph.node_arrays import KINDS, LEAF
from spnc.graph.nodes import Builder, Leaf, Node, Origin, children, parents
from spnc.registry import LEAVES


@gc_paused()
def stored_nodes(builder: Builder, names: range, origin: Origin | None) -> Piece | None:
    """Return the nodes with these names, and the edges between them, as arrays.

    Return None if they cannot be restored from arrays: nodes that were not made by `origin`, tied
    ones, and edges to other nodes.
    """
    if builder.is_recording:
        part = recorded_part(builder, names, origin)
        return _stored_part(part) if part is not None else None
    graph, first = builder.graph, names.start
    if any(n not in graph for n in names):
        return None
    nodes: list[Any] = [graph.nodes[n]["node"] for n in names]
    if any(node.origin is not origin or getattr(node, "tie", None) is not None for node in nodes):
        return None
    below, above = children(graph), parents(graph)
    members = [child for n in names for child in below[n]]
    upward = [parent for n in names for parent in above[n]]
    if any(n not in names for n in (*members, *upward)):
        return None
    weights = [data.get("weight") for n in names for data in below[n].values()]
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    rows = [leaf.distribution.row for leaf in leaves]
    known = sorted({leaf.distribution.plugin_name for leaf in leaves})
    place = {name: i for i, name in enumerate(known)}
    arrays = {
        "kinds": np.array([KINDS.index(type(node)) for node in nodes], dtype=np.int64),
        "rows": np.array([node.rows for node in nodes], dtype=np.float64),
        "child_ends": np.cumsum([len(below[n]) for n in names], dtype=np.int64),
        "children": np.array(members, dtype=np.int64) - first,
        "weights": np.array(weights, dtype=np.float64),  # None becomes NaN
        "parent_ends": np.cumsum([len(above[n]) for n in names], dtype=np.int64),
        "parents": np.array(upward, dtype=np.int64) - first,
        "variables": np.array([leaf.variable for leaf in leaves], dtype=np.int64),
        "distributions": np.array(
            [place[leaf.distribution.plugin_name] for leaf in leaves], dtype=np.int64
        ),
        "parameter_ends": np.cumsum([len(row) for row in rows], dtype=np.int64),
        "parameters": np.array([p for row in rows for p in row], dtype=np.float64),
    }
    return Piece({"distributions": known}, arrays)


def _stored_part(part: CircuitArrays) -> Piece:
    """Return the same for nodes that are recorded as arrays."""
    leaves, known = part.leaves, sorted(set(part.leaves.names))
    place = np.array([known.index(name) for name in leaves.names], dtype=np.int64)
    widths = np.array([rows.shape[1] for rows in leaves.rows], dtype=np.int64)[leaves.tables]
    ends = np.cumsum(widths)
    parameters = np.empty(int(widths.sum()))
    for table, rows in enumerate(leaves.rows):
        own = np.flatnonzero(leaves.tables == table)
        starts = (ends - widths)[own, None]
        parameters[starts + np.arange(rows.shape[1])] = rows[leaves.places[own]]
    arrays = {
        "kinds": part.kinds.astype(np.int64),
        "rows": part.rows,
        "child_ends": part.children.starts[1:],
        "children": part.children.members,
        "weights": part.weights,
        "parent_ends": part.parents.starts[1:],
        "parents": part.parents.members,
        "variables": leaves.variables,
        "distributions": place[leaves.tables],
        "parameter_ends": ends,
        "parameters": parameters,
    }
    return Piece({"distributions": known}, arrays)


@gc_paused()
def restore_nodes(builder: Builder, piece: Piece, origin: Origin | None) -> int:
    """Add stored nodes to a builder. Return the name of the first.

    Raises LookupError, TypeError or ValueError if the arrays do not fit together. What the nodes
    mean is for the checks to find out, which every graph goes through.
    """
    arrays = piece.arrays
    kinds, rows = arrays["kinds"].tolist(), arrays["rows"].tolist()
    count = len(kinds)
    found_children = _ragged(arrays["child_ends"], arrays["children"], count)
    found_parents = _ragged(arrays["parent_ends"], arrays["parents"], count)
    weights = arrays["weights"].tolist()
    if len(weights) != len(arrays["children"]) or len(rows) != count:
        raise ValueError("its arrays do not fit together")
    nodes = _payloads(builder, piece, origin)
    first, number = builder.next_name, 0
    down: dict[int, dict[int, dict[str, float]]] = {}
    for n, members in enumerate(found_children):
        own: dict[int, dict[str, float]] = {}
        for child in members:
            weight = weights[number]
            own[first + child] = {} if weight != weight else {"weight": weight}
            number += 1
        down[first + n] = own
    up = {
        first + n: {first + p: down[first + p][first + n] for p in members}
        for n, members in enumerate(found_parents)
    }
    if sum(len(own) for own in up.values()) != number or any(
        isinstance(node, Leaf) and down[first + n] for n, node in enumerate(nodes)
    ):
        raise ValueError("its edges do not fit together")
    builder.insert(nodes, down, up)
    return first


def _payloads(builder: Builder, piece: Piece, origin: Origin | None) -> list[Node]:
    """Return the nodes themselves."""
    arrays, columns = piece.arrays, builder.graph.graph["columns"]
    kinds, rows = arrays["kinds"].tolist(), arrays["rows"].tolist()
    variables = arrays["variables"].tolist()
    distributions = [LEAVES[name] for name in piece.about["distributions"]]
    used = arrays["distributions"].tolist()
    ends, values = arrays["parameter_ends"].tolist(), arrays["parameters"]
    leaves = sum(kind == LEAF for kind in kinds)
    if not len(variables) == len(used) == len(ends) == leaves or (ends or [0])[-1] != len(values):
        raise ValueError("its leaves do not fit together")
    nodes: list[Node] = []
    known: dict[tuple[int, bytes], Any] = {}  # leaves may share one distribution
    parts = zip(variables, used, pairwise([0, *ends]), strict=True)
    for kind, own in zip(kinds, rows, strict=True):
        if kind == LEAF:
            variable, place, (start, stop) = next(parts)
            if not 0 <= variable < len(columns) or place < 0 or start > stop:
                raise ValueError("a leaf names a column that does not exist")
            row = values[start:stop]
            key = (place, row.tobytes())
            if key not in known:
                known[key] = distributions[place].from_row(row)
            nodes.append(Leaf(variable, known[key], own, origin))
        elif kind < 0:
            raise ValueError("it has nodes of an unknown kind")
        else:
            nodes.append(KINDS[kind](own, origin))  # type: ignore[arg-type]
    return nodes


def _ragged(ends: NDArray[Any], members: NDArray[Any], count: int) -> Sequence[list[int]]:
    """Return lists of nodes; raises ValueError if they are not those of `count` nodes."""
    bounds = [0, *ends.tolist()]
    if len(bounds) != count + 1 or bounds[-1] != len(members) or sorted(bounds) != bounds:
        raise ValueError("its edges do not fit together")
    if len(members) and (members.min() < 0 or members.max() >= count):
        raise ValueError("an edge leads to a node that does not exist")
    plain = members.tolist()
    return [plain[start:stop] for start, stop in pairwise(bounds)]
