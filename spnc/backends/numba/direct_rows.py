"""`DirectRows`: the rows of a table as codes and numbers, for a single pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.backends.planning.encoding import Codes
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats
from spnc.data.dataset import Block, Table

SMALLEST_BLOCK = 16  # rows; blocks are multiples of it
FEW_ROWS = 8  # rows one by one take about as long as a block of 16 (6,333 edges)


@dataclass(frozen=True, eq=False)
class DirectRows:
    """Codes and numbers, padded to whole blocks of `width` rows."""

    codes: Codes  # [column, row]
    numbers: dict[int, Floats]  # the cells of numeric columns, not padded
    rows: int
    width: int

    @staticmethod
    def of(index: ProgramIndex, table: Table, width: int) -> DirectRows:
        """Return the rows of a table; blocks of one row need no padding."""
        states = index.states
        padded = -(-table.rows // width) * width
        narrow = int(states.max()) < np.iinfo(np.uint16).max
        codes = np.zeros((table.width, padded), dtype=np.uint16 if narrow else np.uint32)
        for block in table.blocks:
            finite = states[block.columns] > 0
            if not finite.all():
                block = Block(block.columns[finite], block.cells[finite])
            cells, missing = block.cells, block.missing
            if missing.any():
                cells = np.where(missing, states[block.columns, None], cells)
            codes[block.columns, : table.rows] = cells
        numbers = {c: np.ascontiguousarray(table.column(c)) for c in index.numeric_columns}
        return DirectRows(codes, numbers, table.rows, width)

    def take(self, rows: NDArray[np.intp]) -> DirectRows:
        """Return some of the rows, padded to whole blocks."""
        width = fitting_width(len(rows), self.width)
        codes = np.zeros((len(self.codes), -(-len(rows) // width) * width), self.codes.dtype)
        codes[:, : len(rows)] = self.codes[:, rows]
        return DirectRows(codes, {c: n[rows] for c, n in self.numbers.items()}, len(rows), width)


def fitting_width(rows: int, widest: int) -> int:
    """Return the width of blocks: narrow ones for few rows, so that two threads can share them."""
    return min(widest, SMALLEST_BLOCK * max(1, -(-rows // (2 * SMALLEST_BLOCK))))


def cached_width(places: int, cache_bytes: int, widest: int) -> int:
    """Return the width of blocks whose values at this many places stay in the cache."""
    fitting = cache_bytes // (8 * places) // SMALLEST_BLOCK * SMALLEST_BLOCK
    return max(SMALLEST_BLOCK, min(widest, fitting))
