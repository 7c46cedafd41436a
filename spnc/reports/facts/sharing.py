"""What the parts below a topmost sum have in common: nodes, and the cells that these explain.

Sharing has no direction: which of its users a node was made for, a model does not keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spnc.common.arrays import Floats, Ints

SHOWN = 24  # parts in the matrix
_BLOCK = 1 << 20  # pairs of parts that are looked at together


@dataclass(frozen=True, eq=False)
class Sharing:
    """What parts share. Of all pairs the one with most in common is among the parts shown.

    Most means most cells where there is a flow of rows, else most nodes.
    """

    edges: int  # from a node that one part has alone to one that several use
    own: Ints  # nodes of each part that no other uses
    shared: Ints  # nodes of each part that another uses too
    partners: Ints  # how many others each part has nodes in common with
    shown: Ints  # the parts that share most, in order
    nodes: Ints  # `[shown, shown]`: nodes that both use; zero on the diagonal
    cells: Floats  # the share of all cells that such nodes explain; NaN without rows

    @property
    def most(self) -> tuple[int, int]:
        """The two parts with most in common, by their places among those shown."""
        values = self.nodes if np.isnan(self.cells).any() or not self.cells.any() else self.cells
        i, j = np.unravel_index(np.argmax(values), values.shape)
        return int(i), int(j)


def sharing(
    users: Sequence[int], edges: tuple[Ints, Ints, Floats], learned: NDArray[np.bool_],
    leaves: int, parts: int, all_cells: float,
) -> Sharing:  # fmt: skip
    """What is shared, from the users of every node as a bit set of parts.

    `edges` are parents, children and flows; nodes below `leaves` are leaves; where there are no
    rows, `all_cells` is zero. Nodes that are not learned are in common to nobody: a cell that
    such a leaf explains counts for the node above it.
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
    """The members of a bit set."""
    bits = np.frombuffer(mask.to_bytes(-(-mask.bit_length() // 8) or 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


def _members(masks: Sequence[int], parts: int) -> csr_array:
    """Who is in each set, `[set, part]`."""
    inside = [members(mask) for mask in masks]
    starts = np.concatenate([[0], np.cumsum([len(own) for own in inside])])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *inside])
    return csr_array((np.ones(len(columns)), columns, starts), shape=(len(masks), parts))


def _pairs(some: csr_array, every: csr_array, weights: Floats) -> Floats:
    """The weight of the sets that each two are in."""
    found: Floats = (some.multiply(weights[:, None]).tocsr().T @ every).toarray()
    return found


def _strength(common: csr_array, weights: Floats) -> tuple[Ints, Floats]:
    """Of every part, with how many it shares nodes, and what it shares with its closest.

    That is by cells, and by nodes where these explain none.
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
