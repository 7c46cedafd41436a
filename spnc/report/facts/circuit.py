"""What a circuit is made of: layers, scopes, the parts below its top sum and what these share.

A model file does not keep which component of the forest a node came from: a component whose root
is a sum was merged into the sum on top, and equal nodes became one. What can be derived is told:
the *branches* of the top sum and, where sharing shows which of them belong together, the
components. Leaves that nothing is learned about, such as indicators, are equal wherever they
stand: that parts have them in common says nothing, and they are left out of what is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.inspection import inspect_program
from spnc.program import Floats, Ints, Parameters, Program
from spnc.queries.flows import edge_flows
from spnc.score import Counts, Score


@dataclass(frozen=True)
class Part:
    """A part below the top sum: a component of the forest, or a branch of that sum."""

    branches: int  # children of the top sum that it consists of
    weight: float  # of these, as the model file has it
    share: float | None  # of the flow of the training rows
    own_nodes: int  # that no other part uses
    shared_nodes: int  # that another part uses too


@dataclass(frozen=True, eq=False)
class Circuit:
    """The structure. Parts are ordered by their share, or by weight where there are no rows.

    `links[i, j]` is the number of edges by which part i enters what part j also uses. By these,
    `linked[i, j]` of all cells of the training rows are explained (NaN without rows): the flow
    along each edge times the columns below it, over rows times columns.
    """

    layers: list[dict[str, int]]
    scopes: list[dict[str, int]]
    components: int | None  # of the recipe's forest
    draws_links: bool | None  # whether the recipe has a strategy for residual links
    top: str  # the kind of the topmost node: sum, product or leaf
    are_components: bool  # else the parts are branches
    parts: list[Part]
    links: Ints
    linked: Floats
    rows: int = 0  # that the flow was counted over
    all_rows: int = 0


@dataclass(frozen=True, eq=False)
class _Top:
    """The topmost sum: its children, their weights and the flow to each."""

    branches: Ints
    weights: Floats
    flows: Floats | None


def circuit_facts(
    program: Program,
    parameters: Parameters,
    counts: Counts | None = None,
    components: int | None = None,
    draws_links: bool | None = None,
) -> Circuit:
    """The structure; `counts` are the expected counts of the training rows."""
    found = inspect_program(program)
    top, branches, weights, flows = _top(program, parameters, counts)
    known: dict[str, Any] = {
        "layers": found["layers"],
        "scopes": found["scopes"],
        "components": components,
        "draws_links": draws_links,
        "top": top,
    }
    if not len(branches):
        none = np.zeros((0, 0))
        return Circuit(
            **known, are_components=False, parts=[], links=none.astype(np.int64), linked=none
        )
    reached = _reached(program, branches)
    groups = _groups(reached[_leaf_count(program) :], len(branches))
    are_components = False
    part_of = list(range(len(branches)))
    if components is not None and not draws_links:
        if len(branches) == components:
            are_components = True
        elif len(set(groups)) == components:
            are_components, part_of = True, groups
    part_of = _by_size(part_of, weights if flows is None else flows)
    top_sum = _Top(branches, weights, flows)
    return _divided(program, counts, known, are_components, part_of, reached, top_sum)


def _divided(
    program: Program,
    counts: Counts | None,
    known: dict[str, Any],
    are_components: bool,
    part_of: list[int],
    reached: list[int],
    top: _Top,
) -> Circuit:
    """The facts of a circuit whose branches belong to these parts."""
    branches, weights, flows = top.branches, top.weights, top.flows
    number = max(part_of) + 1
    users_of = np.array(_as_parts(reached, part_of), dtype=object)
    users = np.array([mask.bit_count() for mask in users_of.tolist()])
    counted = _learned(program)
    own, shared = np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
    for mask, often in zip(*np.unique(users_of[counted], return_counts=True), strict=True):
        members = _bits(mask)
        (own if len(members) == 1 else shared)[members] += often
    total = None if flows is None else flows.sum()
    parts = [
        Part(
            branches=part_of.count(p),
            weight=float(weights[np.array(part_of) == p].sum()),
            share=None if flows is None else float(flows[np.array(part_of) == p].sum() / total),
            own_nodes=int(own[p]),
            shared_nodes=int(shared[p]),
        )
        for p in range(number)
    ]
    links, linked = np.zeros((number, number), dtype=np.int64), np.zeros((number, number))
    parents, children, through = edge_flows(program, counts or _nothing(program))
    widths = program.scopes()
    owner = {int(c): part_of[k] for k, c in enumerate(branches.tolist())}
    alone = (users[parents] == 1) | (parents == program.root)
    crossing = alone & (users[children] > 1) & counted[children]
    for parent, child, flow in zip(
        parents[crossing].tolist(), children[crossing].tolist(), through[crossing], strict=True
    ):
        i = owner[child] if parent == program.root else _bits(users_of[parent])[0]
        others = [j for j in _bits(users_of[child]) if j != i]
        links[i, others] += 1
        linked[i, others] += flow * widths[child].bit_count()
    cells = (total or 0.0) * len(program.columns)
    linked = linked / cells if cells else np.full_like(linked, np.nan)
    return Circuit(**known, are_components=are_components, parts=parts, links=links, linked=linked)


def _top(
    program: Program, parameters: Parameters, counts: Counts | None
) -> tuple[str, Ints, Floats, Floats | None]:
    """The kind of the root and, of a sum, its children, their weights and their flows."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0), None
    for segment in program.segments:
        if segment.first <= program.root < segment.last:
            if not segment.is_sum:
                return "product", *nothing
            i = program.root - segment.first
            own = slice(int(segment.starts[i]), int(segment.starts[i + 1]))
            weights = parameters.weights[segment.slots][own]
            flows = None
            if counts is not None and counts.score.possible > 0.0:
                flows = counts.weights[segment.slots][own]
            return "sum", segment.children[own], weights, flows
    return "leaf", *nothing


