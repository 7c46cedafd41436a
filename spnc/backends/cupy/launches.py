"""Which launches a pass consists of.

A launch costs some microseconds, whatever it does, and nothing in a circuit of three hundred thin
steps takes as long. So runs of thin steps become one launch: cells by a single block of threads
that goes through the steps together; row nodes by blocks that each take a slice of rows through all
of them. With many rows that is best for wide steps as well, which else are a launch each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.cupy.layout import Layout
from spnc.common.arrays import Ints


class Limits(NamedTuple):
    """What is wide."""

    cells: int = 8_000  # read by the entries of a step of cells: from there on it is a launch
    rows: int = 32_768  # entries of a step of row nodes, for the same,
    many_rows: int = 8_192  # unless so many rows keep a device busy by themselves


DEFAULT_LIMITS = Limits()


class Launch(NamedTuple):
    """Steps first … last-1 in one launch; `alone`: one step, by the kernel of its kind."""

    first: int
    last: int
    alone: bool


def cell_launches(layout: Layout, limits: Limits = DEFAULT_LIMITS) -> list[Launch]:
    """The steps of cells, from the leaves' on."""
    return _joined(1, (cell_work(layout)[1:] >= limits.cells).tolist())


def cell_work(layout: Layout) -> Ints:
    """Of every step of cells: what its entries read, on the way up or down, whichever is more."""
    steps, cells = layout.steps[: layout.cell_steps + 1], layout.cells
    children, parents, feeds = layout.children, layout.parents, layout.feeds
    up = np.repeat(layout.sizes, np.diff(children.starts[: cells + 1]))
    down = np.repeat(layout.sizes, np.diff(parents.starts[: cells + 1]))
    through = np.flatnonzero(parents.maps[: len(down)] >= 0)
    down[through] += layout.sizes[parents.nodes[through]]  # by lists, each entry in one of them
    fed = np.diff(feeds.firsts)
    above = _by_step(down, parents.starts[steps]) + _by_step(fed, feeds.starts[steps])
    found: Ints = np.maximum(_by_step(up, children.starts[steps]), above)
    return found


def row_launches(layout: Layout, rows: int, limits: Limits = DEFAULT_LIMITS) -> list[Launch]:
    """The steps of row nodes, for a chunk of so many rows."""
    nodes = np.diff(layout.steps[layout.cell_steps :])
    wide = (nodes * rows >= limits.rows) & (rows < limits.many_rows)
    return _joined(layout.cell_steps, wide.tolist())


def flow_launches(layout: Layout, rows: int, limits: Limits = DEFAULT_LIMITS) -> list[Launch]:
    """The same from the root down, without the root: it has no parents to gather from."""
    root = len(layout.steps) - 2
    found = [Launch(a, min(b, root), alone) for a, b, alone in row_launches(layout, rows, limits)]
    return [launch for launch in reversed(found) if launch.first < launch.last]


def _by_step(work: Ints, bounds: Ints) -> Ints:
    return np.diff(np.concatenate([[0], np.cumsum(work)])[bounds])


def _joined(first: int, alone: list[bool]) -> list[Launch]:
    found: list[Launch] = []
    for step, own in enumerate(alone, first):
        if not own and found and not found[-1].alone:
            found[-1] = Launch(found[-1].first, step + 1, False)
        else:
            found.append(Launch(step, step + 1, own))
    return found
