"""The marginal distribution of every column under a model."""

from __future__ import annotations

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.leaves.finite import as_finite
from spnc.program.program import Parameters
from spnc.queries.flows import node_flows


def leaf_shares(engine: Engine, parameters: Parameters) -> Floats:
    """Return the probability of every leaf to be the one that generates its column.

    A column's marginal is the mixture of its leaves with these weights. They are the flows of the
    leaves in a row of missing cells.
    """
    program = engine.program
    unknown = Table(np.full((1, len(program.columns)), np.nan))
    counts = engine.expected_counts(parameters, engine.load(unknown, once=True))
    return node_flows(program, counts)[: program.leaves[-1].last]


def column_probabilities(engine: Engine, parameters: Parameters) -> tuple[Floats, ...]:
    """Return p(column has state s) for every column, `[state]`, exactly and in one pass.

    A numeric column has no states, and its array is empty.
    """
    program = engine.program
    flows = leaf_shares(engine, parameters)
    found = tuple(np.zeros(column.states) for column in program.columns)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        if not leaf.kind.is_finite:
            continue
        chances = as_finite(leaf.kind).probabilities(table, leaf.states)
        shares = flows[leaf.first : leaf.last, None] * chances
        every = np.zeros((len(program.columns), leaf.states))
        np.add.at(every, leaf.variables, shares)
        for column in np.unique(leaf.variables).tolist():
            found[column][:] += every[column]
    return found
