"""Exact gradients of the log-likelihood: by the parameters, and by the numbers of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.leaves.finite import as_finite
from spnc.leaves.numeric import as_numeric
from spnc.program.program import Parameters, Program
from spnc.queries.node_passes import row_flows, row_log_values


@dataclass(frozen=True, eq=False)
class ParameterGradients:
    """Derivatives of the summed log-likelihood of rows.

    `weights[slot]` are those by the weights of sums, each taken as a number of its own. `tables`
    has one array per leaf table: by the probability of each state, `[leaf, state]`, or by the
    coordinates of numeric leaves, `[leaf, coordinate]` (`NumericLeaf.coordinates`, for example
    the mean in standard deviations of the column and the logarithm of the standard deviation);
    None for leaves that have no coordinates. A parameter of zero has a derivative of zero here:
    nothing flows through it.
    """

    weights: Floats
    tables: tuple[Floats | None, ...]


def parameter_gradients(engine: Engine, parameters: Parameters, table: Table) -> ParameterGradients:
    """Return the derivatives of the summed log-likelihood of a table's rows by the parameters."""
    counts = engine.expected_counts(parameters, engine.load(table))
    weights = _ratios(counts.weights, parameters.weights)
    tables: list[Floats | None] = []
    for leaf, own, found in zip(
        engine.program.leaves, parameters.tables, counts.tables, strict=True
    ):
        if leaf.kind.is_finite:
            chances = as_finite(leaf.kind).probabilities(own, leaf.states)
            tables.append(_ratios(found, chances))
        elif as_numeric(leaf.kind).coordinates(own, leaf.columns) is None:
            tables.append(None)
        else:
            tables.append(as_numeric(leaf.kind).gradient(own, found, leaf.columns))
    return ParameterGradients(weights, tuple(tables))


def input_gradients(program: Program, parameters: Parameters, rows: Floats) -> Floats:
    """Return the derivative of each row's log-likelihood by its numbers, `[row, column]`.

    NaN for columns that are not real or dates, for missing cells, and for impossible rows.
    """
    found = np.full(rows.shape, np.nan)
    values = row_log_values(program, parameters, rows)
    flows = row_flows(program, parameters, values)
    real = [i for i, column in enumerate(program.columns) if column.kind in ("real", "date")]
    found[:, real] = 0.0
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        if leaf.kind.is_finite or leaf.columns.is_count.all():
            continue
        slopes = as_numeric(leaf.kind).slope(table, rows.T[leaf.variables], leaf.columns)
        np.add.at(found.T, leaf.variables, flows[leaf.first : leaf.last] * slopes)
    impossible = values[program.root] == -np.inf
    found[impossible] = np.nan
    return np.where(np.isnan(rows), np.nan, found)


def _ratios(counts: Floats, probabilities: Floats) -> Floats:
    some = probabilities > 0.0
    return np.divide(counts, probabilities, out=np.zeros_like(counts), where=some)
