"""RAT-SPN: a random and tensorised sum-product network (Peharz et al. 2019, "Random Sum-Product
Networks: A Simple and Effective Approach to Probabilistic Deep Learning").

A region is a set of columns. Starting with the region of all columns, a region is cut at random
into two halves (a partition), which are cut in turn, `splits` levels deep or until a single column
is left. This is repeated `repetitions` times. Regions that are never cut are leaf regions. Equal
regions of different repetitions are one region, with all their partitions.

- A leaf region has `inputs` nodes, each a product of one leaf per column.
- A partition has a product for each pair of nodes, one from each half.
- Any other region has `sums` nodes, each a sum over all products of all its partitions; the region
  of all columns has a single sum, the root.

So all sums of a region have the same children, which suits the engines' dense blocks: a region with
p partitions into inner regions is a matrix of `sums` by p * `sums`^2 weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
from spnc.registry import LEARNERS, Options, option
from spnc.registry.reads import Source

Region = tuple[int, ...]  # columns, ascending
Partition = tuple[Region, Region]
Regions = dict[Region, list[Partition]]  # the partitions of each region; leaf regions have none

# Chosen on the validation rows of NLTCS, where three components of six sums and inputs are at -5.99
# after 120 iterations of EM; with 0.5 and 1.0 at -6.01.
PULL = 0.9  # of an input towards a random training row
CONCENTRATION = 0.3  # of the Dirichlet that weights are drawn from


@LEARNERS.register("rat-spn")
@dataclass(frozen=True, kw_only=True)
class RatSpn(Options):
    """A random tensorised SPN: columns halved at random again and again (Peharz et al. 2019)."""

    reads: ClassVar[tuple[Source, ...]] = ("columns",)

    splits: int = option(3, "how many times columns are halved, or until one is left", min=1)
    repetitions: int = option(4, "the number of random ways to halve all columns", min=1)
    sums: int = option(8, "the number of sums of each inner region", min=1)
    inputs: int = option(8, "the number of products of leaves of each leaf region", min=1)

    leaves: LeafOptions = option(LeafOptions(), "the distributions of leaves over numbers")

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        everything = tuple(range(len(task.columns)))
        regions: Regions = {}
        for _ in range(self.repetitions):
            cut(regions, everything, self.splits, task.rng)
        return _Circuit(self, task, regions).build()


def cut(regions: Regions, whole: Region, splits: int, rng: np.random.Generator) -> None:
    """Cut a region at random in two, its halves in turn, and so on; add the partitions."""
    waiting = [(whole, splits)]
    for region, left in waiting:
        known = regions.setdefault(region, [])
        if left == 0 or len(region) == 1:
            continue
        shuffled = rng.permutation(region).tolist()
        middle = len(region) // 2
        one, other = sorted([tuple(sorted(shuffled[:middle])), tuple(sorted(shuffled[middle:]))])
        if (one, other) not in known:
            known.append((one, other))
        waiting += [(one, left - 1), (other, left - 1)]


class _Circuit:
    """The circuit of a region graph: first the rows behind each node, then the nodes."""

    def __init__(self, options: RatSpn, task: LearningTask, regions: Regions) -> None:
        self.options, self.task, self.regions = options, task, regions
        # Smaller regions first, so that every region comes after its halves.
        self.order = sorted(regions, key=lambda region: (len(region), region))
        self.root = self.order[-1]
        self.made = NodeList(task.builder.origin)
        self.nodes, self.edges = self.made.nodes, self.made.edges

    def width(self, region: Region) -> int:
        """Return the number of a region's nodes."""
        if region == self.root:
            return 1
        return self.options.sums if self.regions[region] else self.options.inputs

    def build(self) -> int:
        """Add all nodes to the forest. Return the root."""
        rows, weights = self._shares()
        leaves = StartingLeaves(self.task, PULL, self.options.leaves)
        first: dict[Region, int] = {}  # node of each region
        for region in self.order:
            below = shared_out(rows[region], weights[region]) if region in weights else rows[region]
            if self.regions[region]:
                parts = self._products(self.regions[region], first, below)
            else:
                parts = self._inputs(region, leaves, below)
            first[region] = parts if region not in weights else len(self.nodes)
            if region in weights:
                self._sums(parts, rows[region], weights[region])
        return self.task.builder.extend(self.nodes, self.edges) + first[self.root]

    def _shares(self) -> tuple[dict[Region, Floats], dict[Region, Floats]]:
        """Return the rows behind each region's nodes, and the weights of its sums."""
        rows = {region: np.zeros(self.width(region)) for region in self.order}
        rows[self.root][:] = self.task.total
        weights: dict[Region, Floats] = {}
        for region in reversed(self.order):
            shapes = [(self.width(a), self.width(b)) for a, b in self.regions[region]]
            fan = sum(a * b for a, b in shapes)
            if not shapes:
                if region != self.root:
                    continue
                fan = self.options.inputs  # a single column: a sum over leaves
            weights[region] = starting_weights(rows[region], fan, CONCENTRATION, self.task)
            below, start = shared_out(rows[region], weights[region]), 0
            for (one, other), shape in zip(self.regions[region], shapes, strict=True):
                stop = start + shape[0] * shape[1]
                pairs = below[start:stop].reshape(shape)
                rows[one] += pairs.sum(axis=1)
                rows[other] += pairs.sum(axis=0)
                start = stop
        return rows, weights

    def _products(self, partitions: list[Partition], first: dict[Region, int], rows: Floats) -> int:
        """Add a product for each pair of nodes of each partition's halves. Return the first."""
        begin = number = len(self.nodes)
        self.nodes += [Product(r, self.task.builder.origin) for r in rows.tolist()]
        for one, other in partitions:
            for a in range(first[one], first[one] + self.width(one)):
                for b in range(first[other], first[other] + self.width(other)):
                    self.edges += [(number, a, None), (number, b, None)]
                    number += 1
        return begin

    def _inputs(self, region: Region, leaves: StartingLeaves, rows: Floats) -> int:
        """Add the inputs of a leaf region, each near a training row. Return the first."""
        origin, each = self.task.builder.origin, rows.tolist()
        picks = drawn_rows(self.task.table, len(each), self.task.rng)
        firsts = [self.made.add_all(v, leaves.over(v, picks), each) for v in region]
        if len(region) == 1:
            return firsts[0]
        number = len(self.nodes)
        self.nodes += [Product(r, origin) for r in each]
        self.edges += [(number + i, first + i, None) for i in range(len(each)) for first in firsts]
        return number

    def _sums(self, parts: int, rows: Floats, weights: Floats) -> None:
        """Add sums over all the parts; `parts` is the first of these."""
        number = len(self.nodes)
        self.nodes += [Sum(r, self.task.builder.origin) for r in rows.tolist()]
        self.edges += [
            (number + s, parts + t, weight)
            for s, row in enumerate(weights.tolist())
            for t, weight in enumerate(row)
        ]
