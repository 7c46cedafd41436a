"""The circuits that every system is given, and their file format.

`tree` is one ExtraSPN; `forest` is several under one sum, with links between them, so that inner
nodes are shared. Both are deterministic. spnc simplifies them first, so that no system is timed on
nested sums that could be one sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.linking import link
from spnc import checks
from spnc.common.rng import random_stream
from spnc.data.columns import Column
from spnc.data.dataset import Dataset, Table
from spnc.data.load import is_available, load
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum, grow
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Graph
from spnc.learners.extra_spn import ExtraSpn
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.smoothing import Smoothing
from spnc.pipeline import lower_graph
from spnc.program.program import Parameters, Program
from spnc.spec.recipe import Component

LEAF, SUM, PRODUCT = 0, 1, 2
FALLBACK = "digits"
# Keeps every p strictly between 0 and 1; otherwise some peers divide by zero.
SMOOTHING = Smoothing.of(0.1)
_BETA = 0.6


@dataclass(frozen=True, eq=False)
class Flat:
    """A circuit of Bernoulli leaves as arrays: children before parents, the root named.

    The children of node i are children[starts[i]:starts[i+1]], their weights are at the same places
    (1 below products); `column` and `p` belong to leaves (-1 and 0.5 elsewhere).
    """

    kind: NDArray[np.int8]
    starts: NDArray[np.int64]
    children: NDArray[np.int64]
    weights: NDArray[np.float64]
    column: NDArray[np.int64]
    p: NDArray[np.float64]
    root: int

    @property
    def edges(self) -> int:
        """Return the number of edges."""
        return len(self.children)

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


@dataclass(frozen=True)
class Source:
    """How a dataset's circuits are learned: smallest slice to split, seed, number of trees."""

    min_instances: int
    seed: int
    components: int


# Found by trial: trees of 890, 5,404 and 7,019 edges on the three public datasets, as SPNs learned
# from them usually have, and forests with two to four times as many.
SOURCES = {
    "nltcs": Source(80, 3, 4),
    "plants": Source(100, 2, 2),
    "baudio": Source(200, 3, 3),
    FALLBACK: Source(100, 0, 2),
}


def data_of(name: str) -> Dataset | None:
    """Return the dataset, or None if it would have to be downloaded and cannot be."""
    scheme = "builtin" if name == FALLBACK else "debd"
    options = DataOptions(source=f"{scheme}:{name}")
    sink = Sink()
    found = load(options, sink)
    if found is None and is_available(options):
        sink.stop()  # it is on this machine but broken: report it
    return found


def made(name: str, columns: int, rows: int, seed: int = 0) -> Dataset:
    """Draw binary rows from a mixture of eight products of Bernoullis."""
    rng = random_stream(seed, name)
    p = rng.beta(0.4, 0.4, size=(8, columns))
    values = (rng.random((rows, columns)) < p[rng.integers(8, size=rows)]).astype(np.float64)
    return Dataset(name, tuple(Column(f"x{i}") for i in range(columns)), {"train": Table(values)})


def grown(dataset: Dataset, count: int, min_instances: int, seed: int) -> Forest:
    """Learn `count` components without links."""
    sink = Sink()
    learner = ExtraSpn(beta=_BETA, min_instances=min_instances)
    component = Component(learner=learner, count=count)
    forest = grow([component], dataset, smoothing=SMOOTHING, seed=seed, sink=sink)
    sink.stop()
    return forest


def tree(dataset: Dataset, min_instances: int, seed: int) -> Graph:
    """Learn one tree."""
    forest = grown(dataset, 1, min_instances, seed)
    forest.builder.graph.graph["root"] = forest.roots[0]
    return forest.builder.graph


def linked(dataset: Dataset, min_instances: int, seed: int, components: int) -> Graph:
    """Learn several trees under one sum, with links that add half as many edges again."""
    forest = grown(dataset, components, min_instances, seed)
    goal = int(1.5 * forest.builder.graph.number_of_edges())
    return add_top_sum(link(forest, goal, random_stream(seed, "links")))


def circuit(dataset: Dataset, kind: str, source: Source) -> Flat:
    """Return the circuit of a dataset that every system gets, `tree` or `forest`."""
    graph = (
        tree(dataset, source.min_instances, source.seed)
        if kind == "tree"
        else linked(dataset, source.min_instances, source.seed, source.components)
    )
    program, parameters = lowered(graph)
    return flattened(program, jittered(parameters, random_stream(source.seed, "jitter")))


def jittered(parameters: Parameters, rng: np.random.Generator) -> Parameters:
    """Return noisy parameters, as in the middle of training, where no two branches are alike.

    Random splits of the rows leave branches that are nearly equal. EM hardly changes those, so it
    would not show whether two systems do the same.
    """
    weights = parameters.weights  # normalised when the circuit is flattened
    weights = weights * np.exp(rng.normal(0.0, 0.5, size=weights.shape))
    tables = []
    for table in parameters.tables:
        odds = table / (1.0 - table) * np.exp(rng.normal(0.0, 0.5, size=table.shape))
        tables.append(odds / (1.0 + odds))
    return Parameters(weights, tuple(tables))


def lowered(graph: Graph) -> tuple[Program, Parameters]:
    """Check a graph, and return its program and parameters."""
    sink = Sink()
    checks.check(graph, sink)
    sink.stop()
    return lower_graph(graph)


def flattened(program: Program, parameters: Parameters) -> Flat:
    """Return the arrays of a program whose leaves are all Bernoulli."""
    if any(table.distribution != "bernoulli" for table in program.leaves):
        raise ValueError("the speed benchmark supports circuits with Bernoulli leaves only")
    nodes = program.nodes
    kind = np.zeros(nodes, dtype=np.int8)
    column = np.full(nodes, -1, dtype=np.int64)
    p = np.full(nodes, 0.5)
    sizes = np.zeros(nodes, dtype=np.int64)
    children: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    for table, values in zip(program.leaves, parameters.tables, strict=True):
        column[table.first : table.last] = table.variables
        p[table.first : table.last] = values[:, 0]
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
    starts = np.concatenate([[0], np.cumsum(sizes)])
    empty = np.zeros(0)
    return Flat(
        kind,
        starts,
        np.concatenate([empty.astype(np.int64), *children]),
        np.concatenate([empty, *weights]),
        column,
        p,
        program.root,
    )


def graph_of(flat: Flat, columns: int) -> Graph:
    """Return the graph of a flat circuit, which spnc starts from."""
    builder = Builder([Column(f"x{i}") for i in range(columns)])
    for i, kind in enumerate(flat.kind.tolist()):
        own = slice(int(flat.starts[i]), int(flat.starts[i + 1]))
        below = flat.children[own].tolist()
        if kind == LEAF:
            builder.leaf(int(flat.column[i]), Bernoulli(float(flat.p[i])))
        elif kind == SUM:
            builder.sum(below, flat.weights[own].tolist())
        else:
            builder.product(below)
    builder.graph.graph["root"] = flat.root
    return builder.graph
