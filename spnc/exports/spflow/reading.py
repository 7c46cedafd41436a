"""A graph from objects of SPFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from spnc.common.wording import visible
from spnc.data.columns import Column, ColumnKind
from spnc.diagnostics import Sink, counted, listed
from spnc.graph.assemble import as_number
from spnc.graph.nodes import Graph, Leaf, Product, Sum
from spnc.leaves import Distribution
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.exponential import Exponential
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.histogram import Histogram
from spnc.leaves.log_normal import LogNormal
from spnc.leaves.poisson import Poisson

_AREA_TOLERANCE = 1e-6  # how far the area of a histogram of SPFlow may be from one
_MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class _Read:
    """A leaf of SPFlow in our terms: its distribution, and the column that it needs."""

    distribution: Distribution
    kind: ColumnKind
    states: int = 0


def read_spflow(
    root: Any, sink: Sink, columns: Sequence[str | Column] | None = None
) -> Graph | None:
    """Return the graph of SPFlow's objects; None after reporting everything that is wrong."""
    problems: list[str] = []
    nodes = _reachable(root)
    number = {id(n): i for i, n in enumerate(nodes)}
    graph: Graph = nx.DiGraph(root=0, name="spflow")
    leaves: dict[int, tuple[int, _Read]] = {}  # the column of each leaf, and the leaf
    for i, n in enumerate(nodes):
        kind = type(n).__name__
        if kind not in ("Sum", "Product"):
            found = _leaf(n, problems)
            if found is not None:
                leaves[i] = found
            continue
        graph.add_node(i, node=Sum() if kind == "Sum" else Product())
        below = [number[id(c)] for c in n.children]
        if kind == "Sum":
            _connect_sum(graph, i, below, list(n.weights), problems, _called(n))
            continue
        for child in below:
            if graph.has_edge(i, child):
                problems.append(f"{_called(nodes[child])} is twice a child of {_called(n)}")
            graph.add_edge(i, child)
    own = _columns(leaves.values(), columns, problems)
    for i, (variable, leaf) in leaves.items():
        graph.add_node(i, node=Leaf(variable, _fitting(leaf, own[variable])))
    for problem in problems[:_MOST_PROBLEMS]:
        sink.error("E865", f"this circuit of SPFlow cannot be read: {problem}")
    if len(problems) > _MOST_PROBLEMS:
        rest = counted(len(problems) - _MOST_PROBLEMS, "more problem")
        sink.error("E865", f"this circuit of SPFlow cannot be read: {rest} of this kind")
    graph.graph["columns"] = tuple(own)
    return None if problems else graph


def _connect_sum(
    graph: Graph, i: int, below: list[int], given: list[Any], problems: list[str], called: str
) -> None:
    """Add the edges of a sum. SPFlow lets it have a child twice; then the weights add up."""
    weights = [w for w in map(as_number, given) if w is not None]
    if len(given) != len(below):
        weighted = f"{counted(len(below), 'child', 'children')} and {counted(len(given), 'weight')}"
        problems.append(f"{called} has {weighted}")
    elif len(weights) < len(given):
        problems.append(f"{called} has weights that are no numbers: {listed(given)}")
    else:
        for child, weight in zip(below, weights, strict=True):
            before = graph.edges[i, child]["weight"] if graph.has_edge(i, child) else 0.0
            graph.add_edge(i, child, weight=before + weight)


def _reachable(root: Any) -> list[Any]:
    """Return all objects below a root, each once, breadth first."""
    found, seen = [root], {id(root)}
    for n in found:
        for child in getattr(n, "children", ()):
            if id(child) not in seen:
                seen.add(id(child))
                found.append(child)
    return found


def _called(n: Any) -> str:
    return f"`{visible(str(getattr(n, 'name', type(n).__name__)))}`"


def _leaf(n: Any, problems: list[str]) -> tuple[int, _Read] | None:
    """Return the column of a leaf of SPFlow, and the leaf; None after listing what is wrong."""
    kind = type(n).__name__
    scope = list(getattr(n, "scope", ()))
    if kind not in _READERS:
        problems.append(f"{_called(n)} is not a leaf that spnc has: {', '.join(_READERS)}")
    elif len(scope) != 1 or int(scope[0]) < 0:
        problems.append(f"{_called(n)} is over {counted(len(scope), 'variable')}, not over one")
    else:
        try:
            return int(scope[0]), _READERS[kind](n)
        except (TypeError, AttributeError):
            problems.append(f"{_called(n)} has parameters that are no numbers: {_given(n)}")
        except ValueError as error:
            problems.append(f"{_called(n)} {error}")
    return None


