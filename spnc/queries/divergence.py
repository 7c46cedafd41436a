"""How far two models over the same columns are apart: cross entropy and divergence.

E_p[log q] is a sum over all rows, since the logarithm of a mixture has no short form. It is exact
where the columns have few joint states, or where q is *deterministic*: at every sum, a row is
possible below one child only, so that log q is a sum of single terms. Otherwise it is estimated
from rows drawn from p. For two models of the same structure, the divergence of the circuits with
their choices at sums made visible is computed exactly in one pass; it is never less than that of
the rows, and so an upper bound.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.rng import random_stream
from spnc.data.table import Table
from spnc.leaves.finite import as_finite
from spnc.program.program import LeafTable, Parameters, Program
from spnc.queries.column_mixture import ColumnMixture, Part
from spnc.queries.determinism import is_deterministic
from spnc.queries.sample import sample

ENUMERATED = 1 << 16  # joint states up to which all are summed
DRAWN = 20_000  # rows for an estimate
DEVIATIONS = 2.0  # standard errors to either side of an estimate: 95%


@dataclass(frozen=True, slots=True)
class Divergence:
    """Cross entropy E_p[-log q] and divergence KL(p || q), in nats, with an error of 95%.

    The error is zero where the values are exact. `upper_bound` is infinite where none is known.
    """

    cross_entropy: float
    divergence: float
    error: float
    upper_bound: float

    @property
    def exact(self) -> bool:
        """Whether the values are not estimates."""
        return self.error == 0.0


def divergence(
    first: tuple[Engine, Parameters], second: tuple[Engine, Parameters], seed: int = 0
) -> Divergence:
    """Return how far the second model is from the first; both have the same columns."""
    p, q = first[0].program, second[0].program
    bound = np.inf
    if same_structure(p, q):
        bound = structural_divergence(p, first[1], second[1])
    sizes = [column.states if column.is_finite else 0 for column in p.columns]
    if all(sizes) and np.prod(np.array(sizes, dtype=np.float64)) <= ENUMERATED:
        rows = np.array(list(itertools.product(*map(range, sizes))), dtype=np.float64)
        own, other = _logs(first, rows), _logs(second, rows)
        some = own > -np.inf
        with np.errstate(invalid="ignore"):
            cross = float(-(np.exp(own[some]) * other[some]).sum())
        entropy = float(-(np.exp(own[some]) * own[some]).sum())
        found = max(cross - entropy, 0.0)
        return Divergence(cross, found, 0.0, found)
    if np.isfinite(bound) and is_deterministic(p, [first[1], second[1]]):
        entropy = structural_entropy(p, first[1])
        return Divergence(entropy + bound, bound, 0.0, bound)
    rows = sample(p, first[1], DRAWN, random_stream(seed, "divergence"))
    own, other = _logs(first, rows), _logs(second, rows)
    apart = own - other
    error = DEVIATIONS * float(apart.std(ddof=1)) / np.sqrt(DRAWN)
    return Divergence(float(-other.mean()), float(apart.mean()), float(error), bound)


def _logs(model: tuple[Engine, Parameters], rows: Floats) -> Floats:
    engine, parameters = model
    return engine.log_likelihood(parameters, engine.load(Table(rows), once=True))


def same_structure(first: Program, second: Program) -> bool:
    """Whether two programs have the same nodes and edges, and leaves of the same distributions."""
    if len(first.segments) != len(second.segments) or len(first.leaves) != len(second.leaves):
        return False
    leaves = zip(first.leaves, second.leaves, strict=True)
    segments = zip(first.segments, second.segments, strict=True)
    return all(
        a.distribution == b.distribution
        and a.width == b.width
        and np.array_equal(a.variables, b.variables)
        for a, b in leaves
    ) and all(
        a.is_sum == b.is_sum
        and np.array_equal(a.starts, b.starts)
        and np.array_equal(a.children, b.children)
        for a, b in segments
    )


def structural_divergence(program: Program, first: Parameters, second: Parameters) -> float:
    """Return the divergence of two circuits of the same structure, with choices at sums visible."""
    found = np.zeros(program.nodes)
    pairs = zip(program.leaves, first.tables, second.tables, strict=True)
    for leaf, own, other in pairs:
        found[leaf.first : leaf.last] = _leaf_divergences(program, leaf, own, other)
    for segment in program.segments:
        terms = found[segment.children]
        if segment.is_sum:
            shares, others = first.weights[segment.slots], second.weights[segment.slots]
            some = shares > 0.0
            with np.errstate(divide="ignore"):
                choices = np.log(np.where(some, shares, 1.0)) - np.log(np.where(some, others, 1.0))
            terms = np.where(some, shares * (choices + np.where(some, terms, 0.0)), 0.0)
        found[segment.first : segment.last] = np.add.reduceat(terms, segment.starts[:-1])
    return max(float(found[program.root]), 0.0)


def structural_entropy(program: Program, parameters: Parameters) -> float:
    """Return the entropy of a circuit with choices at sums visible: its own if deterministic."""
    found = np.zeros(program.nodes)
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        for n in range(len(leaf)):
            found[leaf.first + n] = _mixture(program, leaf, table, n).entropy()
    for segment in program.segments:
        terms = found[segment.children]
        if segment.is_sum:
            shares = parameters.weights[segment.slots]
            terms = shares * (terms - np.log(np.where(shares > 0.0, shares, 1.0)))
        found[segment.first : segment.last] = np.add.reduceat(terms, segment.starts[:-1])
    return float(found[program.root])


def _mixture(program: Program, leaf: LeafTable, table: Floats, n: int) -> ColumnMixture:
    """Return the distribution of one leaf."""
    one = np.array([n])
    parts = Part.restricted(leaf, table[one], leaf.columns.take(one), np.ones(1), None)
    return ColumnMixture(program.columns[int(leaf.variables[n])], parts)


def _leaf_divergences(program: Program, leaf: LeafTable, own: Floats, other: Floats) -> Floats:
    """Return the divergence of each leaf from the one with other parameters."""
    if leaf.kind.is_finite:
        kind = as_finite(leaf.kind)
        p, q = kind.probabilities(own, leaf.states), kind.probabilities(other, leaf.states)
        some = p > 0.0
        with np.errstate(divide="ignore"):
            apart = np.log(np.where(some, p, 1.0)) - np.log(np.where(some, q, 1.0))
        terms: Floats = np.where(some, p * apart, 0.0)
        total: Floats = terms.sum(axis=1)
        return total
    found = np.zeros(len(leaf))
    for n in np.flatnonzero((own != other).any(axis=1)).tolist():
        first, second = (_mixture(program, leaf, table, n) for table in (own, other))
        found[n] = first.expectation(partial(_log_ratio, second))
    return found


def _log_ratio(other: ColumnMixture, values: Floats, dense: Floats) -> Floats:
    """Return how much likelier values are than under another distribution, given their density."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(dense) - np.log(other.density(values))
    return np.where(dense > 0.0, found, 0.0)
