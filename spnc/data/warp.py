"""`Warp`: a monotone map from the values of a real column to places on a line.

A marginal distribution of any shape becomes a normal one if every value is moved to the quantile of
a standard normal distribution that belongs to its own quantile. Leaves and dependences that are
normal at these places then describe columns that are skewed, rounded or in several parts. The map
is linear between knots, so that densities, moments and samples are exact:
p(value) = p(place) · slope.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats, Ints


class Pieces(NamedTuple):
    """The knots of a warp as arrays; the first and the last piece go on without an end."""

    values: Floats
    places: Floats
    slopes: Floats  # of the piece between each knot and the next
    log_slopes: Floats


@dataclass(frozen=True)
class Warp:
    """The knots of the map: increasing values, and their increasing places."""

    values: tuple[float, ...]
    places: tuple[float, ...]

    def __hash__(self) -> int:
        return self._hash  # of thousands of numbers, asked for again and again

    @cached_property
    def _hash(self) -> int:
        return hash((self.values, self.places))

    @cached_property
    def pieces(self) -> Pieces:
        """The knots as arrays."""
        values, places = np.array(self.values), np.array(self.places)
        slopes = np.diff(places) / np.diff(values)
        return Pieces(values, places, slopes, np.log(slopes))

    def to_places(self, values: Floats) -> Floats:
        """Return the places of values; NaN stays NaN."""
        own = self.pieces
        piece = self.piece_of(values)
        found: Floats = own.places[piece] + (values - own.values[piece]) * own.slopes[piece]
        return found

    def to_values(self, places: Floats) -> Floats:
        """Return the values at places; NaN stays NaN."""
        own = self.pieces
        piece = np.searchsorted(own.places[1:-1], places, side="right")
        found: Floats = own.values[piece] + (places - own.places[piece]) / own.slopes[piece]
        return found

    def log_slopes(self, values: Floats) -> Floats:
        """Return the logarithm of the derivative at values; zero for NaN."""
        found = self.pieces.log_slopes[self.piece_of(values)]
        return np.where(np.isnan(values), 0.0, found)

    def piece_of(self, values: Floats) -> Ints:
        """Return the number of the piece that each value lies in; at a knot, the upper one."""
        found: Ints = np.searchsorted(self.pieces.values[1:-1], values, side="right")
        return found


def warp_problems(values: object, places: object) -> list[str]:
    """List what is wrong with the knots of a warp that were read."""
    if not (isinstance(values, list | tuple) and isinstance(places, list | tuple)):
        return ["a warp has two lists of numbers, `values` and `places`"]
    if len(values) != len(places) or len(values) < 2:
        return ["a warp has as many places as values, and two of them at least"]
    for name, numbers in (("values", values), ("places", places)):
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
            return [f"the {name} of a warp are numbers"]
        own = np.array([float(x) for x in numbers])
        if not np.isfinite(own).all() or not (np.diff(own) > 0.0).all():
            return [f"the {name} of a warp are finite numbers that increase"]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        slopes = np.diff(np.array(places, dtype=float)) / np.diff(np.array(values, dtype=float))
    if not (np.isfinite(slopes) & (slopes > 0.0)).all():
        return ["the slopes of a warp are finite numbers above 0"]
    return []
