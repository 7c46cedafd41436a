"""Nodes in the words of the table: what drawings write at sums, products, leaves and edges."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from spnc.common.column_sets import ColumnSet
from spnc.data.cells import exact_text, number_text
from spnc.data.columns import Column
from spnc.diagnostics import counted, listed
from spnc.graph.nodes import Graph, Leaf, Sum, children_first
from spnc.graph.scopes import column_names, scopes
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite

STATES_SHOWN = 3  # of a leaf over many states, the most probable ones
_NAMES = {"gaussian": "normal"}  # the field's word, where it is not ours
_PLAIN = 1e6  # from here on, numbers are written with an exponent


class Labels:
    """The texts at the nodes and edges of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.columns: tuple[Column, ...] = graph.graph["columns"]
        self._scopes: dict[Hashable, ColumnSet] | None = None

    def of(self, name: Hashable) -> str:
        """Return the text at a node: `+`, `×`, or a leaf's column and distribution."""
        node = self.graph.nodes[name]["node"]
        if isinstance(node, Leaf):
            return leaf_text(self.columns[node.variable], node.distribution)
        return "+" if isinstance(node, Sum) else "×"

    def title(self, name: Hashable) -> str:
        """Return what is known about a node: its kind, its name, and its columns or numbers."""
        node = self.graph.nodes[name]["node"]
        called = f"`{name}`" if isinstance(name, str) else f"#{name}"
        if isinstance(node, Leaf):
            column, leaf = self.columns[node.variable], node.distribution
            numbers = ", ".join(f"{x:.6g}" for x in leaf.row[:20])
            more = ", …" if len(leaf.row) > 20 else ""
            return f"leaf {called}: {column.name} ~ {leaf.plugin_name}({numbers}{more})"
        return f"{type(node).__name__.lower()} {called} over {self.scope(name)}"

    def scope(self, name: Hashable) -> str:
        """Return the columns of a node: how many, and the names of the first."""
        if self._scopes is None:
            self._scopes = scopes(self.graph, children_first(self.graph))
        own = column_names(self._scopes[name], self.columns)
        return f"{counted(len(own), 'column')}: {listed(own, 6)}"


def short(value: float, digits: int = 3) -> str:
    """Return a number with few digits, and separators of thousands: 0.0123, 4,200, 1.2e+07."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < _PLAIN):
        return f"{value:.{digits}g}"
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    places = digits if not value else digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{value:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def leaf_text(column: Column, leaf: Distribution) -> str:
    """Return a leaf in words: `species: Adelie 0.44, Gentoo 0.36`, `mass ~ normal(4,200, 800) g`.

    Of leaves over finitely many states, the most probable states are shown.
    """
    if leaf.is_finite:
        return _states_text(column, leaf)
    unit = f" {column.unit}" if column.unit and column.kind != "date" else ""
    name, row = leaf.plugin_name, leaf.row
    if name == "point":
        return f"{column.name} = {_value(column, row[0])}{unit}"
    if name == "uniform":
        return f"{column.name} in {_value(column, row[0])} to {_value(column, row[1])}{unit}"
    if name == "histogram":
        return f"{column.name}: {_bins_text(column, row)}{unit}"
    if name in ("gaussian", "student-t"):
        numbers = [_value(column, row[0]), *map(short, row[1:])]
        if column.kind == "date":
            numbers[1] += f" {column.unit}"
    else:
        numbers = [short(x) for x in row[:6]] + (["…"] if len(row) > 6 else [])
    return f"{column.name} ~ {_NAMES.get(name, name)}({', '.join(numbers)}){unit}"


def _states_text(column: Column, leaf: Distribution) -> str:
    table = np.array([leaf.row], dtype=np.float64)
    chances = as_finite(type(leaf)).probabilities(table, column.states)[0]
    order = np.argsort(-chances, kind="stable").tolist()
    if chances[order[0]] == 1.0:
        return f"{column.name} = {exact_text(column, float(order[0]))}"
    if column.kind == "binary":  # one of the two says everything
        order = [1]
    possible = [code for code in order if chances[code] > 0.0 or column.kind == "binary"]
    shown = possible[:STATES_SHOWN] if len(possible) > STATES_SHOWN + 1 else possible
    # Without words, a state and its probability are two numbers, which need something in between.
    to = " → " if column.labels is None or column.has_numbers else " "
    texts = [f"{exact_text(column, float(k))}{to}{short(float(chances[k]))}" for k in shown]
    more = ", …" if len(shown) < len(possible) else ""
    return f"{column.name}: {', '.join(texts)}{more}"


def _bins_text(column: Column, row: tuple[float, ...]) -> str:
    """Return the most probable bins of a histogram, in the order of their values."""
    edges, chances = row[0::2], np.array(row[1::2])
    best = sorted(np.argsort(-chances, kind="stable")[:STATES_SHOWN].tolist())
    texts = []
    for i in best:
        low, high = edges[i], edges[i + 1]
        if column.kind == "count":  # edges are half numbers between whole ones
            low, high = low + 0.5, high - 0.5
        ends = f"{_value(column, low)} to {_value(column, high)}"
        texts.append(f"{ends if low < high else _value(column, low)} → {short(float(chances[i]))}")
    return ", ".join(texts) + (", …" if len(chances) > len(best) else "")


def _value(column: Column, value: float) -> str:
    """Return a number of a column: a date, a rounded number with separators of thousands."""
    if column.kind == "date":
        return number_text(column, value)
    if column.scale is None or abs(value) >= _PLAIN:
        return short(value)
    text = number_text(column, value)
    try:
        places = len(text.partition(".")[2])
        return f"{float(text):,.{places}f}" if "e" not in text else text
    except ValueError:
        return text
