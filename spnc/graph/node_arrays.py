"""Nodes as flat arrays, without an object for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.graph.nodes import Leaf, Node, Origin, Product, Sum
from spnc.registry import LEAVES

KINDS = (Sum, Product, Leaf)
SUM, PRODUCT, LEAF = range(3)


@dataclass(frozen=True, eq=False)
class LeafArrays:
    """Leaves: leaf i is over variables[i], and has the row places[i] of table tables[i]."""

    variables: Ints
    tables: Ints
    places: Ints
    names: tuple[str, ...]  # by table: the distribution
    rows: tuple[Floats, ...]  # by table: the parameters, `[leaf, parameter]`


@dataclass(frozen=True, eq=False)
class NodeArrays:
    """Nodes of one origin, none of them tied. Their leaves are those of `leaves`, in order."""

    kinds: NDArray[np.uint8]
    rows: Floats
    leaves: LeafArrays

    def __len__(self) -> int:
        return len(self.kinds)

    def payloads(self, origin: Origin | None) -> Iterator[Node]:
        """Yield the nodes as objects."""
        leaves = self.leaves
        kinds = [LEAVES[name] for name in leaves.names]
        own = zip(
            leaves.variables.tolist(), leaves.tables.tolist(), leaves.places.tolist(), strict=True
        )
        for kind, rows in zip(self.kinds.tolist(), self.rows.tolist(), strict=True):
            if kind == LEAF:
                variable, table, place = next(own)
                distribution = kinds[table].from_row(leaves.rows[table][place])
                yield Leaf(variable, distribution, rows, origin)
            else:
                yield KINDS[kind](rows, origin)  # type: ignore[arg-type]


def node_arrays(nodes: Sequence[Node]) -> NodeArrays | None:
    """Return nodes as arrays; None if some are tied, or not of a known kind."""
    number = {kind: i for i, kind in enumerate(KINDS)}
    if not {type(node) for node in nodes} <= set(number):
        return None
    if any(getattr(node, "tie", None) is not None for node in nodes):
        return None
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    tables: dict[tuple[str, int], int] = {}
    rows: dict[int, list[Any]] = defaultdict(list)
    used, places = [], []
    for leaf in leaves:
        row = leaf.distribution.row
        table = tables.setdefault((leaf.distribution.plugin_name, len(row)), len(tables))
        used.append(table)
        places.append(len(rows[table]))
        rows[table].append(row)
    return NodeArrays(
        np.array([number[type(node)] for node in nodes], dtype=np.uint8),
        np.array([node.rows for node in nodes], dtype=np.float64),
        LeafArrays(
            np.array([leaf.variable for leaf in leaves], dtype=np.int64),
            np.array(used, dtype=np.int64),
            np.array(places, dtype=np.int64),
            tuple(name for name, _ in tables),
            tuple(np.array(rows[table], dtype=np.float64) for table in tables.values()),
        ),
    )


def joined_leaves(parts: Sequence[LeafArrays]) -> LeafArrays:
    """Return the leaves of all parts, one part after another."""
    numbers: dict[tuple[str, int], int] = {}
    rows: list[list[Floats]] = []
    tables, places = [], []
    for part in parts:
        table, shift = np.zeros((2, len(part.names)), dtype=np.int64)
        for i, (name, own) in enumerate(zip(part.names, part.rows, strict=True)):
            table[i] = numbers.setdefault((name, own.shape[1]), len(rows))
            if table[i] == len(rows):
                rows.append([])
            shift[i] = sum(map(len, rows[table[i]]))
            rows[table[i]].append(own)
        tables.append(table[part.tables])
        places.append(part.places + shift[part.tables])
    none = np.zeros(0, dtype=np.int64)
    return LeafArrays(
        np.concatenate([none, *(part.variables for part in parts)]),
        np.concatenate([none, *tables]),
        np.concatenate([none, *places]),
        tuple(name for name, _ in numbers),
        tuple(np.concatenate(own) for own in rows),
    )
