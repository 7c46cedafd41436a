"""The joint distribution of every two columns under a model, from one flow pass per state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.data.pairs import PairCounts
from spnc.data.table import PIECE_CELLS, Table
from spnc.leaves.finite import as_finite
from spnc.program.program import LeafTable, Parameters


def pair_probabilities(
    engine: Engine,
    parameters: Parameters,
    progress: Progress | None = None,
    columns: Sequence[int] | None = None,
) -> PairCounts:
    """Return p(column i has state a, column j has state b), as counts that add up to one row.

    With `columns`, only for these columns, in this order.

    There is one row for each state, in which only that cell is known. The flow of a leaf over
    another column is then p(the cell, and the leaf generates its column); times the leaf's
    probability of a state, summed over the column's leaves, it is the joint probability.
    """
    every = engine.program.columns
    asked = np.arange(len(every)) if columns is None else np.asarray(columns, dtype=np.int64)
    sizes = np.array([every[i].states for i in asked.tolist()])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    states = np.arange(offsets[-1]) - offsets[owners]
    mixtures = [
        mixture
        for leaf, table in zip(engine.program.leaves, parameters.tables, strict=True)
        if (mixture := _Mixture(leaf, table, asked, offsets)).nodes.size
    ]
    nodes = np.concatenate([mixture.nodes for mixture in mixtures])
    joint = np.zeros((offsets[-1], offsets[-1]))
    step = max(1, PIECE_CELLS // max(len(nodes), len(every)))
    for begin in range(0, len(states), step):
        rows = np.arange(begin, min(begin + step, len(states)))
        cells = np.full((len(rows), len(every)), np.nan)
        cells[np.arange(len(rows)), asked[owners[rows]]] = states[rows]
        table = Table(cells)
        alone = np.exp(engine.log_likelihood(parameters, engine.load(table, once=True)))
        flows = engine.node_flows(parameters, Table(cells, alone), nodes)
        first = 0
        for mixture in mixtures:
            last = first + len(mixture.nodes)
            mixture.add(flows[first:last], joint[:, begin : begin + len(rows)])
            first = last
        for i in np.unique(owners[rows]).tolist():
            joint[offsets[i] : offsets[i + 1], rows[owners[rows] == i]] = 0.0
        joint[rows, rows] = alone
        if progress is not None:
            progress("states", int(rows[-1]) + 1, len(states))
    return PairCounts(offsets, (joint + joint.T) / 2)


class _Mixture:
    """The leaves of one table over the columns that are asked for, sorted by column."""

    def __init__(self, leaf: LeafTable, table: Floats, asked: Ints, offsets: Ints) -> None:
        place = np.full(int(max(asked.max(), leaf.variables.max())) + 1, -1)
        place[asked] = np.arange(len(asked))
        places = place[leaf.variables]
        order = np.argsort(places, kind="stable")
        order = order[places[order] >= 0]
        self.nodes: Ints = leaf.first + order
        self.chances = as_finite(leaf.kind).probabilities(table, leaf.states)[order]
        self.begins = np.flatnonzero(np.diff(places[order], prepend=-1))
        self.targets = offsets[places[order][self.begins]]

    def add(self, flows: Floats, joint: Floats) -> None:
        """Add to joint[state, row] the flows of these leaves, times their probabilities."""
        for state in range(self.chances.shape[1]):
            shares = self.chances[:, state, None] * flows
            joint[self.targets + state] += np.add.reduceat(shares, self.begins, axis=0)
