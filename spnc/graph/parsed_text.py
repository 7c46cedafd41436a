"""Reading circuit texts by the grammar: any circuit, with every problem reported."""

from __future__ import annotations

from typing import Any

import lark

from spnc.common.gc_pause import gc_paused
from spnc.data.column_types import plain_of_options
from spnc.data.columns import Label
from spnc.diagnostics import Sink, Source, Span
from spnc.graph.assemble import assemble
from spnc.graph.draft import Draft, DraftEdge, DraftNode, DraftVariable, Place
from spnc.graph.nodes import Graph
from spnc.language.grammar import span_of, unquoted
from spnc.language.parser import parse

_MOST_DIGITS = 300  # of a whole number; Python refuses to read those of some thousands


@gc_paused()
def read_parsed_text(source: Source, sink: Sink, stop: int | None = None) -> Graph | None:
    """Return the graph that a circuit text describes; None after a syntax error.

    With `stop`, only the text before this offset is read.
    """
    read = source if stop is None else Source(source.name, source.text[:stop])
    tree = parse(read, "circuit", sink)
    if tree is None:
        return None
    return assemble(_Reader(source, sink).draft(tree), sink)


class _Reader:
    """Turns a parse tree into a draft. Nested expressions become nodes `parent.1`, `parent.2`."""

    def __init__(self, source: Source, sink: Sink) -> None:
        self.source, self.sink = source, sink
        self.result = Draft(source.name)
        self.given: set[str] = set()

    def draft(self, tree: lark.Tree[Any]) -> Draft:
        self.given = {
            unquoted(str(item.children[0])) for item in tree.children if item.data == "node"
        }
        first: dict[str, lark.Tree[Any]] = {}
        for item in tree.children:
            self._report_repeated(item, first)
            if item.data == "title":
                self.result.name = unquoted(str(item.children[0]))
                self.result.place = self._at(item)
            elif item.data == "variables":
                for v in item.children:
                    self._variable(v)
            elif item.data == "root":
                self.result.root = unquoted(str(item.children[0]))
                self.result.root_place = self._at(item.children[0])
            else:
                name, expression = unquoted(str(item.children[0])), item.children[1]
                if first.setdefault(f"node {name}", item) is item:
                    self._expression(name, expression)
                else:  # `assemble` reports it; its parts are ignored
                    self.result.nodes.append(DraftNode(name, "product", self._at(expression)))
                    words = expression.scan_values(lambda part: isinstance(part, lark.Token))
                    self.result.mentioned |= {unquoted(str(word)) for word in words}
        return self.result

    def _report_repeated(self, item: lark.Tree[Any], first: dict[str, lark.Tree[Any]]) -> None:
        """Report a second title, block of variables or root."""
        kind = str(item.data)
        if kind != "node" and first.setdefault(kind, item) is not item:
            word = "circuit" if kind == "title" else kind
            self.sink.error(
                "E103",
                f"`{word}` is given twice",
                self._at(item)(),
                notes=[f"first given at {self._at(first[kind])()}"],
                help="keep one of them" if kind != "variables" else "declare all in one block",
            )

    def _at(self, item: lark.Token | lark.Tree[Any]) -> Place:
        span: Span = span_of(self.source, item)
        return lambda: span

    def _variable(self, item: lark.Tree[Any]) -> None:
        name, kind, *given = item.children
        options = [o.children for o in given if o is not None]
        words = [str(value) if key is None else f"{key} = {value}" for key, value in options]
        text = f"{kind}({', '.join(words)})" if options else str(kind)
        keys = [str(key) for key, _ in options if key is not None]
        twice = next((key for i, key in enumerate(keys) if key in keys[:i]), None)
        self.result.variables.append(
            DraftVariable(
                unquoted(str(name)),
                text,
                plain_of_options(
                    str(kind),
                    [_value(value) for key, value in options if key is None],
                    {str(key): _value(value) for key, value in options if key is not None},
                ),
                self._at(item),
                complaint=None if twice is None else f"`{twice}` is given twice",
            )
        )

    def _expression(self, name: str, item: lark.Tree[Any]) -> None:
        place = self._at(item)
        if item.data == "leaf":
            variable, distribution, *parameters = item.children
            given = [_parameter(p) for p in parameters if p is not None]
            named = {str(key): value for key, value in given if key is not None}
            complaint = None
            if named and len(given) > len(named):
                complaint = "several values are given without names; `p = …` stands alone"
            self.result.nodes.append(
                DraftNode(
                    name,
                    "leaf",
                    place,
                    variable=unquoted(str(variable)),
                    distribution=str(distribution),
                    parameters=named if named else [value for _, value in given],
                    complaint=complaint,
                )
            )
            return
        addends = [(weight, product) for weight, product in (a.children for a in item.children)]
        if len(addends) == 1 and addends[0][0] is None:
            self._product(name, addends[0][1])
            return
        self.result.nodes.append(DraftNode(name, "sum", place))
        for number, (weight, product) in enumerate(addends, start=1):
            child = self._child(name, number, product)
            value = None if weight is None else weight_of(*weight.children)
            self.result.edges.append(DraftEdge(name, child, value, self._at(product)))

    def _product(self, name: str, item: lark.Tree[Any]) -> None:
        factors = item.children
        if len(factors) == 1 and isinstance(factors[0], lark.Tree):
            self._expression(name, factors[0])  # only brackets around an expression
            return
        self.result.nodes.append(DraftNode(name, "product", self._at(item)))
        for number, factor in enumerate(factors, start=1):
            child = self._factor(name, number, factor)
            self.result.edges.append(DraftEdge(name, child, None, self._at(factor)))

    def _name(self, parent: str, number: int) -> str:
        """Return a name for a nested expression that no other node has."""
        name = f"{parent}.{number}"
        while name in self.given:
            name += "_"
        return name

    def _child(self, parent: str, number: int, product: lark.Tree[Any]) -> str:
        if len(product.children) == 1:
            return self._factor(parent, number, product.children[0])
        name = self._name(parent, number)
        self._product(name, product)
        return name

    def _factor(self, parent: str, number: int, item: lark.Token | lark.Tree[Any]) -> str:
        if isinstance(item, lark.Token):
            return unquoted(str(item))
        name = self._name(parent, number)
        self._expression(name, item)
        return name


def _value(token: Any) -> Label:
    """Return what an option of a type stands for: a whole number, a number, true, false, a text."""
    if token.type == "NUMBER":
        is_whole = token.lstrip("+-").isdecimal() and len(token) <= _MOST_DIGITS
        return int(token) if is_whole else float(token)
    if token.type == "NAME" and token in ("true", "false"):
        return bool(token == "true")
    return unquoted(str(token))


def _parameter(item: lark.Tree[Any]) -> tuple[str | None, float]:
    name, number = item.children
    return None if name is None else str(name), float(str(number))


def weight_of(top: str, bottom: str | None) -> float:
    """Return the weight that is written as a number, or as a number divided by another."""
    if not bottom:
        return float(top)
    return float(top) / float(bottom) if float(bottom) != 0.0 else float("inf")
