"""The joint distribution of every two columns under a model, by marginal queries in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from spnc.backends import Engine
from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.data.dataset import PIECE_CELLS, Table
from spnc.data.pairs import PairCounts
from spnc.program.program import Parameters

PIECE_ROWS = 1 << 14  # queries at once: less than a second even for large circuits


def pair_probabilities(
    engine: Engine,
    parameters: Parameters,
    progress: Progress | None = None,
    columns: Sequence[int] | None = None,
) -> PairCounts:
    """Return p(column i has state a, column j has state b), as counts that add up to one row.

    With `columns`, only for these columns, in this order.

    Queries are made only for states above 0, each alone and each two of different columns: for
    binary columns one query per pair instead of four. Probabilities of a state 0 are differences,
    with rounding errors relative to the minuend: much smaller ones are not exact in all digits, but
    too small to matter for mutual information.
    """
    every = engine.program.columns
    asked_for = np.arange(len(every)) if columns is None else np.asarray(columns, dtype=np.int64)
    sizes = np.array([every[i].states for i in asked_for.tolist()])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    zeros = offsets[:-1]
    asked = np.setdiff1d(np.arange(offsets[-1]), zeros)
    joint = np.zeros((offsets[-1], offsets[-1]))
    owners = np.repeat(np.arange(len(sizes)), sizes - 1)
    states = asked - offsets[owners]
    done, total = 0, int(_seconds(owners).sum())
    for first, second in _pairs(owners, len(every)):
        values = np.full((len(first), len(every)), np.nan)
        rows = np.arange(len(first))
        values[rows, asked_for[owners[first]]] = states[first]
        values[rows, asked_for[owners[second]]] = states[second]
        found = engine.log_likelihood(parameters, engine.load(Table(values), once=True))
        joint[asked[first], asked[second]] = joint[asked[second], asked[first]] = np.exp(found)
        done += len(first)
        if progress is not None:
            progress("pairs of states", done, total)
    return PairCounts(offsets, _completed(joint, zeros))


def _seconds(owners: Ints) -> Ints:
    """Return how many queries start with each state: alone, and with states of later columns."""
    return 1 + len(owners) - np.searchsorted(owners, owners, side="right")


def _pairs(owners: Ints, columns: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the pairs of states to query, in pieces; a state with itself is a marginal.

    Pairs with the same first state are consecutive, so that the rows of a piece are equal in most
    of the circuit and an engine can share their values.
    """
    seconds = _seconds(owners)
    ends = np.cumsum(seconds)
    step = min(PIECE_ROWS, max(1, PIECE_CELLS // columns))
    for begin in range(0, int(ends[-1]), step):
        at = np.arange(begin, min(begin + step, int(ends[-1])))
        first = np.searchsorted(ends, at, side="right")
        left = ends[first] - at  # pairs left with this first state, this one included
        yield first, np.where(left == seconds[first], first, len(owners) - left)


def _completed(joint: Floats, zeros: Ints) -> Floats:
    """Fill in the states 0, given all others and, on the diagonal, their marginals."""
    alone = joint.diagonal().copy()
    alone[zeros] = 1.0 - np.add.reduceat(alone, zeros)
    joint[:, zeros] = alone[:, None] - np.add.reduceat(joint, zeros, axis=1)
    joint[np.ix_(zeros, zeros)] = 0.0
    joint[zeros, :] = alone - np.add.reduceat(joint, zeros, axis=0)
    return np.maximum((joint + joint.T) / 2, 0.0)
