"""Trees over columns: the spanning tree that keeps most of the mutual information."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from threadpoolctl import threadpool_limits

from spnc.common.arrays import Floats
from spnc.data.binning import binned
from spnc.data.columns import Column
from spnc.data.pairs import PairCounts, mutual_information, pair_counts
from spnc.data.table import Table

_CACHE: WeakKeyDictionary[Table | PairCounts, dict[float, Floats]] = WeakKeyDictionary()


# In n rows, independent columns with d degrees of freedom share d / 2n nats on average, so that
# columns with many states or ranges seem to say more than they do (Miller 1955).
UNBIASED = 0.5
# A distribution of one column given another, estimated from these rows, loses as much once more on
# other rows (Akaike 1974).
ON_OTHER_ROWS = 1.0


def shared_information(
    columns: Sequence[Column], table: Table, alpha: float, pairs: PairCounts | None = None
) -> Floats:
    """Return the mutual information of every two columns; cached per table and `alpha`.

    That of numbers is the information of their ranges. `pairs` are counted already, in more rows
    than the table has.
    """
    known = _CACHE.setdefault(table if pairs is None else pairs, {})
    if alpha not in known:
        # One thread: sums of fractional weights would otherwise depend on the number of threads.
        with threadpool_limits(limits=1):
            found = pairs if pairs is not None else pair_counts(*binned(columns, table))
            known[alpha] = comparable_information(columns, found, alpha, UNBIASED)
    return known[alpha]


def comparable_information(
    columns: Sequence[Column], pairs: PairCounts, alpha: float, charge: float
) -> Floats:
    """Return the mutual information of every two columns, from counts of their states or ranges.

    Each pair is charged for its degrees of freedom. Where all columns have equally many states, as
    in tables of bits, the charge would be the same for all pairs, and is left out.
    """
    alike = all(column.is_finite for column in columns) and len({c.states for c in columns}) == 1
    return mutual_information(pairs, alpha, 0.0 if alike else charge)


def perturbed(affinity: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """Multiply each pair's affinity by 1 + noise · u, with u uniform in [-1, 1]."""
    if noise == 0.0:
        return affinity
    numbers = np.triu(rng.uniform(-1.0, 1.0, affinity.shape), 1)
    found: Floats = numbers + numbers.T
    found *= noise
    found += 1.0
    found *= affinity
    return found


def maximum_spanning_tree(affinity: Floats, root: int = 0) -> list[tuple[int, int]]:
    """Return the (parent, child) edges of the heaviest tree, parents before children.

    Prim's algorithm from the root; of equal affinities, the first column is taken.
    """
    waiting = np.ones(len(affinity), dtype=bool)
    waiting[root] = False
    best, parent = affinity[root].copy(), np.full(len(affinity), root)
    edges = []
    for _ in range(len(affinity) - 1):
        child = int(np.argmax(np.where(waiting, best, -np.inf)))
        edges.append((int(parent[child]), child))
        waiting[child] = False
        closer = affinity[child] > best
        best[closer], parent[closer] = affinity[child][closer], child
    return edges
