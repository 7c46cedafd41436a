"""Bins of histograms, `table[leaf, …]` with edges and probabilities in turn: parts and inverses."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.leaf_columns import LeafColumns


def clipped_edges(table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
    """Return the edges of what intervals leave of the bins, `[leaf, edge]`.

    For counts, the ends of an interval become the half numbers around the same counts.
    """
    first = np.where(columns.is_count, np.ceil(low) - 0.5, low)
    last = np.maximum(np.where(columns.is_count, np.floor(high) + 0.5, high), first)
    return np.clip(table[:, 0::2], first[:, None], last[:, None])


def mirrored(table: Floats) -> Floats:
    """Return the histograms of the negative values."""
    found = table[:, ::-1].copy()
    found[:, 0::2] *= -1.0
    return found


def inverse(table: Floats, shares: Floats) -> Floats:
    """Return the least values below which the bins hold these shares."""
    edges, chances = table[:, 0::2], table[:, 1::2]
    ends = np.cumsum(chances, axis=1)
    place = np.minimum((ends < shares[:, None]).sum(axis=1), chances.shape[1] - 1)[:, None]
    start, stop, end, chance = (
        np.take_along_axis(array, place, axis=1)[:, 0]
        for array in (edges, edges[:, 1:], ends, chances)
    )
    part = (shares - (end - chance)) / np.where(chance > 0.0, chance, 1.0)
    found: Floats = start + np.clip(part, 0.0, 1.0) * (stop - start)
    return found
