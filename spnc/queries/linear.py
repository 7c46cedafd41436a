"""Mean and variance of a linear function of the columns, given an event, in one pass.

The children of a product are independent: their means and variances add up. A sum is a mixture:
its mean is that of the children's means, and its variance that of the children's variances plus
that of their means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import LeafTable, Parameters, Program
from spnc.queries.events import Box
from spnc.queries.evidence import probability_within
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import ValueSet


def linear_moments(
    program: Program,
    parameters: Parameters,
    boxes: Sequence[Box],
    coefficients: Mapping[int, float],
    constant: float = 0.0,
) -> tuple[float, float]:
    """Return mean and variance of constant + Σ coefficient · column, given disjoint boxes.

    A state counts as its label where labels are numbers, and as its code otherwise. The moments are
    NaN if the boxes have probability zero, and infinite or NaN where a leaf's own are.
    """
    posterior = Posterior(program, parameters, boxes)
    if not posterior.is_possible:
        return float("nan"), float("nan")
    means, variances = _leaf_moments(posterior, coefficients)
    logs = posterior.log_values
    for segment in program.segments:
        starts, parents = segment.starts[:-1], np.arange(segment.first, segment.last)
        own_means, own_variances = means[segment.children], variances[segment.children]
        if segment.is_sum:
            owners = np.repeat(parents, np.diff(segment.starts))
            known = np.where(logs[owners] > -np.inf, logs[owners], 0.0)
            shares = np.exp(logs[segment.children] - known)
            shares *= parameters.weights[segment.slots, None]
            mean = np.add.reduceat(_products(shares, own_means), starts, axis=0)
            apart = own_means - mean[owners - segment.first]
            spread = _products(shares, own_variances + apart**2)
            means[parents], variances[parents] = mean, np.add.reduceat(spread, starts, axis=0)
        else:
            means[parents] = np.add.reduceat(own_means, starts, axis=0)
            variances[parents] = np.add.reduceat(own_variances, starts, axis=0)
    shares = np.exp(logs[program.root] - posterior.log_probability)
    total = float(_products(shares, means[program.root]).sum())
    apart = means[program.root] - total
    variance = _products(shares, variances[program.root] + apart**2).sum()
    return total + constant, float(variance)


def _products(shares: Floats, values: Floats) -> Floats:
    """Return shares times values; zero where the share is zero, whatever the value."""
    return np.where(shares > 0.0, shares * np.where(shares > 0.0, values, 0.0), 0.0)


def _leaf_moments(posterior: Posterior, coefficients: Mapping[int, float]) -> tuple[Floats, Floats]:
    """Return the moments of the terms at leaves, in arrays for all nodes, `[node, box]`."""
    program, count = posterior.program, len(posterior.boxes)
    means, variances = np.zeros((2, program.nodes, count))
    for leaf, table in zip(program.leaves, posterior.parameters.tables, strict=True):
        for column in np.unique(leaf.variables).tolist():
            factor = coefficients.get(column, 0.0)
            if factor == 0.0:
                continue
            own = np.flatnonzero(leaf.variables == column)
            known = leaf.columns.take(own)
            for place, box in enumerate(posterior.boxes):
                if leaf.kind.is_finite:
                    numbers = _numbers(program.columns[column])
                    mean, variance = _state_moments(leaf, table[own], numbers, box.get(column))
                else:
                    mean, variance = _moments(leaf, table[own], known, box.get(column))
                means[leaf.first + own, place] = factor * mean
                variances[leaf.first + own, place] = factor**2 * variance
    return means, variances


def _moments(
    leaf: LeafTable, table: Floats, columns: LeafColumns, values: ValueSet | None
) -> tuple[Floats, Floats]:
    """Return mean and variance of each leaf within a set of values; zero where it has none."""
    if values is None:
        return leaf.kind.mean(table, columns), leaf.kind.variance(table, columns)
    chances, means, variances = [], [], []
    for low, high in values.spans:
        span = ValueSet(((low, high),), values.whole)
        chances.append(probability_within(leaf, table, columns, span))
        ends = np.full(len(table), low), np.full(len(table), high)
        mean, variance = leaf.kind.moments_within(table, *ends, columns)
        means.append(mean)
        variances.append(variance)
    total = np.sum(chances, axis=0)
    shares = np.array(chances) / np.where(total > 0.0, total, 1.0)
    mean = _products(shares, np.array(means)).sum(axis=0)
    apart = np.array(means) - mean
    return mean, _products(shares, np.array(variances) + apart**2).sum(axis=0)


def _numbers(column: Column) -> Floats:
    """Return the number that each state of a column stands for."""
    labels = column.labels or range(column.states)
    if any(isinstance(label, str) for label in labels):
        labels = range(column.states)
    return np.array([float(label) for label in labels])


def _state_moments(
    leaf: LeafTable, table: Floats, numbers: Floats, values: ValueSet | None
) -> tuple[Floats, Floats]:
    """Return mean and variance of each leaf over states, within a set of them."""
    chances = as_finite(leaf.kind).probabilities(table, leaf.states)
    if values is not None:
        inside = np.zeros(leaf.states, dtype=np.bool_)
        inside[values.states()] = True
        chances = np.where(inside, chances, 0.0)
    total = chances.sum(axis=1, keepdims=True)
    chances = chances / np.where(total > 0.0, total, 1.0)
    mean = chances @ numbers
    return mean, (chances * (numbers - mean[:, None]) ** 2).sum(axis=1)
