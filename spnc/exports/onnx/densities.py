"""Log densities of leaves as ONNX expressions: the same formulas as in `spnc/leaves`.

A function takes the table of parameters `[leaf, parameter]` and the `Cells` of its leaves, and
returns `[leaf, row]`. Missing values are dealt with here, for all of them. What depends on the
value only is computed once for each column, then spread over its leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.exports.onnx.expressions import Expressions, Tensor
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.restricted import RestrictedLeaf
from spnc.leaves.special import stirling_rest
from spnc.program.program import LeafTable

_LOG_ROOT = float(0.5 * np.log(2.0 * np.pi))
_SHIFT = 8  # from here on, Stirling's series below is exact to 1e-13
_LARGEST_RATIO = 1e300  # keeps relative distances finite, as in spnc/leaves/gamma.py
_LARGEST_DISTANCE = 1e150  # its square is finite, as in spnc/leaves/student_t.py
_LARGE_SHAPE = 1e5  # of gamma leaves: larger ones need more digits than a difference keeps
_NEAR = 0.2  # relative distances that are computed by a series there


@dataclass(frozen=True)
class Cells:
    """The values of the columns of some leaves, each column once: `known[column, row]`.

    Missing values are replaced by 1, which every distribution can take.
    """

    made: Expressions
    known: Tensor
    which: Ints  # the column of each leaf
    columns: LeafColumns  # what is known about the column of each leaf

    def spread(self, columns: Tensor) -> Tensor:
        """Return what was computed for each column, for each leaf."""
        if np.array_equal(self.which, np.arange(self.which.max() + 1)):
            return columns
        return columns.take(self.which)


Density = Callable[[Floats, Cells], Tensor]


def leaf_values(made: Expressions, table: LeafTable, rows: Floats, cells: Tensor) -> Tensor:
    """Return the log densities `[leaf, row]` of a table of leaves; 0 where values are missing."""
    columns, which = np.unique(table.variables, return_inverse=True)
    own = cells.take(columns)
    missing = own.isnan()
    if table.kind.is_finite:
        chances = as_finite(table.kind).probabilities(rows, table.states)
        return _finite(chances, Cells(made, own, which, table.columns), missing)
    known = Cells(made, missing.where(1.0, own), which, table.columns)
    found = _density(table, rows, known)
    return known.spread(missing).where(0.0, found)


def base_of(kind: type[Distribution]) -> type[Distribution]:
    """Return the kind of leaf that a restricted kind restricts; any other kind itself."""
    return kind.base if issubclass(kind, RestrictedLeaf) else kind


def _density(table: LeafTable, rows: Floats, cells: Cells) -> Tensor:
    base = base_of(table.kind)
    if base is table.kind:
        return DENSITIES[table.distribution](rows, cells)
    own, low, high = rows[:, :-2], rows[:, -2:-1], rows[:, -1:]
    mass = base.interval(own, low, high, table.columns)
    found = DENSITIES[base.plugin_name](own, cells) - np.log(mass)
    value = cells.spread(cells.known)
    return ((value >= low) & (value <= high)).where(found, -np.inf)


def _finite(chances: Floats, cells: Cells, missing: Tensor) -> Tensor:
    """Return log probabilities from a table: all states, then what is missing, then the rest."""
    leaves, states = chances.shape
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    table = np.concatenate([logs, np.zeros((leaves, 1)), np.full((leaves, 1), -np.inf)], axis=1)
    value = cells.known
    is_state = (value >= 0.0) & (value < float(states)) & (value.floor() == value)
    place = missing.where(float(states), is_state.where(value, float(states + 1)))
    starts = np.arange(leaves, dtype=np.int64)[:, None] * (states + 2)
    return _looked_up(table, cells.spread(place.as_indices()) + starts)


def _looked_up(table: Floats, places: Tensor) -> Tensor:
    return places.made.constant(table.reshape(-1)).take(places)


def _column(table: Floats, i: int) -> Floats:
    """Return a parameter of all leaves, `[leaf, 1]`."""
    return table[:, i : i + 1]


def _parabola(table: Floats, positions: Tensor) -> Tensor:
    mean, sd = _column(table, 0), _column(table, 1)
    distance = (positions - mean) / sd
    return distance * distance * -0.5 - (np.log(sd) + _LOG_ROOT)


def _gaussian(table: Floats, cells: Cells) -> Tensor:
    return _parabola(table, cells.spread(cells.known))


def _warped_gaussian(table: Floats, cells: Cells) -> Tensor:
    pieces = [warp.pieces for warp in cells.columns.warps]
    halvings = max(len(own.slopes) - 1 for own in pieces).bit_length()
    most = 2**halvings
    # By column, where pieces begin, with some after the last that no value reaches; then the lines.
    first = [int(np.flatnonzero(cells.which == i)[0]) for i in range(int(cells.which.max()) + 1)]
    begins = np.full((len(first), most), np.inf)
    values, places, slopes = (np.zeros((len(first), most)) for _ in range(3))
    for i, warp in enumerate(cells.columns.warp[first].tolist()):
        own, last = pieces[warp], len(pieces[warp].slopes)
        begins[i, :last] = values[i, :last] = own.values[:-1]
        places[i, :last], slopes[i, :last] = own.places[:-1], own.slopes
    value = cells.known
    # The piece by bisection: the first in the column, then half as many pieces on if they begin
    # below the value, then a quarter, and so on.
    starts = np.arange(len(first), dtype=np.float64)[:, None] * most
    piece = value.isnan().where(starts, starts)
    for step in (2.0**power for power in reversed(range(halvings))):
        further = piece + step
        piece = (value >= _looked_up(begins, further.as_indices())).where(further, piece)
    index = piece.as_indices()
    slope = _looked_up(slopes, index)
    place = _looked_up(places, index) + (value - _looked_up(values, index)) * slope
    return _parabola(table, cells.spread(place)) + cells.spread(slope.log())


def _positive(cells: Cells) -> tuple[Tensor, Tensor]:
    """Return whether values are positive, and the values, or 1 where they are not, by column."""
    possible = cells.known > 0.0
    return possible, possible.where(cells.known, 1.0)


def _log_normal(table: Floats, cells: Cells) -> Tensor:
    possible, known = _positive(cells)
    positions = cells.spread(known.log())
    found = _parabola(table, positions) - positions
    return cells.spread(possible).where(found, -np.inf)


def _gamma(table: Floats, cells: Cells) -> Tensor:
    shape, mean = _column(table, 0), _column(table, 0) / _column(table, 1)
    possible, known = _positive(cells)
    logs = cells.spread(known.log())
    apart = ((cells.spread(known) - mean) / mean).at_most(_LARGEST_RATIO)
    deficit = apart - (logs - np.log(mean))  # t - log(1 + t), t the relative distance
    if bool((shape > _LARGE_SHAPE).any()):
        deficit = (apart.abs() < _NEAR).where(_deficit_near_zero(apart), deficit)
    found = deficit * -shape + stirling_rest(shape) - logs
    return cells.spread(possible).where(found, -np.inf)


def _deficit_near_zero(t: Tensor) -> Tensor:
    """Return t - log(1 + t) for small t without a loss of digits; see spnc/leaves/special.py."""
    w = t / (t + 2.0)
    square = w * w
    tail = square * 0.0
    for power in range(19, 1, -2):
        tail = tail * square + 1.0 / power
    return t * w - w * square * tail * 2.0


def _exponential(table: Floats, cells: Cells) -> Tensor:
    value = cells.spread(cells.known)
    return (value < 0.0).where(-np.inf, value * -table + np.log(table))


def _whole_numbers(cells: Cells) -> tuple[Tensor, Tensor]:
    """Return whether values are counts, and the values, or 0 where they are not, by column."""
    value = cells.known
    is_count = (value >= 0.0) & (value < np.inf) & (value.floor() == value)
    return is_count, is_count.where(value, 0.0)


def _log_gamma(x: Tensor) -> Tensor:
    """Return log Γ(x) for x > 0, by Stirling's series of x, or of x + 8 if x is small."""
    small = x < float(_SHIFT)
    z = small.where(x + float(_SHIFT), x)
    inverse = x.made.constant(1.0) / z
    square = inverse * inverse
    series = square * (-1 / 1680) + 1 / 1260
    series = (series * square - 1 / 360) * square + 1 / 12
    found = (z - 0.5) * z.log() - z + series * inverse + _LOG_ROOT
    factors = small.where(x, 1.0)
    rising = factors
    for i in range(1, _SHIFT):
        rising = rising * (factors + float(i))
    return small.where(found - rising.log(), found)


