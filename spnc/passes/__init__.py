"""Passes: rewritings of a graph, in place, that do not change its distribution.

They run in the order of the dicts below, for these reasons. Pruning comes first, since it leaves
sums with one child. Sharing comes before merging, since merging would hide equal parts, and since
sharing gives nodes second parents, which must not be merged. Nodes with a single child are removed
next, so that a sum below a sum is recognised as nested. Merging comes last.
"""

from __future__ import annotations

from collections.abc import Callable

from spnc.common.gc_pause import gc_paused
from spnc.graph.nodes import Graph
from spnc.passes.merge import merge_products, merge_sums
from spnc.passes.prune import prune
from spnc.passes.share import share_equal, share_tied
from spnc.passes.single_child import single_child

Pass = Callable[[Graph], Graph]

BEFORE_TRAINING: dict[str, Pass] = {
    "prune": prune,
    "share-tied": share_tied,
    "single-child": single_child,
    "merge-sums": merge_sums,
    "merge-products": merge_products,
}
AFTER_TRAINING: dict[str, Pass] = {
    "prune": prune,
    "share-equal": share_equal,
    "single-child": single_child,
    "merge-sums": merge_sums,
    "merge-products": merge_products,
}


@gc_paused()
def run(
    graph: Graph,
    passes: dict[str, Pass],
    after: Callable[[str, Graph], None] | None = None,
    *,
    keep: bool = True,
) -> Graph:
    """Return the graph after all passes.

    `after` is called with each pass's name and the graph as that pass left it. With `keep`, the
    given graph is left unchanged; without, the passes change it, which saves a copy.
    """
    work = graph.copy() if keep else graph
    for name, apply in passes.items():
        work = apply(work)
        if after is not None:
            after(name, work)
    return work
