"""Passes: Graph to Graph, the distribution unchanged. Each works in place on a graph it is given.

The order is the order of the lists below, and its reasons are these. Pruning goes first, since it
leaves sums with one child. Sharing comes before merging, since it finds equal parts while they
still stand where their makers put them, and since it gives nodes second parents that merging must
respect. Single children go next, so that a sum below a sum is seen as nested. Merging comes last.
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
    """The graph after all passes, in order. The graph given is left as it was.

    `after` is called with each pass's name and the graph as that pass left it. Whoever has no
    further use for the graph given need not `keep` it, which saves the time and memory of a copy.
    """
    work = graph.copy() if keep else graph
    for name, apply in passes.items():
        work = apply(work)
        if after is not None:
            after(name, work)
    return work