def _log_powers(base: Floats, exponents: Tensor) -> Tensor:
    """Return exponents · log(base), with 0 · log(0) = 0."""
    zero = base == 0.0
    found = exponents * np.log(np.where(zero, 1.0, base))
    if bool(zero.any()):
        found = ((exponents > 0.0) & zero).where(-np.inf, found)
    return found


def _poisson(table: Floats, cells: Cells) -> Tensor:
    is_count, known = _whole_numbers(cells)
    factorials = cells.spread(_log_gamma(known + 1.0))
    found = _log_powers(table, cells.spread(known)) - table - factorials
    return cells.spread(is_count).where(found, -np.inf)


def _negative_binomial(table: Floats, cells: Cells) -> Tensor:
    from scipy.special import gammaln

    size, p = _column(table, 0), _column(table, 1)
    is_count, by_column = _whole_numbers(cells)
    known = cells.spread(by_column)
    found = _log_gamma(known + size) + (size * np.log(p) - gammaln(size))
    found = found + _log_powers(1.0 - p, known) - cells.spread(_log_gamma(by_column + 1.0))
    return cells.spread(is_count).where(found, -np.inf)


def _histogram(table: Floats, cells: Cells) -> Tensor:
    edges, chances = table[:, 0::2], table[:, 1::2]
    bins = chances.shape[1]
    heights = np.full((len(table), bins + 2), -np.inf)  # one before the bins, one after them
    with np.errstate(divide="ignore"):
        heights[:, 1:-1] = np.log(chances) - np.log(np.diff(edges))
    # Leaves over one column often have the same edges; a value has one place among these.
    keys = np.concatenate([cells.which[:, None].astype(np.float64), edges], axis=1)
    own, which = np.unique(keys, axis=0, return_inverse=True)
    value = cells.known.take(own[:, 0].astype(np.int64))
    ends = np.ascontiguousarray(own[:, 1:].T)[:, :, None]
    place = (value >= ends).where(1.0, 0.0).sum(0)
    place = (value == ends[-1]).where(float(bins), place).as_indices()
    starts = np.arange(len(table), dtype=np.int64)[:, None] * (bins + 2)
    return _looked_up(heights, place.take(which.reshape(-1)) + starts)


