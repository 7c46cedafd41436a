"""From a draft, in whichever form it was written, to a graph.

Assembling reports errors in names, kinds and parameters. Whether the result is a valid circuit is
decided by the checks.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from spnc.common import limits
from spnc.data.column_types import column_of, hint
from spnc.data.columns import KINDS, Column
from spnc.diagnostics import InputError, Sink, counted, did_you_mean, nearest
from spnc.graph.draft import Draft, DraftNode, Place
from spnc.graph.nodes import Graph, Leaf, Node, Origin, Product, Sum
from spnc.leaves import Distribution
from spnc.leaves.restricted import PREFIX
from spnc.registry import LEAVES

_MOST_GUESSES = 20  # searches for a similar name: slow when there are many nodes


def assemble(draft: Draft, sink: Sink) -> Graph | None:
    """Return the graph of a draft; None if it has too many columns (E322).

    Parts with errors are reported and marked.

    Because of the marks, later checks do not report the same mistake again.
    `graph.graph["damaged"]` names nodes whose children or scope are unknown; `"settled"` names
    leaves whose distribution has been reported; `"mentioned"` names nodes that a broken edge
    seems to lead to, which are no additional roots although they have no parent.
    """
    try:
        limits.check_columns(len(draft.variables), "circuit", limits.MOST_DECLARED)
    except limits.LimitError as error:
        # Finding a place in JSON would take much more memory than is saved here.
        sink.error(limits.CODE, str(error), where=draft.name, help=error.help)
        return None
    settled: set[Hashable] = set()
    columns = _columns(draft, settled, sink)
    index = {c.name: i for i, c in enumerate(columns)}
    used = {n.variable for n in draft.nodes}
    unused = [name for name in index if name not in used]
    graph: Graph = nx.DiGraph(columns=tuple(columns), name=draft.name, place=draft.place)
    damaged: set[Hashable] = set()
    mentioned = set(draft.mentioned)
    defined: dict[Hashable, DraftNode] = {}
    for item in draft.nodes:
        if item.name in defined:
            first = defined[item.name].place()
            sink.error(
                "E215",
                f"node {_shown(item.name)} is defined twice",
                item.place(),
                notes=[f"first defined at {first}"] if first is not None else [],
                help="rename one of them",
            )
            damaged.add(item.name)
            continue
        defined[item.name] = item
        node = _node(item, index, unused, settled, sink)
        if node is None:
            damaged.add(item.name)
            settled.add(item.name)
            node = _placeholder(item)
        graph.add_node(item.name, node=node)
    _connect(draft, graph, defined, damaged, mentioned, sink)
    if draft.root is not None:
        if draft.root in defined:
            graph.graph["root"] = draft.root
        else:
            sink.error(
                "E214",
                f"the root {_shown(draft.root)} is not defined",
                draft.root_place(),
                help=_meant(draft.root, defined),
            )
            mentioned |= defined.keys()
    graph.graph |= {
        mark: names
        for mark, names in (("damaged", damaged), ("settled", settled), ("mentioned", mentioned))
        if names
    }
    return graph


def _connect(
    draft: Draft,
    graph: Graph,
    defined: Mapping[Hashable, DraftNode],
    damaged: set[Hashable],
    mentioned: set[Hashable],
    sink: Sink,
) -> None:
    by_text = {str(n): n for n in defined}
    guesses = _MOST_GUESSES
    for edge in draft.edges:
        ends = [("child", edge.child), ("parent", edge.parent)]
        unknown = [(end, n) for end, n in ends if n not in defined]
        for end, n in unknown:
            other = edge.parent if end == "child" else edge.child
            sink.error(
                "E214",
                f"node {_shown(n)}, a {end} of {_shown(other)}, is not defined",
                edge.place(),
                help=_meant(n, defined) if guesses else None,
            )
            near = nearest(str(n), by_text) if guesses else None
            guesses = max(0, guesses - 1)
            mentioned |= {by_text[near]} if near is not None else defined.keys()
        if unknown:
            damaged.add(edge.parent)
            mentioned.add(edge.child)
        elif graph.has_edge(edge.parent, edge.child):
            sink.error(
                "E210",
                f"node {_shown(edge.child)} is twice a child of {_shown(edge.parent)}",
                edge.place(),
                help="give it one edge, with the two weights added up"
                if defined[edge.parent].kind == "sum"
                else "remove one of the two",
            )
            damaged.add(edge.parent)
        elif edge.weight is None:
            graph.add_edge(edge.parent, edge.child)
        else:
            number = as_number(edge.weight)
            weight = edge.weight if number is None else number
            graph.add_edge(edge.parent, edge.child, weight=weight)


def _shown(name: Hashable) -> str:
    return f"`{name}`" if isinstance(name, str) else f"#{name}"


def _meant(name: Hashable, defined: Mapping[Hashable, DraftNode]) -> str:
    """Return a hint as to which node may have been meant."""
    same = next((n for n in defined if str(n) == str(name)), None)
    if same is not None:
        quoted = "in quotes" if isinstance(same, str) else "without quotes"
        return f"the node's id is written {quoted}; write it the same way here"
    near = nearest(str(name), [str(n) for n in defined])
    return f"did you mean `{near}`?" if near is not None else "define it, or remove it here"


def _columns(draft: Draft, settled: set[Hashable], sink: Sink) -> list[Column]:
    found: dict[str, Column] = {}
    places: dict[str, Place] = {}
    for variable in draft.variables:
        if variable.name in found:
            first = places[variable.name]()
            sink.error(
                "E216",
                f"variable `{variable.name}` is declared twice",
                variable.place(),
                notes=[f"first declared at {first}"] if first is not None else [],
                help="remove one of the two",
            )
            continue
        places[variable.name] = variable.place
        column, problems = column_of(variable.name, variable.plain)
        if column is None or variable.complaint is not None:
            notes = problems if variable.plain.get("kind", KINDS[0]) in KINDS else []
            sink.error(
                "E224",
                f"`{variable.type}` is not a type of variable",
                variable.place(),
                notes=[variable.complaint] if variable.complaint is not None else notes,
                help=hint(variable.plain),
            )
            settled |= {n.name for n in draft.nodes if n.variable == variable.name}
        found[variable.name] = column or Column(variable.name)
    return list(found.values())


def _node(
    item: DraftNode,
    index: Mapping[str, int],
    unused: Sequence[str],
    settled: set[Hashable],
    sink: Sink,
) -> Node | None:
    origin = Origin("", item.place)
    if item.kind == "sum":
        return Sum(item.rows, origin, item.tie)
    if item.kind == "product":
        return Product(item.rows, origin)
    if item.kind != "leaf":
        sink.error(
            "E218",
            f"node {_shown(item.name)} has no kind"
            if not item.kind
            else f"node {_shown(item.name)} has an unknown kind: `{item.kind}`",
            item.place(),
            help=did_you_mean(item.kind, ["sum", "product", "leaf"]),
        )
        return None
    variable = item.variable if item.variable is not None else ""
    if variable not in index:
        sink.error(
            "E208",
            f"leaf {_shown(item.name)} is over `{variable}`, which is not a variable"
            if variable
            else f"leaf {_shown(item.name)} is over no variable",
            item.place(),
            help=did_you_mean(variable, index) if index else "declare it in `variables`",
        )
        # If a similar variable has no leaf, it was probably meant; the checks continue with it.
        variable = nearest(variable, unused) or ""
    distribution = _distribution(item, sink)
    if variable not in index:
        return None
    if distribution is None:
        settled.add(item.name)
        distribution = LEAVES["bernoulli"](0.5)  # placeholder, so that the scope is known
    return Leaf(index[variable], distribution, item.rows, origin, item.tie)


def _placeholder(item: DraftNode) -> Node:
    """Return a node of the same kind in place of one with errors; the caller marks it damaged."""
    origin = Origin("", item.place)
    if item.kind == "leaf":
        return Leaf(-1, LEAVES["bernoulli"](0.5), origin=origin)
    return Product(origin=origin)


def _distribution(item: DraftNode, sink: Sink) -> Distribution | None:
    name = item.distribution or ""
    try:
        leaf = LEAVES.find(name)
    except InputError as error:  # an outside plug-in that cannot be used
        sink.diagnostics += [replace(d, span=item.place()) for d in error.diagnostics]
        return None
    if leaf is None:
        sink.error(
            "E221",
            f"leaf {_shown(item.name)}: no distribution is named `{name}`"
            if name
            else f"leaf {_shown(item.name)} has no distribution",
            item.place(),
            help=did_you_mean(name, _suggested(name)),
        )
        return None
    given = item.parameters
    if isinstance(given, Mapping):
        values = list(given.values())
        unknown = [key for key in given if key != "p"]
    else:
        values, unknown = list(given), []
    if len(values) == 1 and isinstance(values[0], list | tuple | np.ndarray):
        values = list(values[0])
    given_numbers = [n for n in map(_as_parameter, values) if n is not None]
    problem = item.complaint
    if problem is not None:
        pass
    elif unknown:
        problem = f"`{unknown[0]}` is not a parameter; {_form(leaf)}"
    elif not values:
        problem = f"it has none; {_form(leaf)}"
    elif len(given_numbers) < len(values):
        bad = next(v for v in values if _as_parameter(v) is None)
        problem = f"`{bad}` is not a number"
    elif leaf.arity is not None and len(given_numbers) != leaf.arity:
        problem = f"it takes {counted(leaf.arity, 'parameter')}, not {len(given_numbers)}"
    if problem is not None:
        sink.error(
            "E209",
            f"leaf {_shown(item.name)}: {name} has invalid parameters",
            item.place(),
            notes=[problem],
        )
        return None
    return leaf.from_row(np.array(given_numbers))  # type: ignore[no-any-return]


def _suggested(name: str) -> list[str]:
    """Return the distributions that may have been meant: restricted ones only if it begins so."""
    is_restricted = name.startswith(PREFIX[:-1])
    return [known for known in LEAVES if known.startswith(PREFIX) == is_restricted]


def _form(leaf: type[Distribution]) -> str:
    """Return in words how the parameters of a distribution are given."""
    if leaf.is_finite:
        return "it takes p"
    form = re.match(r"`(\w[\w-]*\([^`]*\))`", leaf.__doc__ or "")
    numbers = "numbers" if leaf.arity is None else counted(leaf.arity, "number")
    return f"it takes {numbers}: {form[1]}" if form else f"it takes {numbers}, without names"


def _as_parameter(value: Any) -> float | None:
    """Return a parameter as a float; JSON writes infinite ones as "inf" and "-inf"."""
    return float(value) if str(value) in ("inf", "-inf") else as_number(value)


def as_number(value: Any) -> float | None:
    """Return a value as a float, NumPy's numbers included; None if it is not a number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of more than 300 digits
        return math.inf
