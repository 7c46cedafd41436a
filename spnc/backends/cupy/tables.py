"""The arrays that a device keeps for a layout, and the workspace of a pass.

The values of cells come first, one cell after another; those of row nodes follow, each with space
for the rows of a chunk. The size of a chunk is a multiple of the number of lanes, so that sums
taken lane by lane do not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.backends.cupy.inverse import inverse, list_numbers
from spnc.backends.cupy.layout import Layout
from spnc.common.arrays import Floats, Ints

LANES = 32  # threads of a warp; see circuit.cuh
LARGEST_CHUNK = 65_536  # rows within a chunk are numbered by 16 bits
Arrays = dict[str, NDArray[np.generic]]
Workspace = dict[str, tuple[int, np.dtype[np.generic]]]  # by array: its length and type


@dataclass(frozen=True)
class Chunks:
    """The rows in parts of equal size; the last may be smaller."""

    rows: int
    size: int

    def __len__(self) -> int:
        return -(-self.rows // self.size)

    def bounds(self) -> list[tuple[int, int]]:
        """Return the first row of every chunk, and its number of rows."""
        firsts = range(0, self.rows, self.size)
        return [(first, min(self.size, self.rows - first)) for first in firsts]


def rounded(rows: int) -> int:
    """Round rows up to a multiple of the number of lanes, at least one of each."""
    return max(1, -(-rows // LANES)) * LANES


def tables(layout: Layout, chunks: Chunks, weights: Floats) -> Arrays:
    """Return all arrays that stay on the device while the rows are loaded."""
    places = _places(layout, chunks.size)
    children, parents, feeds = layout.children, layout.parents, layout.feeds
    map_starts = np.cumsum([0, *map(len, layout.maps)])  # index -1, "no map", finds the last
    first_slots = layout.first_slots
    owners = np.repeat(np.arange(layout.cells), layout.sizes)
    leaf = np.argsort(layout.leaves.entries)
    return {
        "row_weights": weights,
        "places": places,
        "steps": _ints(layout.steps),
        "owners": _ints(owners),
        "starts": _ints(children.starts),
        "first_slots": _ints(first_slots),
        "child_places": places[children.nodes],
        "child_maps": np.where(children.maps >= 0, map_starts[children.maps], -1),
        "maps": _joined(layout.maps, np.uint16),
        "leaf_sources": _ints(layout.leaves.sources[leaf]),
        "leaf_reference": layout.leaves.reference[leaf],
        "parent_starts": _ints(parents.starts),
        "parent_places": places[parents.nodes],
        "parent_slots": _ints(parents.slots),
        **_lists(layout),
        "feed_starts": _ints(feeds.starts),
        "feed_firsts": feeds.firsts,
        "feed_owners": _ints(np.repeat(np.arange(len(feeds.gates)), np.diff(feeds.firsts))),
        "gate_places": places[feeds.gates],
        "feed_maps": _ints(feeds.maps),
        **_feed_lists(layout, chunks),
        **_slots(layout, places),
    }


def chunk_sizes(layout: Layout) -> range:
    """Return the possible numbers of rows in a chunk, largest first."""
    return range(min(rounded(layout.rows), LARGEST_CHUNK), 0, -LANES)


def workspace(layout: Layout, chunk: int, real: np.dtype[np.generic]) -> Workspace:
    """Return the arrays of working memory for a pass of EM, beside the tables."""
    double = np.dtype(np.float64)
    values = layout.entries + layout.row_nodes * chunk
    return {
        "values": (values, real),
        "flows": (values, real),
        "found": (layout.rows, real),
        "weights": (layout.slots, double),
        "log_weights": (layout.slots, real),
        "log_densities": (layout.leaf_count, double),
        "fed": (int(layout.feeds.firsts[-1]), double),
        "lanes": (layout.row_slots * LANES, double),
        "totals": (layout.slots, double),
    }


def workspace_bytes(layout: Layout, chunk: int, real: np.dtype[np.generic]) -> int:
    """Return the bytes that depend on the size of chunks: working memory, and the chunks' lists."""
    own = sum(count * kind.itemsize for count, kind in workspace(layout, chunk, real).values())
    return own + list_bytes(layout, Chunks(layout.rows, chunk))


