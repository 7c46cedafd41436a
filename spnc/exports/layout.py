"""Places for the nodes of a layered drawing, from left to right (Sugiyama, Tagawa, Toda 1981).

Every node gets a layer, so that edges lead to the right; edges that pass layers get bends there.
The order within layers is chosen so that few edges cross. Positions follow from the order: each
node is drawn to the average of its neighbours, and neighbours within a layer keep their distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats

_ROUNDS = 12  # of ordering and of placing; more change nothing in circuits of 200 nodes
_BEND_HEIGHT = 0.4  # of a bend, in heights of a leaf: bends may lie closer
# Heights of a node that is no leaf: at least, for each of its edges, and at most.
_INNER_HEIGHT, _EDGE_HEIGHT, _MOST_HEIGHT = 1.4, 0.5, 4.0
_BEND_WEIGHT = 4.0  # how much straighter bends are pulled than nodes


@dataclass(frozen=True, slots=True)
class Layout:
    """Layers and heights of nodes, and the points (layer, height) that each edge passes."""

    layer: list[int]
    height: list[float]
    routes: list[list[tuple[int, float]]]


def layout(nodes: int, edges: Sequence[tuple[int, int]], at_end: Sequence[bool]) -> Layout:
    """Return places for nodes that are numbered parents first, the root first.

    `at_end` says which nodes, all without children, lie in the last layer: the leaves. Heights are
    in units of one leaf, from 0.
    """
    layer = [0] * nodes
    order = _parents_first(nodes, edges)
    down: list[list[int]] = [[] for _ in range(nodes)]
    for parent, child in edges:
        down[parent].append(child)
    for n in order:
        for child in down[n]:
            layer[child] = max(layer[child], layer[n] + 1)
    last = max(layer)
    layer = [last if end else k for k, end in zip(layer, at_end, strict=True)]

    above: list[list[int]] = [[] for _ in range(nodes)]  # neighbours in the layer before
    after: list[list[int]] = [[] for _ in range(nodes)]
    paths: list[list[int]] = []
    for parent, child in edges:
        path = [parent]
        for k in range(layer[parent] + 1, layer[child]):
            path.append(len(layer))
            layer.append(k)
            above.append([])
            after.append([])
        path.append(child)
        for a, b in pairwise(path):
            after[a].append(b)
            above[b].append(a)
        paths.append(path)

    layers = _ordered(_first_order(layer, after), above, after)
    sizes = np.full(len(layer), _BEND_HEIGHT)
    room = [_EDGE_HEIGHT * len(below) for below in down]
    sizes[:nodes] = np.where(at_end, 1.0, np.clip(room, _INNER_HEIGHT, _MOST_HEIGHT))
    height = _placed(layers, above, after, sizes, sizes < 1.0)
    height -= height[:nodes].min() if nodes else 0.0
    height -= min(0.0, float(height.min()))
    routes = [[(layer[n], float(height[n])) for n in path] for path in paths]
    return Layout(layer[:nodes], [float(h) for h in height[:nodes]], routes)


def _parents_first(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    waiting = [0] * nodes
    down: list[list[int]] = [[] for _ in range(nodes)]
    for parent, child in edges:
        waiting[child] += 1
        down[parent].append(child)
    ready = [n for n in range(nodes) if not waiting[n]]
    for n in ready:
        for child in down[n]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return ready


def _first_order(layer: list[int], after: list[list[int]]) -> list[list[int]]:
    """Return the nodes of each layer in the order of a depth-first walk, which suits trees."""
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    seen = set()
    stack = [0]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            layers[layer[n]].append(n)
            stack += reversed(after[n])
    return layers


def _ordered(
    layers: list[list[int]], above: list[list[int]], after: list[list[int]]
) -> list[list[int]]:
    """Return the layers sorted by the averages of their neighbours, as long as that helps."""
    best, fewest = layers, _crossings(layers, after)
    current = layers
    for turn in range(_ROUNDS):
        if fewest == 0:
            break
        current = [list(own) for own in current]
        rightwards = turn % 2 == 0
        near = above if rightwards else after
        steps = range(1, len(current)) if rightwards else range(len(current) - 2, -1, -1)
        for k in steps:
            beside = current[k - 1 if rightwards else k + 1]
            current[k] = _sorted(current[k], beside, near)
        crossings = _crossings(current, after)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _sorted(own: list[int], beside: list[int], near: list[list[int]]) -> list[int]:
    """Return a layer in the order of the average places of its neighbours in the layer beside."""
    place = {n: i for i, n in enumerate(beside)}
    wanted = {}
    for i, n in enumerate(own):
        found = [place[m] for m in near[n]]
        wanted[n] = sum(found) / len(found) if found else i * len(beside) / len(own)
    return sorted(own, key=wanted.__getitem__)


def _crossings(layers: list[list[int]], after: list[list[int]]) -> int:
    """Return how many pairs of edges cross."""
    total = 0
    for own, following in pairwise(layers):
        place = {n: i for i, n in enumerate(following)}
        ends = np.array([end for n in own for end in sorted(place[m] for m in after[n])])
        for i in range(1, len(ends)):
            total += int((ends[:i] > ends[i]).sum())
    return total


def _placed(
    layers: list[list[int]],
    above: list[list[int]],
    after: list[list[int]],
    sizes: Floats,
    is_bend: NDArray[np.bool_],
) -> Floats:
    """Return the height of every node: the layers keep their order, and nodes their distance."""
    height = np.zeros(len(sizes))
    gaps = []
    for own in layers:
        gap = 0.5 * (sizes[own][1:] + sizes[own][:-1])
        gaps.append(np.concatenate([[0.0], np.cumsum(gap)]))
        height[own] = gaps[-1] - 0.5 * gaps[-1][-1]
    weights = np.where(is_bend, _BEND_WEIGHT, 1.0)
    steps = [*range(len(layers) - 2, -1, -1), *range(1, len(layers))]
    for turn in range(_ROUNDS):
        both = turn > _ROUNDS // 2
        for place, k in enumerate(steps):
            own = layers[k]
            leftwards = place < len(layers) - 1
            wanted = np.empty(len(own))
            for i, n in enumerate(own):
                near = after[n] + above[n] if both else after[n] if leftwards else above[n]
                near = after[n] if is_bend[n] else near  # long edges turn early, then lead straight
                wanted[i] = height[near].mean() if near else height[n]
            height[own] = _apart(wanted - gaps[k], weights[own]) + gaps[k]
    return height


def _apart(wanted: Floats, weights: Floats) -> Floats:
    """Return the non-decreasing numbers nearest to the wanted ones, by least squares.

    Neighbours that would be out of order are pooled at their average.
    """
    values: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, mass in zip(wanted.tolist(), weights.tolist(), strict=True):
        count = 1
        while values and values[-1] > value:
            total = masses[-1] + mass
            value = (values.pop() * masses[-1] + value * mass) / total
            masses.pop()
            mass, count = total, count + counts.pop()
        values.append(value)
        masses.append(mass)
        counts.append(count)
    return np.repeat(values, counts)
