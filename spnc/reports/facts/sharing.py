"""Nodes that parts of a circuit share, and the cells that these nodes explain.

Sharing has no direction: a model does not record for which part a shared node was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spnc.common.arrays import Floats, Ints

SHOWN = 24  # parts in the matrix
_BLOCK = 1 << 20  # pairs of parts that are computed together, to limit memory


@dataclass(frozen=True, eq=False)
class Sharing:
    """What parts share. The parts shown include the pair that shares most.

    Pairs are compared by cells, or by nodes if there are no rows.
    """

    edges: int  # from a node of a single part to a node that several use
    own: Ints  # nodes of each part that no other part uses
    shared: Ints  # nodes of each part that others use too
    partners: Ints  # number of parts with which each part shares nodes
    shown: Ints  # parts that share most, in ascending order
    nodes: Ints  # `[shown, shown]`: nodes that both use; zero on the diagonal
    cells: Floats  # share of all cells that these nodes explain; NaN without rows

    @property
    def most(self) -> tuple[int, int]:
        """Return the two parts that share most, by their places among those shown."""
        values = self.nodes if np.isnan(self.cells).any() or not self.cells.any() else self.cells
        i, j = np.unravel_index(np.argmax(values), values.shape)
        return int(i), int(j)


def sharing(
    users: Sequence[int], edges: tuple[Ints, Ints, Floats], learned: NDArray[np.bool_],
    leaves: int, parts: int, all_cells: float,
) -> Sharing:  # fmt: skip
    """Return what parts share, given the parts that use each node as a bit set.

    `edges` are parents, children and flows; nodes below `leaves` are leaves; `all_cells` is zero if
    there are no rows. Leaves without parameters do not count as shared: a cell that one explains
    counts for its parent.
    """
    parents, children, flows = edges
    number = {mask: k for k, mask in enumerate(dict.fromkeys(users))}
    kind = np.array([number[mask] for mask in users], dtype=np.int64)
    sizes = np.array([mask.bit_count() for mask in number])
    often = np.bincount(kind[learned], minlength=len(number))
    down = children < leaves
    explains = kind[np.where(learned[children], children, parents)[down]]
    scale = 1.0 / all_cells if all_cells > 0.0 else 0.0
    cells = np.bincount(explains, weights=flows[down] * scale, minlength=len(number))

    member = _members(list(number), parts)
    several = sizes > 1
    common = member[np.flatnonzero(several)]
    own, shared = (
        (member.T @ np.where(which, often, 0)).astype(np.int64) for which in (sizes == 1, several)
    )
    alone = sizes[kind[parents]] <= 1
    crossing = alone & several[kind[children]] & learned[children]
    weights = np.stack([often[several].astype(np.float64), cells[several]])
    partners, strength = _strength(common, weights)
    shown = np.sort(np.argsort(-strength, kind="stable")[:SHOWN])
    among = common[:, shown]
    nodes, explained = (_pairs(among, among, of) for of in weights)
    np.fill_diagonal(nodes, 0.0)
    np.fill_diagonal(explained, 0.0)
    return Sharing(
        int(crossing.sum()),
        own,
        shared,
        partners,
        shown,
        nodes.astype(np.int64),
        explained if all_cells > 0.0 else np.full_like(explained, np.nan),
    )


def members(mask: int) -> Ints:
    """Return the members of a bit set."""
    bits = np.frombuffer(mask.to_bytes(-(-mask.bit_length() // 8) or 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


def _members(masks: Sequence[int], parts: int) -> csr_array:
    """Return the members of each set, `[set, part]`."""
    inside = [members(mask) for mask in masks]
    starts = np.concatenate([[0], np.cumsum([len(own) for own in inside])])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *inside])
    return csr_array((np.ones(len(columns)), columns, starts), shape=(len(masks), parts))


def _pairs(some: csr_array, every: csr_array, weights: Floats) -> Floats:
    """Return the total weight of the sets that contain both parts, for each pair."""
    found: Floats = (some.multiply(weights[:, None]).tocsr().T @ every).toarray()
    return found


def _strength(common: csr_array, weights: Floats) -> tuple[Ints, Floats]:
    """Return for each part the number of parts it shares nodes with, and its largest sharing.

    Sharing is measured in cells, or in nodes if shared nodes explain no cells.
    """
    parts = common.shape[1]
    partners, strength = np.zeros(parts, dtype=np.int64), np.zeros(parts)
    by = weights[1] if weights[1].any() else weights[0]
    step = max(1, _BLOCK // parts)
    for begin in range(0, parts, step):
        block = np.arange(begin, min(parts, begin + step))
        some, places = common[:, block], (np.arange(len(block)), block)
        nodes, values = _pairs(some, common, weights[0]), _pairs(some, common, by)
        nodes[places] = values[places] = 0.0
        partners[block] = np.count_nonzero(nodes, axis=1)
        strength[block] = values.max(axis=1)
    return partners, strength
