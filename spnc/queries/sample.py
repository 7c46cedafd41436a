"""Ancestral sampling: from the root down, one child at each sum, one state at each leaf."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.program.program import Parameters, Program, Segment


def sample(program: Program, parameters: Parameters, rows: int, rng: np.random.Generator) -> Floats:
    """Draw independent rows from the model's distribution, `[row, column]`; no cell is missing.

    All rows go down together, segment by segment: a sum passes a row to one child with the
    probability of its weight, a product to all of its children, and a leaf draws the state of its
    column. Children of a product share no columns, so a row reaches a node at most once.
    Probabilities are exact to about 1e-11; what has probability zero is never drawn.
    """
    values = np.empty((rows, len(program.columns)))
    firsts = np.array([t.first for t in program.leaves] + [s.first for s in program.segments])
    # By leaf table and segment: the nodes that were reached, and the rows that reached them.
    waiting: list[list[tuple[Ints, Ints]]] = [[] for _ in firsts]

    def send(nodes: Ints, own: Ints) -> None:
        places = np.searchsorted(firsts, nodes, side="right") - 1
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(firsts) + 1))
        for place in np.unique(places).tolist():
            part = order[bounds[place] : bounds[place + 1]]
            waiting[place].append((nodes[part], own[part]))

    send(np.full(rows, program.root), np.arange(rows))
    for i in reversed(range(len(program.segments))):
        arrived = waiting[len(program.leaves) + i]
        if not arrived:
            continue
        nodes, own = (np.concatenate(part) for part in zip(*arrived, strict=True))
        segment = program.segments[i]
        places = nodes - segment.first
        if segment.is_sum:
            weights = parameters.weights[segment.slots]
            send(segment.children[_one_edge(segment, weights, places, rng)], own)
        else:
            send(*_all_children(segment, places, own))
    for arrived, leaf, table in zip(waiting, program.leaves, parameters.tables, strict=False):
        if arrived:
            nodes, own = (np.concatenate(part) for part in zip(*arrived, strict=True))
            places = nodes - leaf.first
            values[own, leaf.variables[places]] = leaf.kind.sample(
                table[places], leaf.columns.take(places), rng
            )
    return values


def _one_edge(segment: Segment, weights: Floats, sums: Ints, rng: np.random.Generator) -> Ints:
    """Draw an edge of each of these sums, by the weights."""
    ends = np.cumsum(weights)
    before = np.concatenate([[0.0], ends])
    low, high = before[segment.starts[sums]], before[segment.starts[sums + 1]]
    # Strictly below the end even after rounding, so that an edge with weight zero is never drawn.
    at = np.minimum(low + rng.random(len(sums)) * (high - low), np.nextafter(high, -np.inf))
    edges: Ints = np.searchsorted(ends, at, side="right")
    return edges


def _all_children(segment: Segment, products: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the children of each of these products, each with the row that goes there."""
    counts = np.diff(segment.starts)[products]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    children = segment.children[np.repeat(segment.starts[products], counts) + within]
    return children, np.repeat(rows, counts)
