"""Tables with some of their cells made missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spnc.data.table import Block, Table


def hide_cells(table: Table, hidden: NDArray[np.bool_]) -> Table:
    """Return the table without the cells in `hidden[row, column]`, which is broadcast to it."""
    hidden = np.broadcast_to(hidden, (table.rows, table.width))
    blocks = []
    for block in table.blocks:
        gap = np.nan if block.missing_code is None else block.missing_code
        own = hidden[:, block.columns].T
        cells = np.where(own, block.cells.dtype.type(gap), block.cells)
        blocks.append(Block(block.columns, cells))
    return Table.of_blocks(blocks, table.weights)


def hide_columns(table: Table, columns: Sequence[int]) -> Table:
    """Return the table without the cells of these columns."""
    hidden = np.zeros((1, table.width), dtype=np.bool_)
    hidden[0, list(columns)] = True
    return hide_cells(table, hidden)
