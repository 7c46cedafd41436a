"""The circuits that every system is given.

`tree` is one ExtraSPN; `forest` is several under one sum, with links between them, so that inner
nodes are shared. Both are deterministic. spnc simplifies them first, so that no system is timed on
nested sums that could be one sum. `benchmarks.common.mixed_table` has a tree over columns of
several kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.common.flat_circuit import Flat, flattened
from benchmarks.common.linking import link
from spnc import checks
from spnc.common.rng import random_stream
from spnc.compilation import lower_graph
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.load import is_available, load
from spnc.data.options import DataOptions
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum, grow
from spnc.graph.forest import Forest
from spnc.graph.nodes import Graph
from spnc.learners.extra_spn import ExtraSpn
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters, Program
from spnc.spec.recipe import Component

FALLBACK = "digits"
# Keeps every p strictly between 0 and 1; otherwise some peers divide by zero.
SMOOTHING = Smoothing.of(0.1)
_BETA = 0.6
NOISE = 0.5  # of log weights, log odds, and means in standard deviations


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
    return jittered_circuit(graph, source.seed)


def jittered_circuit(graph: Graph, seed: int) -> Flat:
    """Return the circuit of a graph, simplified and with noisy parameters."""
    program, parameters = lowered(graph)
    return flattened(program, jittered(program, parameters, random_stream(seed, "jitter")))


def jittered(program: Program, parameters: Parameters, rng: np.random.Generator) -> Parameters:
    """Return noisy parameters, as in the middle of training, where no two branches are alike.

    Random splits of the rows leave branches that are nearly equal. EM hardly changes those, so it
    would not show whether two systems do the same.
    """
    weights = parameters.weights  # normalised when the circuit is flattened
    weights = weights * np.exp(rng.normal(0.0, NOISE, size=weights.shape))
    tables = []
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        noise = rng.normal(0.0, NOISE, size=table.shape)
        match leaf.distribution:
            case "bernoulli":
                odds = table / (1.0 - table) * np.exp(noise)
                tables.append(odds / (1.0 + odds))
            case "categorical":
                parts = table * np.exp(noise)
                tables.append(parts / parts.sum(axis=1, keepdims=True))
            case "gaussian":
                sd = table[:, 1]
                noisy = [table[:, 0] + sd * noise[:, 0], sd * np.exp(noise[:, 1])]
                tables.append(np.stack(noisy, axis=1))
            case other:
                raise ValueError(f"the speed benchmark has no noise for {other} leaves")
    return Parameters(weights, tuple(tables))


def lowered(graph: Graph) -> tuple[Program, Parameters]:
    """Check a graph, and return its program and parameters."""
    sink = Sink()
    checks.check(graph, sink)
    sink.stop()
    return lower_graph(graph)
