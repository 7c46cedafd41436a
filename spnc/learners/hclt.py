"""HCLT: a hidden Chow-Liu tree (Liu & Van den Broeck 2021, "Tractable Regularization of
Probabilistic Circuits").

Every column has a latent variable with `states` states, and depends on it alone. The latent
variables form a tree: the Chow-Liu tree over the columns, which has the most mutual information.
As a circuit:

- a latent variable in one of its states is a product of the column's leaf for that state and of
  one sum for each child in the tree;
- each of these sums is over the states of the child. All sums of one edge of the tree are over the
  same products, so each edge is a dense block of `states`^2 weights;
- if the column has no child, the products are just its leaves;
- the root of the circuit is a sum over the states of the tree's root.

Where columns differ in their number of states, or of ranges of numbers, mutual information is
corrected for its bias (docs/decisions/0070-ranges-of-numbers-are-soft.md).

The mutual information of every two columns is multiplied by random numbers, so that the trees of a
forest differ. The choice of the tree's root does not change what the circuit can express, only the
sizes of the scopes below its edges. They are small, and so is the engine's work, if the root is
the centre: the column whose removal leaves the smallest largest part.

Initial parameters for EM: every state gets a random training row, the same for all columns. The
leaves of the state are pulled towards that row, and a part `stay` of a sum's weight goes to its
own state. So EM starts near a mixture of noisy rows. The best log-likelihood that EM then finds on
validation rows (ten trees; on Plants five trees and 150 iterations; NLTCS: mean of seeds 0 to 2):

    rows and weights                             NLTCS    Jester   Plants
    a row for each leaf, weights Dirichlet(1)    -5.942   -52.69   -12.84
    a row for each leaf, weights Dirichlet(0.3)  -5.935   -52.67   -12.76
    a row for each state, `stay` 0.5             -5.934   -52.61   -12.78
    a row for each state, `stay` 0.8             -5.936   -52.70   -12.69

Jester in the first line was ended after 40 iterations. With `stay`, EM needs fewer iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.graph.nodes import Product, Sum
from spnc.learners import LearningTask
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.learners.support.leaf_nodes import NodeList
from spnc.learners.support.random_start import (
    StartingLeaves,
    drawn_rows,
    shared_out,
    starting_weights,
)
from spnc.learners.support.trees import maximum_spanning_tree, perturbed, shared_information
from spnc.registry import LEARNERS, Options, option
from spnc.registry.reads import Source

PULL = 0.5  # of a leaf towards its state's training row
CONCENTRATION = 1.0  # of the Dirichlet that weights are drawn from


class RootedTree(NamedTuple):
    """A tree over the columns, with one of them as its root."""

    order: list[int]  # the root first, every column after its parent
    parent: dict[int, int]  # of every column but the root
    below: list[list[int]]  # the children of each column


@LEARNERS.register("hclt")
@dataclass(frozen=True, kw_only=True)
class HiddenChowLiu(Options):
    """A hidden Chow-Liu tree: a latent variable per column, in the tree of most information."""

    reads: ClassVar[tuple[Source, ...]] = ("pairs",)

    states: int = option(8, "the number of states of each latent variable", min=1)
    noise: float = option(
        0.5,
        "the mutual information of each pair of columns is multiplied by 1 + noise · u, with u "
        "uniform in [-1, 1], so that the trees of a forest differ",
        min=0,
    )
    root: Literal["centre", "random"] = option("centre", "which column is the tree's root")
    stay: float = option(
        0.5,
        "the part of a sum's initial weight that goes to the child with the same state",
        min=0,
        below=1,
    )

    leaves: LeafOptions = option(LeafOptions(), "the distributions of leaves over numbers")

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        tree = self.tree(task)
        picks = drawn_rows(task.table, self.states, task.rng)
        leaves = StartingLeaves(task, PULL, self.leaves)
        above, weights = self._shares(tree, task)
        origin, numbers = task.builder.origin, range(self.states)
        made = NodeList(origin)
        nodes, edges = made.nodes, made.edges
        sums: dict[int, int] = {}  # the first sum over each column's states
        for column in reversed(tree.order):
            rows = shared_out(above[column], weights[column]).tolist()
            first = state = made.add_all(column, leaves.over(column, picks), rows)
            if tree.below[column]:
                state = len(nodes)
                nodes += [Product(r, origin) for r in rows]
                edges += [(state + s, first + s, None) for s in numbers]
                edges += [
                    (state + s, sums[c] + s, None) for s in numbers for c in tree.below[column]
                ]
            sums[column] = len(nodes)
            nodes += [Sum(r, origin) for r in above[column].tolist()]
            edges += [
                (sums[column] + s, state + t, weight)
                for s, row in enumerate(weights[column].tolist())
                for t, weight in enumerate(row)
            ]
        return task.builder.extend(nodes, edges) + sums[tree.order[0]]

    def _shares(
        self, tree: RootedTree, task: LearningTask
    ) -> tuple[dict[int, Floats], dict[int, Floats]]:
        """Return for each column the rows behind the sums over its states, and their weights."""
        above = {tree.order[0]: np.array([task.total])}
        weights: dict[int, Floats] = {}
        for column in tree.order:
            weights[column] = starting_weights(
                above[column], self.states, CONCENTRATION, task, self.stay
            )
            rows = shared_out(above[column], weights[column])
            above.update(dict.fromkeys(tree.below[column], rows))
        return above, weights

    def tree(self, task: LearningTask) -> RootedTree:
        """Return the tree of most mutual information after noise, with its root."""
        columns, rng = task.columns, task.rng
        pairs = task.sums.pairs if task.sums is not None else None
        affinity = shared_information(columns, task.table, task.smoothing.leaves, pairs)
        edges = maximum_spanning_tree(perturbed(affinity, self.noise, rng))
        root = _centre(edges) if self.root == "centre" else int(rng.integers(len(columns)))
        return _rooted_at(root, edges)


def _centre(edges: list[tuple[int, int]]) -> int:
    """Return the column whose removal leaves the smallest largest part of the tree."""
    total = len(edges) + 1
    size, largest = [1] * total, [0] * total
    for parent, child in reversed(edges):
        size[parent] += size[child]
        largest[parent] = max(largest[parent], size[child])
    return min(range(total), key=lambda column: max(largest[column], total - size[column]))


def _rooted_at(root: int, edges: list[tuple[int, int]]) -> RootedTree:
    near: list[list[int]] = [[] for _ in range(len(edges) + 1)]
    for one, other in edges:
        near[one].append(other)
        near[other].append(one)
    order, parent = [root], dict[int, int]()
    for column in order:
        near[column] = sorted(c for c in near[column] if c != parent.get(column))
        parent.update(dict.fromkeys(near[column], column))
        order += near[column]
    return RootedTree(order, parent, near)
