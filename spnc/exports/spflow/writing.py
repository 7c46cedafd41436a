"""Objects of SPFlow from a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any

import numpy as np

from spnc.data.columns import Column
from spnc.diagnostics import Sink, listed
from spnc.exports.spflow import VERSION
from spnc.graph.nodes import Graph, Leaf, Sum, children_first, find_root, payloads


def to_spflow(graph: Graph, sink: Sink) -> Any:
    """Return the root of SPFlow's objects for a checked graph; None after reporting an error."""
    node, columns = payloads(graph), graph.graph["columns"]
    missing: dict[str, list[str]] = {}
    for payload in node.values():
        if isinstance(payload, Leaf) and payload.distribution.plugin_name not in _WRITERS:
            names = missing.setdefault(payload.distribution.plugin_name, [])
            names += [columns[payload.variable].name]
    for kind, names in sorted(missing.items()):
        sink.error(
            "E864",
            f"SPFlow {VERSION} has no leaf like `{kind}`",
            notes=[f"over {listed(sorted(set(names)))}"],
            help=f"leaves that both have: {', '.join(sorted(_WRITERS))}",
        )
    try:
        base = import_module("spn.structure.Base")
        makers = {
            "parametric": import_module("spn.structure.leaves.parametric.Parametric"),
            "histogram": import_module("spn.structure.leaves.histogram.Histograms"),
            "types": import_module("spn.structure.StatisticalTypes"),
        }
    except ImportError as error:
        sink.error(
            "E863",
            f"SPFlow {VERSION} is needed to make its objects: {error}",
            help=f"pip install --no-deps spflow=={VERSION}",
        )
        return None
    if sink.failed:
        return None
    made: dict[Hashable, Any] = {}
    scope: dict[Hashable, frozenset[int]] = {}
    for n in children_first(graph):
        payload = node[n]
        if isinstance(payload, Leaf):
            write = _WRITERS[payload.distribution.plugin_name]
            made[n] = write(payload, columns[payload.variable], makers)
            scope[n] = frozenset([payload.variable])
            continue
        below = graph.succ[n]
        inner = [made[c] for c in below]
        if isinstance(payload, Sum):
            made[n] = base.Sum(weights=[d["weight"] for d in below.values()], children=inner)
        else:
            made[n] = base.Product(children=inner)
        scope[n] = frozenset().union(*(scope[c] for c in below))
        made[n].scope = sorted(scope[n])
    root = made[find_root(graph)]
    base.assign_ids(root)
    return root


_Write = Callable[[Leaf, Column, dict[str, Any]], Any]


def _parametric(name: str, *parameters: str) -> _Write:
    """Return how a leaf becomes one of SPFlow's with these parameters, in our order."""

    def write(leaf: Leaf, column: Column, makers: dict[str, Any]) -> Any:
        del column
        values = dict(zip(parameters, leaf.distribution.row, strict=True))
        return getattr(makers["parametric"], name)(**values, scope=leaf.variable)

    return write


def _write_states(leaf: Leaf, column: Column, makers: dict[str, Any]) -> Any:
    own: Any = leaf.distribution
    chances = own.probabilities(np.array([own.row]), column.states)[0].tolist()
    if column.kind == "binary":
        return makers["parametric"].Bernoulli(p=chances[1], scope=leaf.variable)
    return makers["parametric"].Categorical(p=chances, scope=leaf.variable)


def _write_histogram(leaf: Leaf, column: Column, makers: dict[str, Any]) -> Any:
    row = np.array(leaf.distribution.row)
    edges, chances = row[0::2], row[1::2]
    kinds = makers["types"].MetaType
    densities = (chances / np.diff(edges)).tolist()
    discrete = column.kind == "count"
    # SPFlow's bins of whole numbers begin at their least number, ours half a number before it.
    breaks = (edges + 0.5 if discrete else edges).tolist()
    middles = (0.5 * (edges[1:] + edges[:-1])).tolist()
    kind = kinds.DISCRETE if discrete else kinds.REAL
    return makers["histogram"].Histogram(
        breaks, densities, middles, scope=leaf.variable, meta_type=kind
    )


_WRITERS: dict[str, _Write] = {
    "bernoulli": _write_states,
    "categorical": _write_states,
    "indicator": _write_states,
    "gaussian": _parametric("Gaussian", "mean", "stdev"),
    "log-normal": _parametric("LogNormal", "mean", "stdev"),
    "gamma": _parametric("Gamma", "alpha", "beta"),
    "exponential": _parametric("Exponential", "l"),
    "poisson": _parametric("Poisson", "mean"),
    "histogram": _write_histogram,
}

CONVERTED = tuple(sorted(_WRITERS))  # the leaves that both have
