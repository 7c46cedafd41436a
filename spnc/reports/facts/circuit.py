"""The structure of a circuit: layers, scopes, the parts below its root and the nodes they share.

A model does not record which component of the forest a node came from: a component whose root is
a sum was merged into the root of the model, and equal nodes became one. Two things can be derived:
the *branches*, which are the children of the root if it is a sum, and the *components*, if sharing
shows which branches belong together. Leaves without parameters, such as indicators, are equal
wherever they occur. They say nothing about sharing and are not counted as shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.program.inspection import inspect_program
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score
from spnc.queries.flows import edge_flows
from spnc.reports.facts.sharing import Sharing, members, sharing


@dataclass(frozen=True)
class Part:
    """A part below the root: a component of the forest, or a branch of the root."""

    branches: int  # children of the root that belong to the part
    weight: float  # of these branches in the model
    share: float | None  # of the flow of the training rows
    own_nodes: int  # that no other part uses
    shared_nodes: int  # that another part uses too


@dataclass(frozen=True, eq=False)
class CircuitFacts:
    """The structure. Parts are ordered by their share, or by weight if there are no rows."""

    layers: list[dict[str, int]]
    scopes: list[dict[str, int]]
    components: int | None  # of the recipe's forest
    draws_links: bool | None  # whether the recipe has a strategy for residual links
    pruned: bool  # whether edges were dropped
    top: str  # kind of the root: sum, product or leaf
    are_components: bool  # otherwise the parts are branches
    parts: list[Part]
    sharing: Sharing | None  # None if there are no parts
    rows: int = 0  # from which the flow was computed
    all_rows: int = 0


def circuit_facts(
    program: Program,
    parameters: Parameters,
    counts: Counts | None = None,
    components: int | None = None,
    draws_links: bool | None = None,
    pruned: bool = False,
) -> CircuitFacts:
    """Return the structure; `counts` are the expected counts of the training rows.

    If links were drawn or edges dropped, an equal number of branches and components is a
    coincidence, and the parts are called branches.
    """
    found = inspect_program(program)
    top, branches, weights, flows = _top(program, parameters, counts)
    known: dict[str, Any] = {
        "layers": found["layers"],
        "scopes": found["scopes"],
        "components": components,
        "draws_links": draws_links,
        "pruned": pruned,
        "top": top,
    }
    if not len(branches):
        return CircuitFacts(**known, are_components=False, parts=[], sharing=None)
    reached = _reached(program, branches)
    are_components = False
    part_of = np.arange(len(branches))
    if components is not None and not draws_links and not pruned:
        groups = _groups(reached[_leaf_count(program) :], len(branches))
        if len(branches) == components:
            are_components = True
        elif len(np.unique(groups)) == components:
            are_components, part_of = True, groups
    part_of = _by_size(part_of, weights if flows is None else flows)
    total = 0.0 if flows is None else float(flows.sum())
    shared = sharing(
        _as_parts(reached, part_of),
        edge_flows(program, counts or _nothing(program)),
        _learned(program),
        _leaf_count(program),
        int(part_of.max()) + 1,
        total * len(program.columns),
    )
    shares = None if flows is None else np.bincount(part_of, weights=flows) / total
    parts = [
        Part(int(often), float(weight), None if shares is None else float(shares[p]), own, other)
        for p, (often, weight, own, other) in enumerate(
            zip(
                np.bincount(part_of),
                np.bincount(part_of, weights=weights),
                shared.own.tolist(),
                shared.shared.tolist(),
                strict=True,
            )
        )
    ]
    return CircuitFacts(**known, are_components=are_components, parts=parts, sharing=shared)


def _top(
    program: Program, parameters: Parameters, counts: Counts | None
) -> tuple[str, Ints, Floats, Floats | None]:
    """Return the kind of the root and, if it is a sum, its children, their weights and flows."""
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
    """Return the counts of no rows."""
    return Counts(np.zeros(program.slots), (), Score())


def _leaf_count(program: Program) -> int:
    return program.leaves[-1].last if program.leaves else 0


def _learned(program: Program) -> NDArray[np.bool_]:
    """Return which nodes are not leaves without parameters."""
    found = np.ones(program.nodes, dtype=np.bool_)
    for table in program.leaves:
        if table.kind.free_parameters(table.width) == 0:
            found[table.first : table.last] = False
    return found


def _reached(program: Program, branches: Ints) -> list[int]:
    """Return the branches from which each node can be reached, as bit sets."""
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


def _groups(inner: list[int], branches: int) -> Ints:
    """Return the group of each branch; branches that share inner nodes are in one group."""
    group = list(range(branches))

    def find(i: int) -> int:
        while group[i] != i:
            group[i] = i = group[group[i]]
        return i

    for mask in set(inner):
        first, *others = members(mask).tolist() or [0]
        for other in others:
            group[find(other)] = find(first)
    return np.array([find(i) for i in range(branches)])


def _by_size(part_of: Ints, sizes: Floats) -> Ints:
    """Renumber the parts by size, the largest first."""
    names, part_of = np.unique(part_of, return_inverse=True)
    total = np.bincount(part_of, weights=sizes)
    place = np.empty(len(names), dtype=np.int64)
    place[np.argsort(-total, kind="stable")] = np.arange(len(names))
    found: Ints = place[part_of]
    return found


def _as_parts(reached: list[int], part_of: Ints) -> list[int]:
    """Return bit sets of branches as bit sets of parts."""
    parts = part_of.tolist()
    known: dict[int, int] = {}
    for mask in set(reached):
        found = 0
        for bit in members(mask).tolist():
            found |= 1 << parts[bit]
        known[mask] = found
    return [known[mask] for mask in reached]
