"""A circuit as plain arrays: what every system of the speed benchmark is given, as one file.

The workers of other libraries read the file by `benchmarks.peers.speed_protocol`, without spnc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.speed_protocol import LEAF, PRODUCT, SUM, Rows
from spnc.data.columns import Column, Scale
from spnc.graph.nodes import Builder, Graph
from spnc.program.program import Parameters, Program
from spnc.registry import LEAVES

# The leaf distributions that all workers know.
DISTRIBUTIONS = ("bernoulli", "categorical", "gaussian")


@dataclass(frozen=True, eq=False)
class Flat:
    """A circuit as arrays: children before parents, the root named.

    The children of node i are children[starts[i]:starts[i+1]], their weights are at the same places
    (1 below products). Leaves have a `column`, the name of a `distribution`, and the parameters
    parameters[parameter_starts[i]:parameter_starts[i+1]]: p of a Bernoulli leaf, the probabilities
    of a categorical one, mean and standard deviation of a Gaussian one. Other nodes have the column
    -1, an empty name and no parameters.
    """

    kind: NDArray[np.int8]
    starts: NDArray[np.int64]
    children: NDArray[np.int64]
    weights: NDArray[np.float64]
    column: NDArray[np.int64]
    distribution: NDArray[np.str_]
    parameter_starts: NDArray[np.int64]
    parameters: NDArray[np.float64]
    root: int

    @property
    def edges(self) -> int:
        """Return the number of edges."""
        return len(self.children)

    @property
    def distributions(self) -> list[str]:
        """Return the names of the leaf distributions in use, sorted."""
        return sorted({str(name) for name in self.distribution} - {""})

    def leaf_parameters(self, i: int) -> NDArray[np.float64]:
        """Return the parameters of leaf `i`."""
        return self.parameters[self.parameter_starts[i] : self.parameter_starts[i + 1]]

    def save(self, path: Path) -> None:
        """Write the file that workers read."""
        np.savez(path, **vars(self))

    @staticmethod
    def read(path: Path) -> Flat:
        """Return the circuit in such a file."""
        with np.load(path) as arrays:
            return Flat.of(dict(arrays.items()))

    @staticmethod
    def of(arrays: dict[str, NDArray[Any]]) -> Flat:
        """Return the circuit of arrays as they are in a file, where the root is an array, too."""
        values: dict[str, Any] = {**arrays, "root": int(arrays["root"])}
        return Flat(**values)


def flattened(program: Program, parameters: Parameters) -> Flat:
    """Return the arrays of a program; raise ValueError for leaves that not all workers know."""
    unknown = {table.distribution for table in program.leaves} - set(DISTRIBUTIONS)
    if unknown:
        raise ValueError(f"the speed benchmark has no {', '.join(sorted(unknown))} leaves")
    nodes = program.nodes
    kind = np.full(nodes, LEAF, dtype=np.int8)
    column = np.full(nodes, -1, dtype=np.int64)
    distribution = np.full(nodes, "", dtype=f"<U{max(map(len, DISTRIBUTIONS))}")
    widths = np.zeros(nodes, dtype=np.int64)
    sizes = np.zeros(nodes, dtype=np.int64)
    children: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    weights: list[NDArray[np.float64]] = [np.zeros(0)]
    for table in program.leaves:
        own = slice(table.first, table.last)
        column[own], distribution[own] = table.variables, table.distribution
        widths[own] = table.width
    for segment in program.segments:
        own = slice(segment.first, segment.last)
        kind[own] = SUM if segment.is_sum else PRODUCT
        sizes[own] = np.diff(segment.starts)
        children.append(segment.children)
        if segment.is_sum:
            parts = parameters.weights[segment.slots]
            totals = np.add.reduceat(parts, segment.starts[:-1])
            weights.append(parts / np.repeat(totals, np.diff(segment.starts)))
        else:
            weights.append(np.ones(len(segment.children)))
    return Flat(
        kind,
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate(children),
        np.concatenate(weights),
        column,
        distribution,
        np.concatenate([[0], np.cumsum(widths)]),
        # Leaves are numbered table by table.
        np.concatenate([values.reshape(-1) for values in parameters.tables]),
        program.root,
    )


def columns_of(flat: Flat, rows: Rows) -> list[Column]:
    """Return the columns of a circuit: their kinds by its leaves, their scales by these rows."""
    found = []
    for variable in range(rows.shape[1]):
        leaf = int(np.argmax(flat.column == variable))
        match str(flat.distribution[leaf]):
            case "gaussian":
                scale = scale_of_doubles(rows[:, variable])
                found.append(Column(f"x{variable}", "real", 0, scale=scale))
            case "categorical":
                states = len(flat.leaf_parameters(leaf))
                found.append(Column(f"x{variable}", "categorical", states))
            case _:
                found.append(Column(f"x{variable}"))
    return found


def scale_of_doubles(values: NDArray[np.float64]) -> Scale:
    """Return the scale of a real column that nobody has rounded.

    Its resolution is that of doubles, so no bound on the width of a leaf applies: other libraries
    have none.
    """
    low, high = float(values.min()), float(values.max())
    resolution = float(np.spacing(max(abs(low), abs(high))))
    mean, sd = float(values.mean()), float(values.std())
    return Scale(resolution=resolution, low=low, high=high, mean=mean, sd=sd)


def graph_of(flat: Flat, columns: Sequence[Column]) -> Graph:
    """Return the graph of a flat circuit, which spnc starts from."""
    builder = Builder(columns)
    for i, kind in enumerate(flat.kind.tolist()):
        own = slice(int(flat.starts[i]), int(flat.starts[i + 1]))
        below = flat.children[own].tolist()
        if kind == LEAF:
            leaf = LEAVES[str(flat.distribution[i])].from_row(flat.leaf_parameters(i))
            builder.leaf(int(flat.column[i]), leaf)
        elif kind == SUM:
            builder.sum(below, flat.weights[own].tolist())
        else:
            builder.product(below)
    builder.graph.graph["root"] = flat.root
    return builder.graph
