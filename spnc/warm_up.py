"""Some EM on a forest that is still to be linked, so that its nodes are worth judging."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from spnc.backends import Backend
from spnc.data.dataset import Table
from spnc.garbage import uncollected
from spnc.graph.equality import representatives
from spnc.graph.nodes import Leaf, Sum, children, children_first, payloads
from spnc.lift import lift
from spnc.lower import lower_with_numbers
from spnc.passes.share import share_tied
from spnc.residuals import Forest
from spnc.smoothing import Smoothing
from spnc.training.m_step import m_step


@uncollected()
def warm_up(
    forest: Forest, train: Table, smoothing: Smoothing, backend: Backend, iterations: int
) -> None:
    """So many iterations on the plain forest; the parameters of its nodes are changed in place."""
    if iterations == 0:
        return
    graph = forest.builder.graph
    work = graph.copy()
    work.add_node("top", node=Sum())
    work.add_weighted_edges_from(("top", root, 1.0 / len(forest.roots)) for root in forest.roots)
    work.graph["root"] = "top"
    same = representatives(work, children_first(work), finished=False)
    program, parameters, number = lower_with_numbers(share_tied(work))
    engine = backend.open(program)
    batch = engine.load(train.distinct())
    for _ in range(iterations):
        counts = engine.expected_counts(parameters, batch)
        parameters = m_step(program, parameters, counts, smoothing)

    fitted = lift(program, parameters)
    payload, below = payloads(fitted), children(fitted)
    for n, edges in children(graph).items():
        own, at = graph.nodes[n], number[same[n]]
        if isinstance(own["node"], Leaf):
            found: Any = payload[at]
            own["node"] = replace(own["node"], distribution=found.distribution)
        elif isinstance(own["node"], Sum):
            # Children that were tied have become one child, whose weight is theirs together.
            together: dict[int, float] = defaultdict(float)
            for child, data in edges.items():
                together[number[same[child]]] += data["weight"]
            for child, data in edges.items():
                one = number[same[child]]
                if together[one] > 0.0:
                    data["weight"] *= below[at][one]["weight"] / together[one]
