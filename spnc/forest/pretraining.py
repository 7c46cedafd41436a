"""Pretraining: a few iterations of EM on a forest before links are judged.

The nodes of randomly split components are all alike until their parameters are fitted, and no link
between them is worth much.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from spnc.backends import Backend
from spnc.common.gc_pause import gc_paused
from spnc.data.dataset import Table
from spnc.graph.equality import representatives
from spnc.graph.forest import Forest
from spnc.graph.nodes import Leaf, Sum, below, children, children_first, payloads
from spnc.leaves.smoothing import Smoothing
from spnc.passes.share import share_tied
from spnc.program.lift import lift
from spnc.program.lower import lower_with_numbers
from spnc.training.m_step import m_step


@gc_paused()
def pretrain(
    forest: Forest, train: Table, smoothing: Smoothing, backend: Backend, iterations: int
) -> None:
    """Run EM on the forest without links, and change the parameters of its nodes in place.

    `train` has distinct rows with weights.
    """
    if iterations == 0:
        return
    graph = forest.builder.graph
    work = graph.copy()
    work.add_node("top", node=Sum())
    work.add_weighted_edges_from(("top", root, 1.0 / len(forest.roots)) for root in forest.roots)
    work.graph["root"] = "top"
    # As in training, an edge of weight zero is absent, and keeps its weight.
    weighed = [(n, c, data.get("weight")) for n, c, data in work.edges(data=True)]
    work.remove_edges_from([(n, c) for n, c, weight in weighed if weight == 0.0])
    reached = set(below(work, "top"))
    work.remove_nodes_from([n for n in work if n not in reached])
    same = representatives(work, children_first(work), finished=False)
    program, parameters, number = lower_with_numbers(share_tied(work))
    engine = backend.open(program)
    batch = engine.load(train)
    for _ in range(iterations):
        counts = engine.expected_counts(parameters, batch)
        parameters = m_step(program, parameters, counts, smoothing)

    fitted = lift(program, parameters)
    payload, weights = payloads(fitted), children(fitted)
    for n, edges in children(graph).items():
        if n not in reached:
            continue
        own, at = graph.nodes[n], number[same[n]]
        if isinstance(own["node"], Leaf):
            found: Any = payload[at]
            own["node"] = replace(own["node"], distribution=found.distribution)
        elif isinstance(own["node"], Sum):
            kept = {c: data for c, data in edges.items() if data["weight"] > 0.0}
            # Tied children have become one child, whose weight is the sum of theirs.
            together: dict[int, float] = defaultdict(float)
            for child, data in kept.items():
                together[number[same[child]]] += data["weight"]
            for child, data in kept.items():
                one = number[same[child]]
                data["weight"] *= weights[at][one]["weight"] / together[one]
