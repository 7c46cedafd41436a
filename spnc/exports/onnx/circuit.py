"""The sums and products of a program as ONNX expressions, in the log domain.

Nodes of one segment with about as many children are computed together: one array of indices gathers
their children, `[child, node, row]`, and one reduction adds them. Sums take the maximum out first,
so that nothing leaves the range of doubles, whatever the rows are. Nodes with fewer children than
others of their group have children that add nothing. Groups are as wide as the next power of two,
so at most half of the gathered entries add nothing.
"""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.exports.onnx.densities import leaf_values
from spnc.exports.onnx.expressions import Expressions, Tensor
from spnc.program.program import Parameters, Program, Segment


class _Values:
    """Where the values of nodes are: rows of several arrays `[node, row]`."""

    def __init__(self, made: Expressions, nodes: int) -> None:
        self.made = made
        self.arrays: list[Tensor] = []
        self.sizes: list[int] = []
        self.array = np.full(nodes, -1, dtype=np.int64)
        self.row = np.zeros(nodes, dtype=np.int64)

    def add(self, nodes: Ints, values: Tensor) -> None:
        """Keep the values of some nodes."""
        self.array[nodes] = len(self.arrays)
        self.row[nodes] = np.arange(len(nodes))
        self.arrays.append(values)
        self.sizes.append(len(nodes))

    def gather(self, nodes: Ints, nothing: Tensor | None = None) -> Tensor:
        """Return the values of an array of nodes, `[…, row]`; -1 stands for `nothing`, `[1, row]`.

        Only the rows that are needed are copied together, if they are in several arrays.
        """
        needed = np.unique(nodes[nodes >= 0])
        used: list[int] = np.unique(self.array[needed]).tolist()
        if len(used) == 1 and nothing is None:
            return self.arrays[used[0]].take(self.row[nodes])
        parts: list[Tensor] = []
        place = np.full(len(self.array), -1, dtype=np.int64)
        start = 0
        for which in used:
            own = needed[self.array[needed] == which]
            rows = self.row[own]
            whole = len(rows) == self.sizes[which] and bool((rows == np.arange(len(rows))).all())
            parts.append(self.arrays[which] if whole else self.arrays[which].take(rows))
            place[own] = start + np.arange(len(own))
            start += len(own)
        if nothing is not None:
            parts.append(nothing)
        return self.made.joined(parts).take(np.where(nodes < 0, start, place[nodes]))


def node_values(
    made: Expressions, program: Program, parameters: Parameters, cells: Tensor
) -> Tensor:
    """Return the log value of the root for every row, given `cells[column, row]`."""
    values = _Values(made, program.nodes)
    for table, rows in zip(program.leaves, parameters.tables, strict=True):
        nodes = np.arange(table.first, table.last)
        values.add(nodes, leaf_values(made, table, rows, cells))
    nothing: Tensor | None = None
    with np.errstate(divide="ignore"):
        log_weights = np.log(parameters.weights)
    for segment in program.segments:
        for nodes, edges in _groups(segment):
            children = np.where(edges < 0, -1, segment.children[edges])
            if segment.is_sum:
                weights = np.where(edges < 0, -np.inf, log_weights[segment.slots][edges])
                children = np.where(edges < 0, children[:1], children)  # any, of weight zero
                values.add(nodes, _sums(values.gather(children), weights))
                continue
            if nothing is None and bool((edges < 0).any()):
                nothing = made.zeros_like(cells.take([0]))
            needs = nothing if bool((edges < 0).any()) else None
            values.add(nodes, values.gather(children, needs).sum(0))
    return values.gather(np.array([program.root])).reshaped(-1)


def _groups(segment: Segment) -> list[tuple[Ints, Ints]]:
    """Return nodes of a segment with about as many children, and their edges, `[child, node]`.

    Edges are numbered within the segment; -1 fills up.
    """
    starts, counts = segment.starts[:-1], np.diff(segment.starts)
    widths = 2 ** np.ceil(np.log2(counts)).astype(np.int64)
    found = []
    for width in np.unique(widths).tolist():
        own = np.flatnonzero(widths == width)
        child = np.arange(counts[own].max())[:, None]
        edges = np.where(child < counts[own], starts[own] + child, -1)
        found.append((segment.first + own, edges))
    return found


def _sums(children: Tensor, log_weights: Floats) -> Tensor:
    """Return log Σ weight · exp(child) over the first dimension of `children[child, node, row]`."""
    terms = children + log_weights[:, :, None]
    if len(log_weights) == 1:
        return terms.reshaped(log_weights.shape[1], -1)
    top = terms.max(0)
    shift = (top == -np.inf).where(0.0, top)
    return (terms - shift).exp().sum(0).log() + shift
