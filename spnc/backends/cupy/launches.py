"""Which steps of a layout are launched together.

A launch costs some microseconds, which is more than a thin step takes to compute. So consecutive
thin steps become one launch: for cells, a single block of threads goes through the steps together;
for row nodes, each block takes a slice of rows through all steps. With many rows the latter is best
for wide steps as well; otherwise each wide step is a launch of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.backends.cupy.layout import Layout
from spnc.common.arrays import Ints


class Limits(NamedTuple):
    """From which size on a step counts as wide."""

    cells: int = 8_000  # numbers read by a step of cells
    rows: int = 32_768  # entries of a step of row nodes
    many_rows: int = 8_192  # rows that keep a device busy: no step of row nodes is wide then


DEFAULT_LIMITS = Limits()


class Launch(NamedTuple):
    """Steps first … last-1 in one launch; `alone`: a wide step, by the kernel of its kind."""

    first: int
    last: int
    alone: bool


def cell_launches(layout: Layout, limits: Limits = DEFAULT_LIMITS) -> list[Launch]:
    """Return the launches for the steps of cells above the leaves."""
    return _joined(1, (cell_work(layout)[1:] >= limits.cells).tolist())


def cell_work(layout: Layout) -> Ints:
    """Return how much every step of cells reads, upwards or downwards, whichever is more."""
    steps, cells = layout.steps[: layout.cell_steps + 1], layout.cells
    children, parents, feeds = layout.children, layout.parents, layout.feeds
    up = np.repeat(layout.sizes, np.diff(children.starts[: cells + 1]))
    down = np.repeat(layout.sizes, np.diff(parents.starts[: cells + 1]))
    through = np.flatnonzero(parents.maps[: len(down)] >= 0)
    down[through] += layout.sizes[parents.nodes[through]]  # through lists that have each entry once
    fed = np.diff(feeds.firsts)
    above = _by_step(down, parents.starts[steps]) + _by_step(fed, feeds.starts[steps])
    found: Ints = np.maximum(_by_step(up, children.starts[steps]), above)
    return found


def row_launches(layout: Layout, rows: int, limits: Limits = DEFAULT_LIMITS) -> list[Launch]:
    """Return the launches for the steps of row nodes, for a chunk of this many rows."""
    nodes = np.diff(layout.steps[layout.cell_steps :])
    wide = (nodes * rows >= limits.rows) & (rows < limits.many_rows)
    return _joined(layout.cell_steps, wide.tolist())


def flow_launches(layout: Layout, rows: int, limits: Limits = DEFAULT_LIMITS) -> list[Launch]:
    """Return `row_launches` in reverse, without the root, which has no parents."""
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
