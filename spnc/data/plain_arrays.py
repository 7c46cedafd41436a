"""Arrays of doubles as tables of a model, without a look at single columns.

Most questions come as such arrays, and small ones have to be answered in less than the time that
reading a table column by column takes. Whatever is unusual is left to `load_table`, which gives the
same tables and reports every problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.encoding import LARGEST
from spnc.data.table import Block, Table, code_type
from spnc.data.table_rules import TableRules
from spnc.data.text_cells import is_number
from spnc.data.text_values import LARGEST_EXACT


class PlainArrays:
    """How arrays of doubles become tables of these columns."""

    def __init__(self, columns: Sequence[Column], rules: TableRules) -> None:
        own = tuple(c.name for c in columns)
        # Numbers that mean a missing value, row weights, or columns that are not modelled.
        special = any(is_number(m.strip()) for m in rules.missing) or rules.weight is not None
        self.usable = not special and rules.names in ((), own)
        self.width = len(own)
        finite = [i for i, c in enumerate(columns) if c.is_finite]
        self.finite = np.array(finite, dtype=np.intp)
        self.numeric = np.setdiff1d(np.arange(len(columns)), self.finite)
        self.counts = np.array([columns[i].kind == "count" for i in self.numeric], dtype=np.bool_)
        self.states = np.array([columns[i].states for i in finite], dtype=np.int64)
        self.kind = code_type(int(self.states.max(initial=2)))
        self.missing = np.iinfo(self.kind).max
        # By place among finite columns: the numbers that stand for the states, if not their codes.
        self.labels = {
            place: np.array(labels, dtype=np.float64)
            for place, i in enumerate(finite)
            if (labels := columns[i].array_labels) is not None
            and labels != tuple(range(columns[i].states))
        }

    def table(self, data: Any) -> Table | None:
        """Return the table of an array; None if it is not plain, or if a cell may be wrong."""
        if not self.usable or type(data) is not np.ndarray or data.dtype != np.float64:
            return None
        values = data[None] if data.ndim == 1 else data
        if values.ndim != 2 or values.shape[1] != self.width or not values.size:
            return None
        blocks = []
        if len(self.finite):
            block = self._codes(values)
            if block is None:
                return None
            blocks.append(block)
        if len(self.numeric):
            block = self._numbers(values)
            if block is None:
                return None
            blocks.append(block)
        return Table.of_blocks(blocks)

    def _codes(self, values: Floats) -> Block | None:
        if len(self.numeric):
            values = values[:, self.finite]
        if self.labels:
            values = self._with_codes(values)
        with np.errstate(invalid="ignore"):  # what does not fit differs afterwards
            codes = values.astype(self.kind)
        fits = (codes == values) & (codes < self.states)
        if not fits.all():
            missing = np.isnan(values)
            if not (fits | missing).all():
                return None
            codes[missing] = self.missing
        return Block(self.finite, np.ascontiguousarray(codes.T))

    def _with_codes(self, values: Floats) -> Floats:
        """Return a copy with codes in place of labels, and -1 for what is no label."""
        found = values.copy()
        for place, labels in self.labels.items():
            order = np.argsort(labels, kind="stable")
            cells = values[:, place]
            at = np.minimum(np.searchsorted(labels[order], cells), len(labels) - 1)
            codes = np.where(labels[order][at] == cells, order[at], -1.0)
            found[:, place] = np.where(np.isnan(cells), np.nan, codes)
        return found

    def _numbers(self, values: Floats) -> Block | None:
        cells = np.ascontiguousarray(values[:, self.numeric].T)
        with np.errstate(invalid="ignore"):
            if (np.abs(cells) > LARGEST).any():
                return None
            if self.counts.any():
                own = cells[self.counts]
                if ((own < 0) | (own != np.floor(own)) | (own > LARGEST_EXACT))[
                    ~np.isnan(own)
                ].any():
                    return None
        return Block(self.numeric, cells)
