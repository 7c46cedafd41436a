"""A table of many binary columns from a known model, and what independent columns make of it.

Every column has a hidden state. The states form a tree: that of a column is, with probability
`STAY`, the state of an earlier column drawn at random, and else any state. A column is one with a
probability that depends on its state only. In one of `SPARSE_EVERY` columns ones are rare. Columns
near one another in the tree depend strongly on one another, and all of them a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spnc.common.rng import random_stream
from spnc.data.dataset import SPLITS

STATES = 4  # hidden states of a column
STAY = 0.85
SPARSE_EVERY = 5
SPARSE_FACTOR = 0.1  # of the probabilities of ones, in sparse columns
SHARES = (0.8, 0.1, 0.1)  # of the rows, by split
PSEUDO_ROWS = 0.1  # of each outcome, as in the default smoothing

Cells = NDArray[np.uint8]


def wide_table(columns: int, rows: int, seed: int = 0) -> Cells:
    """Draw the table, `[row, column]`. The columns are in random order."""
    rng = random_stream(seed, "wide table")
    states = np.empty((columns, rows), dtype=np.uint8)
    found = np.empty((rows, columns), dtype=np.uint8)
    for number, place in enumerate(rng.permutation(columns).tolist()):
        own = rng.integers(STATES, size=rows, dtype=np.uint8)
        if number:
            stays = rng.random(rows) < STAY
            own[stays] = states[rng.integers(number), stays]
        chances = rng.beta(0.4, 0.8, STATES)
        if number % SPARSE_EVERY == 0:
            chances *= SPARSE_FACTOR
        states[number] = own
        found[:, place] = rng.random(rows) < chances[own]
    return found


def split(table: Cells) -> dict[str, Cells]:
    """Return the first rows for training, the next for validation, the rest for testing."""
    ends = np.cumsum(np.multiply(SHARES, len(table))).round().astype(int)[:-1]
    return dict(zip(SPLITS, np.split(table, ends), strict=True))


def write(splits: Mapping[str, Cells], folder: Path) -> None:
    """Write a CSV file with a header for each split."""
    for name, cells in splits.items():
        width = cells.shape[1]
        text = np.full((len(cells), 2 * width), ord(","), dtype=np.uint8)
        text[:, ::2] = ord("0") + cells
        text[:, -1] = ord("\n")
        head = ",".join(f"x{i}" for i in range(width))
        (folder / f"{name}.csv").write_bytes(f"{head}\n".encode("ascii") + text.tobytes())


def independent_log_likelihood(splits: Mapping[str, Cells]) -> float:
    """Return the average log-likelihood of the test rows under independent columns."""
    ones = splits["train"].sum(axis=0, dtype=np.float64)
    chances = (ones + PSEUDO_ROWS) / (len(splits["train"]) + 2.0 * PSEUDO_ROWS)
    shares = splits["test"].mean(axis=0)
    terms = shares * np.log(chances) + (1.0 - shares) * np.log1p(-chances)
    return float(terms.sum())
