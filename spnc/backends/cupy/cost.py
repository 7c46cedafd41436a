"""The cost of a pass on a device, computed without one: memory, launches, traffic, operations.

Traffic is what kernels request for each entry: values, flows, maps, weights and totals. The
circuit's own arrays are not counted, since all threads of a warp read them at once, and caches are
not modelled. An exponential or a logarithm counts as one operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spnc.backends.cupy.batches import encoded_batches
from spnc.backends.cupy.launches import (
    DEFAULT_LIMITS,
    Limits,
    cell_launches,
    flow_launches,
    row_launches,
)
from spnc.backends.cupy.layout import Layout, make_layout
from spnc.backends.cupy.tables import (
    LANES,
    Chunks,
    chunk_sizes,
    least_workspace_bytes,
    list_bytes,
    tables,
    workspace_bytes,
)
from spnc.backends.planning.edge_lists import EdgeLists
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.data.table import Table
from spnc.program.program import Program

_DOUBLE, _INT, _SHORT = 8, 4, 2


class Work(NamedTuple):
    """The launches, bytes read, bytes written and operations of a pass."""

    launches: int
    read: int
    written: int
    operations: int

    @property
    def intensity(self) -> float:
        """Operations per byte moved."""
        return self.operations / (self.read + self.written)

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as JSON, with the intensity."""
        return {**self._asdict(), "operations_per_byte": round(self.intensity, 4)}


@dataclass(frozen=True)
class Cost:
    """The cost of a program over a table on a device, without the tables that the device keeps."""

    workspace: int  # bytes of working memory: for a pass, and for the lists of the chunks
    values: Work  # a pass for log-likelihoods
    counts: Work  # a pass of EM


def estimate(program: Program, table: Table) -> dict[str, Any]:
    """Return the cost of a program over a table as JSON, with chunks as large as possible.

    It is that of the first batch if the table is loaded in several.
    """
    encoded = next(encoded_batches(ProgramIndex(program), table))
    layout = make_layout(encoded)
    chunks = Chunks(layout.rows, chunk_sizes(layout)[0])
    kept = table_bytes(layout, chunks, encoded.weights)
    found: dict[str, Any] = {"rows": layout.rows}
    for name in ("float64", "float32"):
        real = np.dtype(name)
        own = cost(layout, chunks, real)
        found[name] = {
            "table_bytes": kept,
            "room_bytes": own.workspace,
            "least_room_bytes": least_workspace_bytes(layout, real),
            "log_likelihood": own.values.as_json(),
            "em": own.counts.as_json(),
        }
    return found


def rows_unlike(program: Program, rows: int) -> Table:
    """Return random rows, which are as different as rows can be and therefore cost most."""
    rng = np.random.default_rng(0)
    finite = np.array([column.is_finite for column in program.columns])
    states = np.array([column.states if column.is_finite else 2 for column in program.columns])
    values = rng.integers(states, size=(rows, len(states))).astype(float)
    values[:, ~finite] = rng.random((rows, int((~finite).sum())))
    return Table(values)


def table_bytes(layout: Layout, chunks: Chunks, weights: Floats) -> int:
    """Return the bytes that stay on the device while rows are loaded, whatever the chunks are."""
    arrays = tables(layout, chunks, weights)
    return sum(a.nbytes for a in arrays.values()) - list_bytes(layout, chunks)


def cost(
    layout: Layout, chunks: Chunks, real: np.dtype[np.generic], limits: Limits = DEFAULT_LIMITS
) -> Cost:
    """Return the cost of a layout with its rows in these chunks."""
    values = _Tally(layout, chunks, real.itemsize, limits)
    values.forward()
    counts = _Tally(layout, chunks, real.itemsize, limits)
    counts.forward()
    counts.backward()
    return Cost(
        workspace_bytes(layout, chunks.size, real),
        values.work(),
        counts.work(),
    )


