"""What a link is worth: how much it would raise the likelihood of the rows its target answers for.

A target is responsible for a row as far as the row's flow goes through it; for a component with
hard splits these are about the rows that its learner built the target from. With S the target's
value for a row, L that of the link's node and w the link's weight, the gain is the sum over rows
of flow · (log((1-w)·S + w·L) - log S): what the link adds to the log-likelihood while all else
stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from spnc.data.dataset import Dataset, Table
from spnc.diagnostics import Sink, Span
from spnc.engine.crew import thread_count
from spnc.engine.node_values import NodeValues
from spnc.graph.nodes import Graph, Sum, below
from spnc.lower import lower_with_numbers
from spnc.program import Floats
from spnc.residuals import Linking
from spnc.residuals.receiver import Receiver

Split = Literal["train", "valid"]
_HALVINGS = 16  # in the search for a link's best weight
_MOST = 0.95  # what a link weighs at most, so that what was there before keeps a part in training


def verify_rows(dataset: Dataset | None, split: Split, span: Span | None, sink: Sink) -> None:
    """Report if there are no rows to judge by."""
    if dataset is not None and split not in dataset.splits:
        sink.error(
            "E227",
            f"links are to be judged by the {split} rows, and there are none",
            span,
            help="name validation rows in `data`, or judge by `train`",
        )


def judged_rows(task: Linking, split: Split, most: int) -> Table:
    """The distinct rows that links are judged by: those of a split, or a sample of so many."""
    table = task.dataset.splits[split].distinct()
    if table.rows <= most:
        return table
    chosen = np.sort(task.rng.choice(table.rows, most, replace=False))
    return Table(table.values[chosen], table.weights[chosen])


class Judge:
    """Knows the values and flows of targets on the rows that links are judged by."""

    def __init__(self, receiver: Receiver, rows: Table) -> None:
        self.receiver = receiver
        self.node_values = NodeValues(rows, thread_count(None))
        self._row: dict[int, int] = {}  # of each target in the arrays below
        self._values: Floats = np.empty((0, rows.rows))
        self._flows: Floats = np.empty((0, rows.rows))

    def look_at(self, targets: Sequence[int]) -> None:
        """Work out what the targets do now; `gain` and `accept` speak of these."""
        receiver = self.receiver
        graph = _sub_graph(receiver.graph, [receiver.root])
        graph.graph["root"] = receiver.root
        program, parameters, number = lower_with_numbers(graph)
        nodes = np.array([number[n] for n in targets], dtype=np.int64)
        self._values, self._flows = self.node_values.with_flows(program, parameters, nodes)
        self._row = {n: i for i, n in enumerate(targets)}

    def values(self, nodes: Sequence[int]) -> Floats:
        """The values of any nodes, `[node, row]`."""
        distinct = list(dict.fromkeys(nodes))
        graph = _sub_graph(self.receiver.graph, distinct)
        top = "top"  # lowering wants one root; what it computes is of no interest
        graph.add_node(top, node=Sum())
        graph.add_edges_from((top, n, {"weight": 1.0}) for n in distinct)
        graph.graph["root"] = top
        program, parameters, number = lower_with_numbers(graph)
        wanted = np.array([number[n] for n in nodes], dtype=np.int64)
        return self.node_values.of(program, parameters, wanted)

    def gain(self, target: int, values: Floats, share: float) -> float:
        """What a link to a node of these values is worth with that weight."""
        flow, ratio = self._ratios(target, values)
        with np.errstate(divide="ignore"):
            return float(flow @ np.log1p(share * (ratio - 1.0)))

    def best_share(self, target: int, values: Floats) -> float:
        """The weight that makes the gain largest; 0 if none has a gain, and never near 1.

        The gain is concave in the weight: the largest is where its slope is zero.
        """
        flow, ratio = self._ratios(target, values)
        more = ratio - 1.0

        def rises(share: float) -> bool:
            return float(flow @ (more / (1.0 + share * more))) > 0.0

        low, high = 0.0, _MOST
        if not rises(low):
            return 0.0
        if rises(high):
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if rises(middle) else (low, middle)
        return (low + high) / 2

    def accept(self, target: int, values: Floats, share: float) -> None:
        """The link was drawn: the target's values are what they have become by it."""
        own = self._values[self._row[target]]
        own *= 1.0 - share
        own += share * values

    def _ratios(self, target: int, values: Floats) -> tuple[Floats, Floats]:
        """The flows through the target, and by how much the link's node explains rows better.

        Rows that the target gives no chance have no flow and are left out.
        """
        row = self._row[target]
        own, flow = self._values[row], self._flows[row]
        some = (own > 0.0) & (flow > 0.0)
        return flow[some], values[some] / own[some]


def _sub_graph(graph: Graph, roots: Sequence[int]) -> Graph:
    """A copy of what lies below the roots."""
    nodes = list(below(graph, *roots))
    found = Graph(columns=graph.graph["columns"])
    found.add_nodes_from((n, graph.nodes[n]) for n in nodes)
    found.add_edges_from((n, c, data) for n in nodes for c, data in graph.succ[n].items())
    return found