def _nothing(program: Program) -> Counts:
    """The counts of no rows."""
    return Counts(np.zeros(program.slots), (), Score())


def _leaf_count(program: Program) -> int:
    return program.leaves[-1].last if program.leaves else 0


def _learned(program: Program) -> NDArray[np.bool_]:
    """Which nodes are not fixed leaves."""
    found = np.ones(program.nodes, dtype=np.bool_)
    for table in program.leaves:
        if table.kind.free_parameters(table.states) == 0:
            found[table.first : table.last] = False
    return found


def _reached(program: Program, branches: Ints) -> list[int]:
    """From which branches each node can be reached, as bit sets."""
    reached = [0] * program.nodes
    for bit, child in enumerate(branches.tolist()):
        reached[child] |= 1 << bit
    for segment in reversed(program.segments):
        children, starts = segment.children.tolist(), segment.starts.tolist()
        for i, n in enumerate(range(segment.first, segment.last)):
            mask = reached[n]
            if mask:
                for child in children[starts[i] : starts[i + 1]]:
                    reached[child] |= mask
    return reached


def _groups(inner: list[int], branches: int) -> list[int]:
    """Branches that have inner nodes in common are of one group; the group of each branch."""
    group = list(range(branches))

    def find(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    for mask in set(inner):
        members = _bits(mask)
        for other in members[1:]:
            group[find(other)] = find(members[0])
    return [find(i) for i in range(branches)]


def _by_size(part_of: list[int], sizes: Floats) -> list[int]:
    """The parts numbered anew: the one with most flow is 0."""
    total: dict[int, float] = {}
    for part, size in zip(part_of, sizes.tolist(), strict=True):
        total[part] = total.get(part, 0.0) + size
    order = sorted(total, key=lambda part: (-total[part], part))
    place = {part: i for i, part in enumerate(order)}
    return [place[part] for part in part_of]


def _as_parts(reached: list[int], part_of: list[int]) -> list[int]:
    """Bit sets of branches as bit sets of parts."""
    known: dict[int, int] = {}
    for mask in set(reached):
        found = 0
        for bit in _bits(mask):
            found |= 1 << part_of[bit]
        known[mask] = found
    return [known[mask] for mask in reached]


def _bits(mask: int) -> list[int]:
    """The members of a bit set."""
    return [i for i, bit in enumerate(reversed(bin(mask)[2:])) if bit == "1"]