class _Tally:
    """Adds up what the kernels do; `real` is the size of a value in bytes."""

    def __init__(self, layout: Layout, chunks: Chunks, real: int, limits: Limits) -> None:
        self.layout, self.chunks, self.real, self.limits = layout, chunks, real, limits
        self.launches = self.read = self.written = self.operations = 0
        # The number of values of each node, over all chunks.
        self.sizes = np.append(layout.sizes, np.full(layout.row_nodes, layout.rows))

    def work(self) -> Work:
        """Return the total."""
        return Work(self.launches, self.read, self.written, self.operations)

    def _add(self, times: int, read: int = 0, written: int = 0, operations: int = 0) -> None:
        self.read += int(times) * read
        self.written += int(times) * written
        self.operations += int(times) * operations

    def _edges(self, links: EdgeLists) -> tuple[Ints, Ints, Ints]:
        """Return the entries of sum edges, product edges without maps, and those with maps."""
        own = np.repeat(self.sizes, np.diff(links.starts))
        is_sum, mapped = links.slots >= 0, links.maps >= 0
        return own[is_sum], own[~is_sum & ~mapped], own[~is_sum & mapped]

    def forward(self) -> None:
        """Add the kernels of forward.cu."""
        layout, real = self.layout, self.real
        leaves = len(layout.leaves.entries)
        sums, straight, mapped = self._edges(layout.children)
        self._add(layout.slots, _DOUBLE, real, 1)
        self._add(leaves, 2 * _DOUBLE + _INT, real, 1)
        self._add(sums.sum(), 4 * real, 0, 6)
        self._add(straight.sum(), real, 0, 1)
        self._add(mapped.sum(), _SHORT + real, 0, 1)
        self._add(self.sizes.sum() - leaves, 0, real)
        self._add(self.sizes[layout.first_slots >= 0].sum(), 0, 0, 2)
        self._add(layout.rows, real, real)
        self.launches += (layout.slots > 0) + 1 + len(cell_launches(layout, self.limits))
        for _, rows in self.chunks.bounds():
            self.launches += len(row_launches(layout, rows, self.limits)) + 1

    def backward(self) -> None:
        """Add the kernels of backward.cu and counts.cu."""
        layout, real, feeds = self.layout, self.real, self.layout.feeds
        fed, chunks = int(feeds.firsts[-1]), len(self.chunks)
        sums, straight, mapped = self._edges(layout.parents)
        self._add(layout.rows, real + _DOUBLE, real)  # the root
        self._add(self.sizes.sum() - layout.rows, real, real)
        self._add(sums.sum(), 3 * real, 0, 5)
        self._add(straight.sum(), real, 0, 1)
        self._add(mapped.sum(), 2 * _INT)
        through = layout.parents.nodes[(layout.parents.maps >= 0)]
        self._add(self.sizes[through].sum(), _SHORT + real, 0, 1)
        self._add(fed * chunks, 2 * _INT + _DOUBLE, _DOUBLE)
        self._add(len(feeds.gates) * layout.rows, _SHORT + real, 0, 1)
        self._add(np.repeat(layout.sizes, np.diff(feeds.starts)).sum(), 2 * _INT)
        self._add(fed, _DOUBLE, 0, 1)
        links = layout.children
        owners = np.repeat(np.arange(layout.nodes), np.diff(links.starts))[links.slots >= 0]
        in_rows = layout.row_slots
        in_cells = layout.slots - in_rows
        self._add(self.sizes[owners].sum(), 3 * real, 0, 5)
        self._add(LANES * in_rows * chunks, _DOUBLE, _DOUBLE)
        self._add(in_rows, LANES * _DOUBLE, _DOUBLE, LANES)
        self._add(in_cells, 0, _DOUBLE, LANES)
        for _, rows in self.chunks.bounds():
            self.launches += (
                1 + len(flow_launches(layout, rows, self.limits)) + (fed > 0) + (in_rows > 0)
            )
        self.launches += len(cell_launches(layout, self.limits)) + 1 + (in_rows > 0)
        self.launches += in_cells > 0
