"""`RowMemory`: how rows are cut into blocks, strips and waves, and the memory for them."""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.layout import Layout
from spnc.backends.numba.wide_leaves import WideLeaves

CACHE_BYTES = 600_000  # for a block's values and flows: half of a usual second-level cache
# The same where there are wide columns: longer blocks read longer runs of the strips, which pays
# off although they need the third-level cache. Measured on trees and hidden trees over ten real and
# ten categorical columns.
WIDE_CACHE_BYTES = 2_400_000
SMALLEST_BLOCK, LARGEST_BLOCK = 16, 512  # rows; blocks are multiples of the smallest
DENSE_BLOCK = 64  # rows of a block with matrix products, at least
WAVE_BYTES = 32_000_000  # for the flows of a wave, which wait until they are fed to the cells


class RowMemory:
    """The memory of row nodes, allocated once for all passes over a layout.

    Each thread has an array of values and one of flows. The inner nodes come first, with space for
    one block each; the leaves over wide columns follow, with space for one strip each.
    """

    def __init__(self, layout: Layout, threads: int) -> None:
        nodes = layout.row_nodes
        count, edges = len(nodes.kinds), len(nodes.children.nodes)
        dense = len(layout.row_dense.slots)
        inner = count - len(nodes.leaves)
        bytes_per_row = 16 * max(1, inner)  # a value and a flow for each node
        cache = WIDE_CACHE_BYTES if layout.encoded.numbers else CACHE_BYTES
        fitting = cache // bytes_per_row // SMALLEST_BLOCK * SMALLEST_BLOCK
        least = DENSE_BLOCK if dense else SMALLEST_BLOCK
        self.width = max(least, min(LARGEST_BLOCK, fitting))  # rows of a block
        self.blocks = -(-layout.rows // self.width)
        self.wide = WideLeaves(layout.encoded, self.width)
        is_inner = np.ones(count, dtype=np.bool_)
        is_inner[nodes.leaves] = False
        self.places = (np.cumsum(is_inner) - 1) * self.width  # where a node's values start
        self.places[nodes.leaves] = inner * self.width + layout.strip * self.wide.shape[1]
        self.identity = np.arange(self.width, dtype=np.uint16)
        entries = inner * self.width + self.wide.entries
        self.values = [np.zeros(entries) for _ in range(threads)]
        self.flows = [np.zeros(entries) for _ in range(threads)]
        self.wide.use(self.values, self.flows)
        widest = int(np.diff(layout.row_dense.starts).max(initial=0))
        self.dense_flows = [np.empty(widest * self.width) for _ in range(threads)]
        self.flags = np.zeros(self.blocks, dtype=np.int64)
        self.skipped = np.zeros(layout.rows, dtype=np.uint8)  # rows whose flow must not count
        self.above = np.empty(layout.rows)  # upper bounds of log-likelihoods
        per_block = 8 * max(1, len(nodes.gates) * self.width + edges + dense)
        self.wave = min(self.blocks, max(threads, WAVE_BYTES // per_block))  # blocks
        if self.wide.groups:  # whole strips, enough for every thread
            strips = max(threads, -(-self.wave // self.wide.blocks))
            self.wave = strips * self.wide.blocks
        self.gate_flows = np.empty((len(nodes.gates), self.wave * self.width))
        self.block_counts = np.zeros((self.wave, edges))
        self.dense_block_counts = np.zeros((self.wave, dense))

    def rows_of(self, first: int, last: int) -> slice:
        """Return the rows of the blocks first … last-1."""
        return slice(first * self.width, min(last * self.width, len(self.skipped)))
