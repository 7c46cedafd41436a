"""`Sweep`: one pass over the rows of a batch, launch by launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.backends.cupy.device import BLOCK, Device
from spnc.backends.cupy.launches import Launch, Limits, flow_launches, row_launches
from spnc.backends.cupy.layout import Layout
from spnc.backends.cupy.tables import LANES, Chunks, workspace
from spnc.backends.planning.encoding import EncodedTable
from spnc.common.arrays import Floats
from spnc.program.program import Parameters

LONE_BLOCK = 1_024  # threads of the block that takes cells through many steps; see circuit.cuh
SLICE = 32  # rows that a block takes through many steps; see circuit.cuh
MOST_BLOCKS = 65_535  # CUDA's limit for the second dimension of a grid


@dataclass(eq=False)
class Batch:
    """Rows loaded for a device, and the arrays that it keeps for them."""

    layout: Layout
    chunks: Chunks
    encoded: EncodedTable
    tables: dict[str, Any]  # on the device
    limits: Limits
    cell_launches: list[Launch]


class Sweep:
    """One pass over all rows: its working memory and its launches."""

    def __init__(
        self, device: Device, batch: Batch, real: np.dtype[np.generic], *, flowing: bool
    ) -> None:
        self.device, self.batch = device, batch
        self.layout = batch.layout
        self.arrays = dict(batch.tables)
        adding_up = ("fed", "lanes")
        flowing_only = ("flows", "totals", *adding_up)
        for name, (count, kind) in workspace(self.layout, batch.chunks.size, real).items():
            if name in ("weights", "log_densities") or (name in flowing_only and not flowing):
                continue
            make = device.zeros if name in adding_up else device.empty
            self.arrays[name] = make(count, kind)
        self.root = self.layout.entries + (self.layout.row_nodes - 1) * batch.chunks.size

    def _launch(self, kernel: str, threads: int, *arguments: Any) -> None:
        """Launch a kernel on at least this many threads; strings in `arguments` name arrays."""
        self._launch_on((-(-threads // BLOCK),), kernel, *arguments)

    def _launch_on(
        self, grid: tuple[int, ...], kernel: str, *arguments: Any, threads: int = BLOCK
    ) -> None:
        known = self.arrays
        own = tuple(known[a] if isinstance(a, str) else a for a in arguments)
        self.device.launch(kernel, grid, own, threads)

    # -- values --------------------------------------------------------------------------------

    def start(self, parameters: Parameters) -> None:
        """Compute everything below the row nodes: the values of all cells."""
        layout = self.layout
        self.arrays["weights"] = self.device.upload(parameters.weights)
        self.arrays["log_densities"] = self.device.upload(
            self.batch.encoded.leaves.logs(parameters)
        )
        self._launch(
            "logarithms", layout.slots, np.int64(layout.slots), "weights", "log_weights"
        )  # fmt: skip
        leaves = len(layout.leaves.entries)
        self._launch(
            "leaves", leaves, np.int32(leaves), "log_densities", "leaf_sources", "leaf_reference",
            "values",
        )  # fmt: skip
        for launch in self.batch.cell_launches:
            first, last = self._entries(launch)
            bounds = np.int64(first), np.int64(last)
            if not launch.alone:
                self._launch_on(
                    (1,), "cell_steps", np.int32(launch.first), np.int32(launch.last), "steps",
                    "owners", "places", "starts", "first_slots", "child_places", "child_maps",
                    "maps", "log_weights", "values", threads=LONE_BLOCK,
                )  # fmt: skip
            elif layout.step_is_sum[launch.first]:
                self._launch(
                    "cell_sums", last - first, *bounds, "owners", "places", "starts",
                    "first_slots", "child_places", "log_weights", "values",
                )  # fmt: skip
            else:
                self._launch(
                    "cell_products", last - first, *bounds, "owners", "places", "starts",
                    "child_places", "child_maps", "maps", "values",
                )  # fmt: skip

    def _entries(self, launch: Launch) -> tuple[int, int]:
        """Return the first entry of a launch of cells, and the end of the last."""
        offsets, steps = self.layout.offsets, self.layout.steps
        return int(offsets[steps[launch.first]]), int(offsets[steps[launch.last]])

    def _nodes(self, launch: Launch) -> tuple[int, int]:
        """Return the first node of a launch of row nodes, and the end of the last."""
        return int(self.layout.steps[launch.first]), int(self.layout.steps[launch.last])

    def rows_forward(self, row: int, count: int) -> None:
        """Compute the values of all row nodes for a chunk of rows."""
        rows, first_row = np.int32(count), np.int64(row)
        for launch in row_launches(self.layout, count, self.batch.limits):
            first, last = self._nodes(launch)
            nodes = np.int32(first), np.int32(last)
            if not launch.alone:
                self._launch_on(
                    _slices(count), "row_steps", np.int32(launch.first), np.int32(launch.last),
                    rows, first_row, "steps", "places", "starts", "first_slots", "child_places",
                    "child_maps", "maps", "log_weights", "values",
                )  # fmt: skip
            elif self.layout.step_is_sum[launch.first]:
                self._launch_on(
                    _plane(last - first, count), "row_sums", *nodes, rows, "places", "starts",
                    "first_slots", "child_places", "log_weights", "values",
                )  # fmt: skip
            else:
                self._launch_on(
                    _plane(last - first, count), "row_products", *nodes, rows, first_row, "places",
                    "starts", "child_places", "child_maps", "maps", "values",
                )  # fmt: skip
        self._launch(
            "root_values", count, rows, first_row, np.int64(self.root), "values", "found"
        )  # fmt: skip

    def log_likelihoods(self) -> Floats:
        """Return the log-likelihoods of all rows."""
        found = self.device.download(self.arrays["found"]).astype(np.float64)
        return found + self.layout.reference

    # -- flows ---------------------------------------------------------------------------------

    def rows_backward(self, chunk: int, row: int, count: int) -> None:
        """Compute the flows of row nodes, of the edges between them, and into the cells below."""
        layout, rows, first_row = self.layout, np.int32(count), np.int64(row)
        self._launch(
            "root_flows", count, rows, first_row, np.int64(self.root), "row_weights", "values",
            "flows",
        )  # fmt: skip
        gathering = (
            "places", "parent_starts", "parent_places", "parent_slots", "inverse_starts",
            "inverse_orders", "list_starts", "lists", "log_weights", "values", "flows",
        )  # fmt: skip
        for launch in flow_launches(layout, count, self.batch.limits):
            if launch.alone:
                first, last = self._nodes(launch)
                self._launch_on(
                    _plane(last - first, count), "row_flows", np.int32(first), np.int32(last), rows,
                    *gathering,
                )  # fmt: skip
            else:
                self._launch_on(
                    _slices(count), "row_flow_steps", np.int32(launch.first), np.int32(launch.last),
                    rows, "steps", *gathering,
                )  # fmt: skip
        feeds = layout.feeds
        fed = int(feeds.firsts[-1])
        self._launch(
            "feed", fed, np.int64(fed), np.int64(chunk * feeds.list_starts),
            np.int64(layout.rows), first_row, "feed_owners", "feed_firsts", "gate_places",
            "feed_maps", "feed_lists", "feed_list_starts", "feed_orders", "flows", "fed",
        )  # fmt: skip
        slots = layout.row_slots
        self._launch(
            "edge_flows", slots * LANES, np.int64(slots), rows, "row_slots", "slot_sums",
            "slot_children", "log_weights", "values", "flows", "lanes",
        )  # fmt: skip

    def cells_backward(self) -> None:
        """Compute the flows of all cells, and the expected counts of all edges."""
        gathering = (
            "owners", "places", "feed_starts", "feed_firsts", "feed_dealt", "dealt", "fed",
            "parent_starts", "parent_places", "parent_slots", "inverse_starts", "inverse_orders",
            "list_starts", "lists", "log_weights", "values", "flows",
        )  # fmt: skip
        for launch in reversed(self.batch.cell_launches):
            first, last = self._entries(launch)
            if launch.alone:
                bounds = np.int64(first), np.int64(last)
                self._launch("cell_flows", last - first, *bounds, *gathering)
            else:
                self._launch_on(
                    (1,), "cell_flow_steps", np.int32(launch.first), np.int32(launch.last), "steps",
                    *gathering, threads=LONE_BLOCK,
                )  # fmt: skip
        leaves = len(self.layout.leaves.entries)
        self._launch("cell_flows", leaves, np.int64(0), np.int64(leaves), *gathering)
        in_rows = self.layout.row_slots
        in_cells = self.layout.slots - in_rows
        self._launch(
            "cell_edge_flows", in_cells * LANES, np.int64(in_cells), "cell_slots", "slot_sums",
            "slot_children", "slot_sizes", "log_weights", "values", "flows", "totals",
        )  # fmt: skip
        self._launch("lane_totals", in_rows, np.int32(in_rows), "row_slots", "lanes", "totals")

    def edge_counts(self) -> Floats:
        """Return the expected counts of all weight slots."""
        return np.asarray(self.device.download(self.arrays["totals"]), dtype=np.float64)

    def leaf_flows(self) -> Floats:
        """Return the flows of all leaf entries."""
        leaves = len(self.layout.leaves.entries)
        return self.device.download(self.arrays["flows"][:leaves]).astype(np.float64)


def _slices(rows: int) -> tuple[int, ...]:
    return (-(-rows // SLICE),)


def _plane(nodes: int, rows: int) -> tuple[int, ...]:
    return (-(-rows // BLOCK), min(nodes, MOST_BLOCKS))
