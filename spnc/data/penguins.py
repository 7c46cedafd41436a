"""The Palmer penguins: 344 birds of three species, some of whose measurements are missing.

Collected by Kristen Gorman and the Palmer Station, Antarctica LTER, and published under CC0 by
Horst, Hill and Gorman (2020), palmerpenguins, https://allisonhorst.github.io/palmerpenguins.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np

from spnc.data.raw_table import RawColumn, smallest, text_column

PENGUIN_COLUMNS = (
    "species",
    "island",
    "bill_length",
    "bill_depth",
    "flipper_length",
    "body_mass",
    "sex",
    "year",
)
PENGUIN_UNITS = {
    "bill_length": "mm",
    "bill_depth": "mm",
    "flipper_length": "mm",
    "body_mass": "g",
}
_WORDS = ("species", "island", "sex")


def penguins() -> list[RawColumn]:
    """Return the cells of all columns; cells that were not measured are missing."""
    text = files("spnc.data").joinpath("penguins.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    found = []
    for name, cells in zip(PENGUIN_COLUMNS, zip(*rows, strict=True), strict=True):
        known = [cell not in ("", "NA") for cell in cells]
        if name in _WORDS:
            pairs = zip(cells, known, strict=True)
            found.append(text_column([cell if some else None for cell, some in pairs]))
            continue
        numbers = np.array(
            [float(c) if some else np.nan for c, some in zip(cells, known, strict=True)]
        )
        whole = all(known) and bool((numbers == np.floor(numbers)).all())
        found.append(RawColumn("numbers", smallest(numbers.astype(np.int64)) if whole else numbers))
    return found
