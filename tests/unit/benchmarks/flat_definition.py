"""What a flat circuit means, node by node, from its arrays alone: densities and one EM iteration.

It shares no code with spnc: SciPy has the densities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from benchmarks.common.flat_circuit import Flat

LEAF, SUM = 0, 1


def log_likelihoods(flat: Flat, rows: np.ndarray) -> np.ndarray:
    """The log-likelihood of every row."""
    return node_values(flat, rows)[flat.root]


def node_values(flat: Flat, rows: np.ndarray) -> np.ndarray:
    """The log value of every node, `[node, row]`."""
    values = np.zeros((len(flat.kind), len(rows)))
    for i, kind in enumerate(flat.kind):
        own = slice(flat.starts[i], flat.starts[i + 1])
        below = values[flat.children[own]]
        if kind == LEAF:
            values[i] = _leaf_values(flat, i, rows[:, flat.column[i]])
        elif kind == SUM:
            values[i] = np.logaddexp.reduce(below + np.log(flat.weights[own])[:, None], axis=0)
        else:
            values[i] = below.sum(axis=0)
    return values


def _leaf_values(flat: Flat, i: int, cells: np.ndarray) -> np.ndarray:
    parameters = flat.leaf_parameters(i)
    match flat.distribution[i]:
        case "gaussian":
            return stats.norm.logpdf(cells, *parameters)
        case "categorical":
            return np.log(parameters[cells.astype(int)])
    return stats.bernoulli.logpmf(cells, parameters[0])


def after_em(flat: Flat, rows: np.ndarray) -> Flat:
    """The circuit after one EM iteration without a prior; it must be a tree."""
    values = node_values(flat, rows)
    flows = np.zeros_like(values)
    flows[flat.root] = 1.0
    weights, parameters = flat.weights.copy(), flat.parameters.copy()
    for i in range(len(flat.kind) - 1, -1, -1):
        own = slice(flat.starts[i], flat.starts[i + 1])
        children = flat.children[own]
        if flat.kind[i] == LEAF:
            at = slice(flat.parameter_starts[i], flat.parameter_starts[i + 1])
            parameters[at] = _estimate(flat, i, rows[:, flat.column[i]], flows[i])
        elif flat.kind[i] == SUM:
            shares = np.exp(values[children] + np.log(flat.weights[own])[:, None] - values[i])
            flows[children] = flows[i] * shares
            totals = flows[children].sum(axis=1)
            weights[own] = totals / totals.sum()
        else:
            flows[children] = flows[i]
    return replace(flat, weights=weights, parameters=parameters)


def _estimate(flat: Flat, i: int, cells: np.ndarray, flows: np.ndarray) -> list[float]:
    match flat.distribution[i]:
        case "gaussian":
            mean = np.average(cells, weights=flows)
            return [mean, np.sqrt(np.average((cells - mean) ** 2, weights=flows))]
        case "categorical":
            states = range(len(flat.leaf_parameters(i)))
            return [np.average(cells == state, weights=flows) for state in states]
    return [np.average(cells, weights=flows)]
