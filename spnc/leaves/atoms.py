"""Atoms: values that repeat so often that a point mass beside another leaf is worth it.

The zeros of a rainfall column are one; the values of a column that is rounded to whole numbers are
not, since their neighbours repeat as often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.numeric import scale_of
from spnc.leaves.point import Point

LEAST_SHARE = 0.02  # of the rows; rarer values do not repay a node of a circuit
LEAST_RATIO = 4.0  # to its neighbours; below, a smooth leaf comes close (a geometric one has 3)
# The probability that chance alone gives any value of a column as many rows as an atom.
LEVEL = 0.01
NEIGHBOURS = 0.1  # share of the other rows that shows how dense the surroundings are
MOST = 3  # atoms of a column; with more, a histogram or categories describe it better


class Atom(NamedTuple):
    """A value that repeats, and the share of the rows that are more than its neighbours."""

    value: float
    share: float


def find_atoms(column: Column, values: Floats, weights: Floats) -> list[Atom]:
    """Return the values of a weighted column that deserve a point mass, the heaviest first.

    A value deserves it if its share of the rows is at least `LEAST_SHARE`, and `LEAST_RATIO` times
    what the density of its surroundings lets expect for one resolution, and if that is not chance:
    the number of rows of a value is Poisson-distributed, and the largest of many such numbers is
    often far above the usual one. Missing values are left out. A column of one single value has no
    atom: it has no other rows.
    """
    from scipy.special import gammainc

    known = ~np.isnan(values) & (weights > 0.0)
    own, where = np.unique(values[known], return_inverse=True)
    mass: Floats = np.bincount(where, weights[known], minlength=len(own)).astype(float)
    total = float(mass.sum())
    if len(own) < 2:
        return []
    unit = 1.0 if column.kind == "count" else scale_of(column).resolution
    found = []
    for i in np.flatnonzero(mass >= LEAST_SHARE * total).tolist():
        usual = _surroundings(own, mass, i, unit)
        chance = len(own) * gammainc(mass[i], usual)  # of as many rows or more, for some value
        if mass[i] >= LEAST_RATIO * usual and chance <= LEVEL:
            found.append(Atom(float(own[i]), float((mass[i] - usual) / total)))
    return sorted(found, key=lambda atom: (-atom.share, atom.value))[:MOST]


def point_at(column: Column, value: float) -> Point:
    """Return the point leaf at a value of a column."""
    return Point(value, 1.0 if column.kind == "count" else scale_of(column).resolution)


def _surroundings(own: Floats, mass: Floats, i: int, unit: float) -> float:
    """Return the weight per resolution among the nearest other values.

    They hold `NEIGHBOURS` of the other weight, and are at least the nearest on either side.
    """
    apart = np.abs(own - own[i])
    order = np.argsort(apart, kind="stable")[1:]
    others = np.cumsum(mass[order])
    enough = int(np.searchsorted(others, NEIGHBOURS * others[-1]))
    beside = [j for j in (i - 1, i + 1) if 0 <= j < len(own)]
    reach = max(float(apart[order[enough]]), float(apart[beside].max()))
    near = order[apart[order] <= reach]
    span = min(own[i] + reach, own[-1]) - max(own[i] - reach, own[0])
    return float(mass[near].sum()) * unit / max(float(span), unit)
