"""The passes before training over `CircuitArrays`, with the same result as over a graph.

Each returns None where only the pass over a graph knows what to do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Ints
from spnc.common.equal_lists import number_sets
from spnc.graph.circuit_arrays import CircuitArrays
from spnc.graph.node_arrays import PRODUCT, SUM


def run_on_arrays(circuit: CircuitArrays) -> CircuitArrays | None:
    """Return a valid circuit after all passes before training, or None."""
    found: CircuitArrays | None = circuit
    for apply in (prune, share_products, single_child, merge_sums, merge_products):
        found = apply(found) if found is not None else None
    return found


def prune(circuit: CircuitArrays) -> CircuitArrays | None:
    """Return the circuit if it has no edges of weight zero."""
    return None if (circuit.weights == 0.0).any() else circuit


def share_products(circuit: CircuitArrays) -> CircuitArrays | None:
    """Return the circuit if no two products have the same children."""
    shared = circuit.parents.counts > 1
    products = np.flatnonzero(circuit.kinds == PRODUCT)
    below = circuit.children.take(products)
    if len(products):
        products = products[np.logical_and.reduceat(shared[below.members], below.starts[:-1])]
    if len(number_sets(circuit.children.take(products)).firsts) < len(products):
        return None
    return circuit


def single_child(circuit: CircuitArrays) -> CircuitArrays | None:
    """Remove the root while it has a single child, if other nodes have several."""
    counts = circuit.children.counts
    kept = np.ones(circuit.nodes, dtype=np.bool_)
    root = circuit.root
    while counts[root] == 1:
        kept[root] = False
        root = int(circuit.children.members[circuit.children.starts[root]])
    if (counts[kept] == 1).any():
        return None
    if kept.all():
        return circuit
    left = kept[circuit.owners]
    return replace(circuit, root=root).with_edges(
        circuit.owners[left],
        circuit.children.members[left],
        circuit.weights[left],
        circuit.ranks[left],
        kept,
    )


def merge_sums(circuit: CircuitArrays) -> CircuitArrays:
    """Merge nested sums: Σ wᵢ (Σ vⱼ cⱼ) becomes Σ wᵢ vⱼ cⱼ."""
    outer = _with_nested(circuit, SUM)
    if not len(outer):
        return circuit
    is_sum, above = circuit.kinds == SUM, circuit.parents.counts
    starts, members = circuit.children.starts, circuit.children.members

    def weights_of(n: int) -> dict[int, float]:
        own = slice(starts[n], starts[n + 1])
        return dict(zip(members[own].tolist(), circuit.weights[own].tolist(), strict=True))

    merged: dict[int, dict[int, float]] = {}
    gone: list[int] = []
    lost: dict[int, int] = {}  # how many of a node's parents have been merged away
    for n in outer.tolist():
        weights = weights_of(n)
        waiting = list(weights)
        while waiting:
            child = waiting.pop()
            if child not in weights or not is_sum[child]:
                continue  # merged already, or not to be merged
            if above[child] - lost.get(child, 0) > 1:
                continue
            share = weights.pop(child)
            inner = merged.pop(child, None)
            for grandchild, weight in (weights_of(child) if inner is None else inner).items():
                if grandchild in weights:
                    lost[grandchild] = lost.get(grandchild, 0) + 1
                    waiting.append(grandchild)  # these two may have been its only parents
                weights[grandchild] = weights.get(grandchild, 0.0) + share * weight
            gone.append(child)
        merged[n] = weights
    rows = np.array(list(merged), dtype=np.int64)
    counts = np.array([len(own) for own in merged.values()], dtype=np.int64)
    below = np.array([child for own in merged.values() for child in own], dtype=np.int64)
    shares = np.array([w for own in merged.values() for w in own.values()], dtype=np.float64)
    return _rewritten(circuit, rows, counts, below, shares, gone)


def merge_products(circuit: CircuitArrays) -> CircuitArrays:
    """Merge nested products into one."""
    outer = _with_nested(circuit, PRODUCT)
    if not len(outer):
        return circuit
    lone = (circuit.kinds == PRODUCT) & (circuit.parents.counts == 1)
    starts, members = circuit.children.starts, circuit.children.members
    merged: dict[int, Ints] = {}
    gone: list[int] = []
    for n in outer.tolist():
        own = members[starts[n] : starts[n + 1]]
        nested = lone[own]
        inner = own[nested].tolist()
        added = [
            merged.pop(child) if child in merged else members[starts[child] : starts[child + 1]]
            for child in inner
        ]
        merged[n] = np.concatenate([own[~nested], *added])
        gone += inner
    counts = np.array([len(own) for own in merged.values()], dtype=np.int64)
    below = np.concatenate(list(merged.values()))
    rows = np.array(list(merged), dtype=np.int64)
    return _rewritten(circuit, rows, counts, below, np.full(len(below), np.nan), gone)


def _with_nested(circuit: CircuitArrays, kind: int) -> Ints:
    """Return the nodes with a child that can be merged into them, children first."""
    is_kind = circuit.kinds == kind
    lone = np.flatnonzero(is_kind & (circuit.parents.counts == 1))
    above = circuit.parents.at(lone)
    found = np.zeros(circuit.nodes, dtype=np.bool_)
    found[above[is_kind[above]]] = True
    order = np.concatenate(circuit.generations)
    return order[found[order]]


def _rewritten(
    circuit: CircuitArrays,
    rows: Ints,
    counts: Ints,
    below: Ints,
    weights: NDArray[np.float64],
    gone: list[int],
) -> CircuitArrays:
    """Give the nodes `rows` other children, and remove the nodes that are `gone`.

    As in a graph, an edge that was there before keeps its place among the parents of its child,
    and a new one comes last.
    """
    kept = np.ones(circuit.nodes, dtype=np.bool_)
    kept[gone] = False
    changed = ~kept
    changed[rows] = True
    left = ~changed[circuit.owners]
    owners = np.repeat(rows, counts)
    old = np.flatnonzero(changed[circuit.owners])
    ranks = _known(
        circuit.owners[old] * circuit.nodes + circuit.children.members[old],
        circuit.ranks[old],
        owners * circuit.nodes + below,
        int(circuit.ranks.max()) + 1 + np.arange(len(below)),
    )
    return circuit.with_edges(
        np.concatenate([circuit.owners[left], owners]),
        np.concatenate([circuit.children.members[left], below]),
        np.concatenate([circuit.weights[left], weights]),
        np.concatenate([circuit.ranks[left], ranks]),
        kept,
    )


def _known(keys: Ints, values: Ints, wanted: Ints, otherwise: Ints) -> Ints:
    """Return the value of each wanted key, or another number where there is none."""
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], otherwise)