def least_workspace_bytes(layout: Layout, real: np.dtype[np.generic]) -> int:
    """Return the least `workspace_bytes` of any chunk size: every further chunk needs its lists."""
    return min(workspace_bytes(layout, chunk, real) for chunk in chunk_sizes(layout))


def list_bytes(layout: Layout, chunks: Chunks) -> int:
    """Return the bytes of the array that says where the lists of rows start in every chunk."""
    return len(chunks) * layout.feeds.list_starts * np.dtype(np.int32).itemsize


def _places(layout: Layout, chunk: int) -> Ints:
    """Return where the values of every node start, and the end of the last."""
    rows = layout.entries + chunk * np.arange(layout.row_nodes + 1)
    return np.concatenate([layout.offsets[:-1], rows])


def _lists(layout: Layout) -> Arrays:
    """Return the inverses of the maps between cells: the entries that lead to each projection."""
    maps = layout.parents.maps
    number = {m: i for i, m in enumerate(layout.inverses)}
    own = [number.get(m, -1) for m in maps.tolist()]
    starts = np.cumsum([0, *(len(i.starts) for i in layout.inverses.values())])
    orders = np.cumsum([0, *(len(i.order) for i in layout.inverses.values())])
    mapped = maps >= 0
    return {
        "inverse_starts": np.where(mapped, starts[own], -1),
        "inverse_orders": np.where(mapped, orders[own], -1),
        "list_starts": _joined([i.starts for i in layout.inverses.values()], np.int32),
        "lists": _joined([i.order for i in layout.inverses.values()], np.uint16),
    }


def _feed_lists(layout: Layout, chunks: Chunks) -> Arrays:
    """Return the inverses of the maps from rows to cells, by chunk, and the lists they go to."""
    feeds = layout.feeds
    sizes = np.array([len(own) for own in feeds.lists], dtype=np.int64)
    lengths = np.array([own[-1] + 1 for own in feeds.lists], dtype=np.int64)
    firsts = np.cumsum(lengths) - lengths
    starts = np.empty((len(chunks), feeds.list_starts), dtype=np.int32)
    orders = np.empty((len(lengths), chunks.rows), dtype=np.uint16)
    for m, (number, own) in enumerate(zip(feeds.row_maps.tolist(), feeds.lists, strict=True)):
        numbers = list_numbers(layout.maps[number], own)
        for c, (row, count) in enumerate(chunks.bounds()):
            found = inverse(numbers[row : row + count], int(own[-1]))
            starts[c, firsts[m] : firsts[m] + lengths[m]] = found.starts
            orders[m, row : row + count] = found.order
    return {
        "feed_lists": firsts,
        "feed_list_starts": starts.reshape(-1),
        "feed_orders": orders.reshape(-1),
        "dealt": _joined(map(_ints, feeds.lists), np.int32),
        "feed_dealt": (np.cumsum(sizes) - sizes)[feeds.maps],
    }


def _slots(layout: Layout, places: Ints) -> Arrays:
    """Return the sum and child of every weight slot, and their projections if they are cells."""
    links = layout.children
    parents = np.repeat(np.arange(layout.nodes), np.diff(links.starts))
    edges = np.flatnonzero(links.slots >= 0)
    edges = edges[np.argsort(links.slots[edges])]
    sums = parents[edges]
    sizes = np.append(layout.sizes, 0)[np.minimum(sums, layout.cells)]
    return {
        "slot_sums": places[sums],
        "slot_children": places[links.nodes[edges]],
        "slot_sizes": _ints(sizes),
        "cell_slots": _ints(np.flatnonzero(sums < layout.cells)),
        "row_slots": _ints(np.flatnonzero(sums >= layout.cells)),
    }


def _ints(values: NDArray[np.integer]) -> NDArray[np.int32]:
    return values.astype(np.int32)


def _joined(parts: Iterable[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([np.empty(0, dtype=kind), *parts])
