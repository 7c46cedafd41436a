"""`DirectRows`: the rows of a table as codes and numbers, for a single pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.backends.planning.encoding import Codes
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats
from spnc.data.table import Block, Table

SMALLEST_BLOCK = 16  # rows; blocks are multiples of it
FEW_ROWS = 8  # rows one by one take about as long as a block of 16 (6,333 edges)


@dataclass(frozen=True, eq=False)
class DirectRows:
    """Codes and numbers, padded to whole blocks of `width` rows."""

    codes: Codes  # [column, row]
    gaps: NDArray[np.bool_]  # by column: whether a cell is missing
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
        gaps = np.zeros(table.width, dtype=np.bool_)
        for block in table.blocks:
            finite = states[block.columns] > 0
            if not finite.all():
                block = Block(block.columns[finite], block.cells[finite])
            cells, missing = block.cells, block.missing
            if missing.any():
                gaps[block.columns] = missing.any(axis=1)
                cells = np.where(missing, states[block.columns, None], cells)
            codes[block.columns, : table.rows] = cells
        numbers = {c: np.ascontiguousarray(table.column(c)) for c in index.numeric_columns}
        return DirectRows(codes, gaps, numbers, table.rows, width)

    def take(self, rows: NDArray[np.intp]) -> DirectRows:
        """Return some of the rows, padded to whole blocks."""
        width = min(self.width, SMALLEST_BLOCK * -(-len(rows) // SMALLEST_BLOCK))
        codes = np.zeros((len(self.codes), -(-len(rows) // width) * width), self.codes.dtype)
        codes[:, : len(rows)] = self.codes[:, rows]
        numbers = {c: n[rows] for c, n in self.numbers.items()}
        return DirectRows(codes, self.gaps, numbers, len(rows), width)


def fitting_width(rows: int, widest: int, threads: int) -> int:
    """Return the width of blocks: narrow ones for few rows, so that all threads get a share."""
    return min(widest, SMALLEST_BLOCK * max(1, -(-rows // (threads * SMALLEST_BLOCK))))


def cached_width(places: int, cache_bytes: int, widest: int) -> int:
    """Return the width of blocks whose values at this many places stay in the cache."""
    fitting = cache_bytes // (8 * places) // SMALLEST_BLOCK * SMALLEST_BLOCK
    return max(SMALLEST_BLOCK, min(widest, fitting))
