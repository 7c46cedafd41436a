"""Synthetic tables for `spnc train --auto`: one with many columns, one with many rows.

The columns are in blocks. Each block has a hidden state, the states form a Markov chain, and every
column is a noisy function of its block's state. Columns of one block therefore depend strongly on
one another, and columns of distant blocks weakly, as in real tables.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

STATES = 4  # states of a block
STAY = 0.7  # probability that a block has the state of the block before
KNOWN = 0.98  # share of known cells in a column with gaps


def walk(rows: int, blocks: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw the hidden states, `[row, block]`."""
    states = rng.integers(STATES, size=(rows, blocks), dtype=np.int8)
    for block in range(1, blocks):
        same = rng.random(rows) < STAY
        states[same, block] = states[same, block - 1]
    return states


def many_columns(rows: int = 6_000, columns: int = 1_500, seed: int = 0) -> NDArray[np.uint8]:
    """Draw a table of binary columns in blocks of ten."""
    rng = np.random.default_rng(seed)
    states = walk(rows, -(-columns // 10), rng)
    table = np.empty((rows, columns), dtype=np.uint8)
    for column in range(columns):
        chances = rng.beta(0.4, 0.8, STATES)
        table[:, column] = rng.random(rows) < chances[states[:, column // 10]]
    return table


def many_rows(rows: int = 300_000, columns: int = 40, seed: int = 0) -> list[list[str]]:
    """Draw columns of two to five states in blocks of eight, some with gaps, one constant."""
    rng = np.random.default_rng(seed)
    states = walk(rows, -(-columns // 8), rng)
    found: list[list[str]] = []
    for column in range(columns):
        kinds = 2 + column % 4
        ends = np.cumsum(rng.dirichlet(np.full(kinds, 0.4), STATES), axis=1)[:, :-1]
        codes = (rng.random((rows, 1)) > ends[states[:, column // 8]]).sum(axis=1)
        if column == 5:
            codes[:] = 1
        cells = codes.astype(str)
        if column % 7 == 3:
            cells[rng.random(rows) > KNOWN] = "?"
        found.append(cells.tolist())
    return found


def write_many_columns(path: Path) -> None:
    """Write the table with many columns as an array."""
    np.save(path, many_columns())


def write_many_rows(path: Path) -> None:
    """Write the table with many rows as CSV, with a header."""
    table = many_rows()
    head = ",".join(f"c{i}" for i in range(len(table)))
    lines = map(",".join, zip(*table, strict=True))
    path.write_text(head + "\n" + "\n".join(lines) + "\n")
