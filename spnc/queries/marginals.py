"""How often a model expects every state of every column."""

from __future__ import annotations

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.dataset import Table
from spnc.program.program import Parameters
from spnc.queries.flows import node_flows


def column_probabilities(engine: Engine, parameters: Parameters) -> tuple[Floats, ...]:
    """p(column has state s) for every column, `[state]`; exact, and one pass for all of them.

    The flow of a row in which every cell is missing comes to a leaf with the probability that the
    leaf speaks for its column, since nothing is known that would speak against it.
    """
    program = engine.program
    unknown = Table(np.full((1, len(program.columns)), np.nan))
    flows = node_flows(program, engine.expected_counts(parameters, engine.load(unknown, once=True)))
    found = tuple(np.zeros(column.states) for column in program.columns)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        shares = flows[leaf.first : leaf.last, None] * leaf.kind.probabilities(table, leaf.states)
        every = np.zeros((len(program.columns), leaf.states))
        np.add.at(every, leaf.variables, shares)
        for column in np.unique(leaf.variables).tolist():
            found[column][:] += every[column]
    return found
