"""Rows that are pictures: whether the columns are pixels, and the place of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spnc.common.arrays import Ints
from spnc.data.columns import Column
from spnc.diagnostics import Sink

# Names of pixels: pixel_3_4, px3x4, 3x4; or pixel0, pixel_17 and so on for a square.
_GRID = re.compile(r"(?:(?:pixel|pix|px|image|img)[_ -]?(\d+)[_x,. -](\d+)|(\d+)x(\d+))", re.I)
_COUNTED = re.compile(r"(?:pixel|pix|px)[_ -]?(\d+)", re.I)

# Lines and columns of pixels; "none" for rows that are not pictures; None: decide by column names.
ImageSize = tuple[int, int] | Literal["none"] | None


@dataclass(frozen=True, eq=False)
class Shape:
    """The size of a picture in pixels; `places[column]` is a place counted line by line."""

    height: int
    width: int
    places: Ints


def shape_of(columns: Sequence[Column]) -> Shape | None:
    """Return the shape that the names of the columns imply, or None.

    Either every name has a line and a column, and together they fill a rectangle; or the names
    number the pixels of a square. A square number of columns alone implies nothing.
    """
    names = [column.name.strip() for column in columns]
    grid = [_GRID.fullmatch(name) for name in names]
    if all(grid):
        places = np.array([[int(g) for g in m.groups() if g] for m in grid if m])
        places -= places.min(axis=0)
        height, width = (int(n) + 1 for n in places.max(axis=0))
        flat = places[:, 0] * width + places[:, 1]
        full = height * width == len(names) == len(np.unique(flat))
        return Shape(height, width, flat) if full and min(height, width) > 1 else None
    counted = [_COUNTED.fullmatch(name) for name in names]
    side = round(len(names) ** 0.5)
    if all(counted) and side * side == len(names) and side > 1:
        numbers = np.array([int(m[1]) for m in counted if m])
        numbers -= numbers.min()
        if len(np.unique(numbers)) == len(names) == numbers.max() + 1:
            return Shape(side, side, numbers)
    return None


def asked_shape(height: int, width: int, columns: Sequence[Column], sink: Sink) -> Shape | None:
    """Return the shape that the user gave, or None after reporting that it does not fit (E604)."""
    if height * width != len(columns):
        sink.error(
            "E604",
            f"an image of {height} by {width} has {height * width:,} pixels, "
            f"but the model has {len(columns):,} columns",
            help="give a size whose product is the number of columns",
        )
        return None
    return Shape(height, width, np.arange(len(columns)))


def chosen_shape(image: ImageSize, columns: Sequence[Column], sink: Sink) -> Shape | None:
    """Return the shape of pictures that the user chose, or None; report what is no shape (E604)."""
    if image is None:
        return shape_of(columns)
    if image == "none":
        return None
    is_pair = isinstance(image, tuple | list) and len(image) == 2
    if not is_pair or not all(isinstance(side, int) for side in image):
        wanted = 'give (lines, columns), such as (28, 28), or "none"'
        sink.error("E604", f"`image` is {image!r}", help=wanted)
        return None
    height, width = image
    return asked_shape(height, width, columns, sink)
