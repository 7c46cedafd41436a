"""What a link is worth: by how much it would raise the likelihood, all else staying as it is.

A target is responsible for a row as far as the row's flow goes through it, when the row enters the
forest at the top. With f the flow, S the target's value for the row, L that of the link's node and
w the link's weight, the target's value becomes S' = (1-w)·S + w·L, and the row's likelihood
1 + f·(S'/S - 1) times what it was: a circuit is linear in the value of each of its nodes. The gain
is the sum of the logarithms of that. Rows that the target has no part in count for nothing, and
neither do those that it gives no chance, though a link might: of these the gain says too little.

A gain holds for one link. When that is drawn, `accept` says what becomes of the target itself;
flows through other targets change as well, which only looking at them again can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from spnc.backends import Backend
from spnc.common.arrays import Floats
from spnc.data.dataset import Dataset, Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Graph, Sum, below
from spnc.program.lower import lower_with_numbers
from spnc.registry import Options, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.receiver import Receiver, Targets

Split = Literal["train", "valid"]
_HALVINGS = 16  # in the search for a link's best weight
_MOST = 0.95  # what a link weighs at most, so that what was there before keeps a part in training


@dataclass(frozen=True, kw_only=True)
class Judged(Options):
    """A strategy that judges links before it draws them; the options that all of these have."""

    draws: ClassVar[bool] = True

    judge: Split = option("train", "the rows that have to be explained better")
    links: Literal["share", "copy"] = option(
        "share", "whether linked parts are shared with their component, or copies"
    )
    targets: Targets = option("sums", "what receives links: sums, or (by a sum on top) any node")
    max_edges: int = option(200_000, "no more links once the forest has so many edges", min=1)

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """There have to be rows to judge by."""
        if dataset is not None and self.judge not in dataset.splits:
            sink.error(
                "E227",
                f"links are to be judged by the {self.judge} rows, and there are none",
                self.span_of("judge"),
                help="name validation rows in `data`, or judge by `train`",
            )

    def receiver(self, task: LinkingTask) -> Receiver:
        """The component that gets the links."""
        return Receiver(task, self.span_of(""), share=self.links == "share")


def judged_rows(task: LinkingTask, split: Split, most: int) -> Table:
    """The distinct rows that links are judged by: those of a split, or a sample of so many."""
    table = task.dataset.distinct[split]
    if table.rows <= most:
        return table
    chosen = np.sort(task.rng.choice(table.rows, most, replace=False))
    return Table(table.values[chosen], table.weights[chosen])


class Judge:
    """Knows the values and flows of targets on the rows that links are judged by."""

    def __init__(self, receiver: Receiver, rows: Table, backend: Backend) -> None:
        self.receiver, self.rows, self.backend = receiver, rows, backend
        self._row: dict[int, int] = {}  # of each target in the arrays below
        self._values: Floats = np.empty((0, rows.rows))
        self._flows: Floats = np.empty((0, rows.rows))  # as shares of a row

    @cached_property
    def _others(self) -> Floats:
        """What the other components say of every row, in all; links do not change it."""
        found: Floats = self.values(self.receiver.forest.roots).sum(axis=0)
        return found

    def look_at(self, targets: Sequence[int]) -> None:
        """Work out what the targets do now; `gain` and `accept` speak of these."""
        receiver = self.receiver
        graph = _mixture(receiver.graph, [receiver.root])
        program, parameters, number = lower_with_numbers(graph)
        wanted = [receiver.root, *(receiver.taker(n) for n in targets)]
        nodes = np.array([number[n] for n in wanted], dtype=np.int64)
        engine = self.backend.open(program)
        values, flows = engine.node_values_and_flows(parameters, self.rows, nodes)
        # Of a row's flow, the receiver gets its share of the forest, a mixture of equal weights.
        total = values[0] + self._others
        share = np.divide(values[0], total, out=np.zeros_like(total), where=_sure(total))
        self._values, self._flows = values[1:], flows[1:]
        self._flows *= share / np.maximum(self.rows.weights, np.finfo(np.float64).tiny)
        self._row = {n: i for i, n in enumerate(targets)}

    def values(self, nodes: Sequence[int]) -> Floats:
        """The values of any nodes, `[node, row]`."""
        graph = _mixture(self.receiver.graph, list(dict.fromkeys(nodes)))
        program, parameters, number = lower_with_numbers(graph)
        wanted = np.array([number[n] for n in nodes], dtype=np.int64)
        return self.backend.open(program).node_values(parameters, self.rows, wanted)

    def gain(self, target: int, values: Floats, share: float) -> float:
        """What a link to a node of these values is worth with that weight, in nats."""
        weights, rises = self._rises(target, values)
        with np.errstate(divide="ignore"):
            return float(weights @ np.log1p(share * rises))

    def best_share(self, target: int, values: Floats) -> float:
        """The weight that makes the gain largest; 0 if none has a gain, and never near 1.

        The gain is concave in the weight: the largest is where its slope is zero.
        """
        weights, rises = self._rises(target, values)

        def slope(share: float) -> float:
            return float(weights @ (rises / (1.0 + share * rises)))

        low, high = 0.0, _MOST
        if slope(low) <= 0.0:
            return 0.0
        if slope(high) > 0.0:
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
        return (low + high) / 2

    def accept(self, target: int, values: Floats, share: float) -> None:
        """The link was drawn: the target's value and flow are what they have become by it."""
        own, flow = self._values[self._row[target]], self._flows[self._row[target]]
        some = self._sure(own, flow, values)
        rise = share * (values[some] / own[some] - 1.0)
        own *= 1.0 - share
        own += share * values
        flow[some] *= (1.0 + rise) / (1.0 + flow[some] * rise)

    def _rises(self, target: int, values: Floats) -> tuple[Floats, Floats]:
        """Rows that the target has a part in, by weight; and the share by which their likelihood
        would rise if the link's node took the target's place."""
        own, flow = self._values[self._row[target]], self._flows[self._row[target]]
        some = self._sure(own, flow, values)
        found: Floats = flow[some] * (values[some] / own[some] - 1.0)
        return self.rows.weights[some], found

    @staticmethod
    def _sure(own: Floats, flow: Floats, values: Floats) -> NDArray[np.bool_]:
        """The rows for which all is in the range of doubles."""
        found: NDArray[np.bool_] = _sure(own) & (flow > 0.0) & (values < np.inf)
        return found


def _sure(values: Floats) -> NDArray[np.bool_]:
    """Where values are neither nothing nor too large for a double."""
    found: NDArray[np.bool_] = (values > 0.0) & (values < np.inf)
    return found


def _mixture(graph: Graph, roots: Sequence[int]) -> Graph:
    """A copy of what lies below the roots, and a sum on top that weighs them alike."""
    nodes = list(below(graph, *roots))
    found = Graph(columns=graph.graph["columns"], root="top")
    found.add_nodes_from((n, graph.nodes[n]) for n in nodes)
    found.add_edges_from((n, c, data) for n in nodes for c, data in graph.succ[n].items())
    found.add_node("top", node=Sum())
    found.add_edges_from(("top", n, {"weight": 1.0 / len(roots)}) for n in roots)
    return found
