"""The marginal distribution of every column under a model."""

from __future__ import annotations

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.dataset import Table
from spnc.leaves.finite import as_finite
from spnc.program.program import Parameters
from spnc.queries.flows import node_flows


def column_probabilities(engine: Engine, parameters: Parameters) -> tuple[Floats, ...]:
    """Return p(column has state s) for every column, `[state]`, exactly and in one pass.

    In a row of missing cells, the flow of a leaf is the prior probability that the leaf is the one
    that generates its column.
    """
    program = engine.program
    unknown = Table(np.full((1, len(program.columns)), np.nan))
    flows = node_flows(program, engine.expected_counts(parameters, engine.load(unknown, once=True)))
    found = tuple(np.zeros(column.states) for column in program.columns)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        chances = as_finite(leaf.kind).probabilities(table, leaf.states)
        shares = flows[leaf.first : leaf.last, None] * chances
        every = np.zeros((len(program.columns), leaf.states))
        np.add.at(every, leaf.variables, shares)
        for column in np.unique(leaf.variables).tolist():
            found[column][:] += every[column]
    return found