def _uniform(table: Floats, cells: Cells) -> Tensor:
    low, high = _column(table, 0), _column(table, 1)
    value = cells.spread(cells.known)
    return ((value >= low) & (value <= high)).where(-np.log(high - low), -np.inf)


def _student_t(table: Floats, cells: Cells) -> Tensor:
    from scipy.special import gammaln

    mean, scale, df = (_column(table, i) for i in range(3))
    distance = (cells.spread(cells.known) - mean) / (scale * np.sqrt(df))
    distance = distance.at_most(_LARGEST_DISTANCE).at_least(-_LARGEST_DISTANCE)
    height: Floats = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
    height -= np.log(scale)
    return (distance * distance + 1.0).log() * (-0.5 * (df + 1.0)) + height


def _point(table: Floats, cells: Cells) -> Tensor:
    value, width = _column(table, 0), _column(table, 1)
    inside = (cells.spread(cells.known) - value).abs() <= 0.5 * width
    return inside.where(-np.log(width), -np.inf)


DENSITIES: dict[str, Density] = {
    "gaussian": _gaussian,
    "log-normal": _log_normal,
    "gamma": _gamma,
    "exponential": _exponential,
    "poisson": _poisson,
    "negative-binomial": _negative_binomial,
    "histogram": _histogram,
    "uniform": _uniform,
    "student-t": _student_t,
    "point": _point,
    "warped-gaussian": _warped_gaussian,
}