def _given(n: Any) -> str:
    hidden = ("id", "scope", "type", "_type", "children")
    return listed([f"{k} = {v}" for k, v in vars(n).items() if k not in hidden])


def _read_histogram(n: Any) -> _Read:
    breaks, densities = np.array(n.breaks, dtype=float), np.array(n.densities, dtype=float)
    if len(breaks) != len(densities) + 1:
        raise ValueError(f"has {len(breaks)} breaks and {len(densities)} densities")
    chances = densities * np.diff(breaks)
    if not abs(chances.sum() - 1.0) <= _AREA_TOLERANCE:
        # SPFlow's smoothing of histograms does not keep their area, unless all bins have width 1.
        raise ValueError(f"has an area of {chances.sum():.6g}, not 1, so it is no distribution")
    chances /= chances.sum()
    if getattr(n.meta_type, "name", str(n.meta_type)) == "REAL":
        return _Read(Histogram.from_row(Histogram.row_of(breaks, chances)), "real")
    if (breaks != np.floor(breaks)).any() or breaks[0] < 0.0:
        raise ValueError("has bins of whole numbers whose breaks are not whole numbers from 0")
    return _Read(Histogram.from_row(Histogram.row_of(breaks - 0.5, chances)), "count")


def _read_categorical(n: Any) -> _Read:
    chances = tuple(float(x) for x in n.p)
    return _Read(Categorical(chances), "categorical", len(chances))


_READERS: dict[str, Callable[[Any], _Read]] = {
    "Bernoulli": lambda n: _Read(Bernoulli(float(n.p)), "binary", 2),
    "Categorical": _read_categorical,
    "Gaussian": lambda n: _Read(Gaussian(float(n.mean), float(n.stdev)), "real"),
    "LogNormal": lambda n: _Read(LogNormal(float(n.mean), float(n.stdev)), "real"),
    "Gamma": lambda n: _Read(Gamma(float(n.alpha), float(n.beta)), "real"),
    "Exponential": lambda n: _Read(Exponential(float(n.l)), "real"),
    "Poisson": lambda n: _Read(Poisson(float(n.mean)), "count"),
    "Histogram": _read_histogram,
}


def _columns(
    leaves: Iterable[tuple[int, _Read]],
    given: Sequence[str | Column] | None,
    problems: list[str],
) -> list[Column]:
    """Return the columns: as given, or of the kinds that their leaves need."""
    kinds: dict[int, set[tuple[ColumnKind, int]]] = {}
    for variable, found in leaves:
        kinds.setdefault(variable, set()).add((found.kind, found.states))
    count = max(kinds, default=-1) + 1
    if given is not None and len(given) < count:
        problems.append(f"its scopes have {count} variables, `columns` has {len(given)}")
        given = None
    made = []
    for i in range(count if given is None else len(given)):
        column = f"x{i}" if given is None else given[i]
        needed = kinds.get(i, {("binary", 2)})
        if needed == {("binary", 2), ("categorical", 2)}:
            needed = {("binary", 2)}
        if isinstance(column, Column):
            made.append(column)
            continue
        if len(needed) > 1:
            texts = sorted(str(Column("", kind, states)) for kind, states in needed)
            problems.append(f"the leaves over variable {i} need {' and '.join(texts)} columns")
        kind, states = min(needed)
        made.append(Column(str(column), kind, states))
    return made


def _fitting(found: _Read, column: Column) -> Distribution:
    """Return a leaf's distribution as its column has it: of two states, Bernoulli if binary."""
    own = found.distribution
    if column.kind == "binary" and isinstance(own, Categorical) and found.states == 2:
        return Bernoulli(own.p[1])
    if column.kind == "categorical" and column.states == 2 and isinstance(own, Bernoulli):
        return Categorical((1.0 - own.p, own.p))
    if column.is_finite and isinstance(own, Histogram):
        return _as_categorical(own, column)
    return own


def _as_categorical(own: Histogram, column: Column) -> Distribution:
    """Return a histogram of single whole numbers as probabilities of the codes of a column."""
    edges, chances = own.numbers[0::2], own.numbers[1::2]
    codes = [edge + 0.5 for edge in edges]
    single = all(b - a == 1.0 for a, b in pairwise(codes)) and codes[0] % 1.0 == 0.0
    if not single or codes[-1] > column.states:
        return own  # the checks report that it does not go with the column
    p = [0.0] * column.states
    for code, chance in zip(codes[:-1], chances, strict=True):
        p[int(code)] = chance
    if column.kind == "binary":
        return Bernoulli(p[1])
    return Categorical(tuple(p))
