"""`Drawing`: rows drawn from a program, and the missing cells of given rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba import drawing_kernels
from spnc.backends.numba.direct import DirectPass
from spnc.backends.numba.direct_order import Order, program_order
from spnc.backends.numba.direct_rows import DirectRows, cached_width
from spnc.backends.planning.encoding import encode
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import even_bounds
from spnc.data.table import Table
from spnc.program.program import Parameters

PART_ROWS = 1 << 10  # rows with a seed of their own
PIECE_ROWS = 1 << 15  # rows whose missing cells are drawn at once
LARGEST_BLOCK = 64  # rows
CACHE_BYTES = 400_000  # for the values of all inner nodes in a block
WORDS = 4  # of the state of a random number generator


def _seeds(count: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return states of random number generators, `[generator, word]`."""
    return rng.integers(1 << 64, size=(count, WORDS), dtype=np.uint64)


class Drawing:
    """Draws from a program with given parameters; see `spnc.queries`."""

    def __init__(self, direct: DirectPass, parameters: Parameters) -> None:
        self.direct, self.index, self.parameters = direct, direct.index, parameters
        self.places = direct.places
        self.leaf_ends = np.zeros(self.places.finite.count)
        for number, leaf, kind, entries in self.places.finite.tables:
            own = self.leaf_ends[entries].reshape(len(leaf), -1)
            chances = kind.probabilities(parameters.tables[number], leaf.states)
            own[:, :-1] = np.cumsum(chances, axis=1)

    def rows(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw independent rows, `[row, column]`."""
        kinds, starts, _, slots = self.index.inner_nodes
        ends = drawing_kernels.running_totals(starts, slots, kinds, self.parameters.weights)
        values = np.empty((count, len(self.index.program.columns)))
        parts = -(-count // PART_ROWS)
        seeds = _seeds(parts, rng)

        def work(_: int, first: int, last: int) -> None:
            drawing_kernels.draw_rows(
                first, last, PART_ROWS, seeds, self.index.program.root, self.places.leaves,
                self.index.states, self.leaf_ends, self.index.inner_nodes, ends, values,
            )  # fmt: skip

        team = self.direct.team
        team.run(even_bounds(parts, team.threads), work)
        every = np.ones(count, dtype=np.bool_)
        for column in self.index.numeric_leaves:
            self._draw_numbers(values[:, column], column, every, rng)
        return values

    def completed(self, table: Table, rng: np.random.Generator) -> Floats:
        """Return the rows of a table with their missing cells drawn, given their other cells."""
        values = np.array(table.values, order="C")
        order = program_order(self.index)
        for start in range(0, table.rows, PIECE_ROWS):
            rows = slice(start, min(start + PIECE_ROWS, table.rows))
            self._complete(order, table.take(rows), rng, values[rows])
        return values

    def _complete(
        self, order: Order, table: Table, rng: np.random.Generator, values: Floats
    ) -> None:
        """Draw the missing cells of a piece."""
        missing = np.isnan(values)
        ratios = self.direct.ratios(self.parameters)
        width = cached_width(len(order.kinds), CACHE_BYTES, LARGEST_BLOCK)
        rows = DirectRows.of(self.index, table, width)
        seeds = _seeds(rows.codes.shape[1] // width, rng)

        def compute(
            first: int, last: int, strips: Floats, base: int, memory: Floats, found: Floats
        ) -> None:
            drawing_kernels.complete_blocks(
                first, last, width, order, self.places.leaves, rows.codes, rows.gaps,
                ratios.ratios, self.parameters.weights, strips, base, memory, found, seeds,
                self.index.program.root, self.index.states, self.leaf_ends, self.index.inner_nodes,
                values,
            )  # fmt: skip

        found = self.direct.in_blocks(ratios, rows, compute, len(order.kinds))
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = self.direct.is_exact(np.log(found.ratios), found.log_bound)
        doubtful = np.flatnonzero(~exact)
        if len(doubtful):
            values[doubtful] = table.take(doubtful).values
            self._complete_in_logs(table, doubtful, rng, values)
        for column in self.index.numeric_leaves:
            # Where the row is impossible, nothing was drawn.
            drawn = missing[:, column] & ~np.isnan(values[:, column])
            self._draw_numbers(values[:, column], column, drawn, rng)

    def _complete_in_logs(
        self, table: Table, rows: NDArray[np.intp], rng: np.random.Generator, values: Floats
    ) -> None:
        """Draw the missing cells of rows that leave the range of doubles."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.parameters.weights)
        encoded = encode(self.index, table.take(rows))
        for piece in encoded.pieces(np.arange(len(rows))):
            drawing_kernels.complete_in_logs(
                rows[piece.rows], piece.places, self.index.program.root, piece.codes,
                piece.leaves.logs(self.parameters), piece.leaves.starts, log_weights,
                _seeds(1, rng)[0], self.places.leaves, self.index.states, self.leaf_ends,
                self.index.inner_nodes, values,
            )  # fmt: skip

    def _draw_numbers(
        self, cells: Floats, column: int, drawn: NDArray[np.bool_], rng: np.random.Generator
    ) -> None:
        """Replace the numbers of leaves in a column by values of these leaves."""
        rows = np.flatnonzero(drawn)
        nodes: Ints = cells[rows].astype(np.int64)
        for group, _ in self.places.groups:
            if group.column == column:
                leaf = self.index.program.leaves[group.table]
                own = (nodes >= leaf.first) & (nodes < leaf.last)
                places = nodes[own] - leaf.first
                table = self.parameters.tables[group.table][places]
                cells[rows[own]] = group.kind.sample(table, leaf.columns.take(places), rng)
