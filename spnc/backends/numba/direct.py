"""`DirectPass`: log-likelihoods of rows that are seen once, without a plan of their table.

Rows are computed in the linear domain, straight from the program. What may be lost below the range
of doubles at any place is less than `LOST` times the largest leaf value, or one, of every column.
So a row is exact if its root is far above that, which is known without looking at other nodes. Rows
of which this cannot be said are compared with upper bounds, as in a planned pass; what then remains
is computed in the log domain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba import direct_kernels
from spnc.backends.numba.direct_leaves import LeafPlaces, LeafRatios
from spnc.backends.numba.direct_order import Order, evaluation_order
from spnc.backends.numba.direct_rows import FEW_ROWS, DirectRows, cached_width, fitting_width
from spnc.backends.numba.upper_bounds import CLOSE
from spnc.backends.planning.leaf_list import LEAST_RATIO
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats
from spnc.common.threads import ThreadTeam, even_bounds
from spnc.data.table import Table
from spnc.program.program import Parameters

CACHE_BYTES = 200_000  # for the values of a block: a part of a usual second-level cache; not tuned
LARGEST_BLOCK = 256  # rows: 128 take 15% longer, 512 gain nothing (7,019 edges)
STRIP_ENTRIES = 1 << 17  # values of numeric leaves at once, one megabyte; not tuned
WORTH_SHARING = 400_000  # rows times edges: some 0.2 ms of one core, an estimate
LOST = LEAST_RATIO
LOG_EXACT = np.log(1e-15)  # the share of a value that may be lost: log-likelihoods stay exact
_NO_STRIPS = np.empty((0, 0))

# Computes the blocks first … last-1, given the strips of numeric leaves, the first block of these,
# working memory [place, row], and the array that the roots' ratios go to.
Compute = Callable[[int, int, Floats, int, Floats, Floats], None]


class Found(NamedTuple):
    """What a pass has found, by row."""

    ratios: Floats  # of the root to the reference distribution
    log_reference: Floats
    log_bound: Floats  # of the largest leaf value, or one, of every column


class DirectPass:
    """A program, ready for single passes. What depends on the parameters only is kept."""

    def __init__(self, index: ProgramIndex, team: ThreadTeam) -> None:
        self.index, self.team = index, team
        self.places = LeafPlaces(index)
        program = index.program
        self.log_loss = np.log(LOST) + np.log(program.edges + program.nodes) - LOG_EXACT
        self._ratios: LeafRatios | None = None

    @cached_property
    def _order(self) -> tuple[Order, int]:
        """The steps of a pass, and the number of places for values; not needed for few rows."""
        return evaluation_order(self.index)

    def load(self, table: Table) -> DirectRows:
        """Return the rows of a table as this pass reads them."""
        width = 1
        if table.rows > FEW_ROWS:
            widest = cached_width(self._order[1], CACHE_BYTES, LARGEST_BLOCK)
            width = fitting_width(table.rows, widest, self.team.threads)
        return DirectRows.of(self.index, table, width)

    def log_likelihood(self, parameters: Parameters, rows: DirectRows) -> Floats:
        """Return log p(row); NaN where it has to be computed in the log domain."""
        ratios = self.ratios(parameters)
        pass_over = self._few_rows if rows.rows <= FEW_ROWS else self._blocks
        values, log_reference, log_bound = pass_over(ratios, rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(values)
        exact = self.is_exact(found, log_bound)
        if not exact.all():
            self._compare(ratios, rows, np.flatnonzero(~exact), found)
        found += log_reference
        return found

    def ratios(self, parameters: Parameters) -> LeafRatios:
        """Return the leaf values for these parameters, made once."""
        found = self._ratios  # held here: another thread may replace it by its own
        if found is None or found.parameters is not parameters:
            found = self._ratios = LeafRatios(self.places, parameters)
        return found

    def is_exact(self, log_ratios: Floats, log_bound: Floats) -> NDArray[np.bool_]:
        """Return of which rows it is certain that nothing was lost."""
        found: NDArray[np.bool_] = log_ratios > log_bound + self.log_loss
        return found & (log_ratios < np.inf)

    def _compare(
        self, ratios: LeafRatios, rows: DirectRows, doubtful: NDArray[np.intp], found: Floats
    ) -> None:
        """Compare rows with upper bounds: set them to -inf if impossible, to NaN if not exact."""
        own = found[doubtful]
        upper = self._blocks(ratios, rows.take(doubtful), direct_kernels.blocks_upper_bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.log(upper.ratios)
            close = above - own <= CLOSE * np.maximum(1.0, np.abs(own))
        own[~(close & np.isfinite(own))] = np.nan
        own[above == -np.inf] = -np.inf
        found[doubtful] = own

    def _few_rows(self, ratios: LeafRatios, rows: DirectRows) -> Found:
        """Compute rows one by one."""
        program = self.index.program
        found = Found(np.empty(rows.rows), np.zeros(rows.rows), np.zeros(rows.rows))
        strips = self._fill(ratios, rows, 0, rows.rows, found)
        direct_kernels.single_rows(
            rows.rows, program.root, self.places.leaves, rows.codes, ratios.ratios, strips,
            self.index.inner_nodes, ratios.parameters.weights, np.empty(program.nodes),
            found.ratios,
        )  # fmt: skip
        return found

    def _blocks(
        self,
        ratios: LeafRatios,
        rows: DirectRows,
        kernel: Any = direct_kernels.blocks_forward,
    ) -> Found:
        """Compute rows in blocks, by `blocks_forward` or `blocks_upper_bound`."""
        order, places = self._order

        def compute(
            first: int, last: int, strips: Floats, base: int, memory: Floats, found: Floats
        ) -> None:
            kernel(
                first, last, rows.width, order, self.places.leaves, rows.codes, rows.gaps,
                ratios.ratios, ratios.parameters.weights, strips, base, memory, found,
            )  # fmt: skip

        return self.in_blocks(ratios, rows, compute, places)

    def in_blocks(
        self, ratios: LeafRatios, rows: DirectRows, compute: Compute, places: int
    ) -> Found:
        """Compute rows in blocks, shared among threads; `places` are those of working memory."""
        size, width = rows.codes.shape[1], rows.width
        whole = Found(np.empty(size), np.zeros(size), np.zeros(size))
        strip = max(1, STRIP_ENTRIES // max(1, self.places.strip_leaves * width))  # in blocks

        def work(_: int, first: int, last: int) -> None:
            memory = np.empty((places, width))
            step = strip if ratios.groups else last - first
            for start in range(first, last, step):
                stop = min(start + step, last)
                strips = self._fill(ratios, rows, start * width, stop * width, whole)
                compute(start, stop, strips, start, memory, whole.ratios)

        shared = size * self.index.program.edges >= WORTH_SHARING
        self.team.run(even_bounds(size // width, self.team.threads if shared else 1), work)
        return Found(*(found[: rows.rows] for found in whole))

    def _fill(
        self, ratios: LeafRatios, rows: DirectRows, first: int, last: int, found: Found
    ) -> Floats:
        """Compute the reference of the rows first … last-1, and the strips of numeric leaves."""
        direct_kernels.reference_sums(
            first, last, rows.codes, rows.gaps, self.places.columns, self.places.starts,
            ratios.log_reference, ratios.log_bounds, found.log_reference, found.log_bound,
        )  # fmt: skip
        if not ratios.groups:
            return _NO_STRIPS
        strips = np.empty((self.places.strip_leaves, last - first))
        known = slice(first, min(last, rows.rows))
        found.log_reference[known] += ratios.fill(rows.numbers, known, strips)
        return strips
