"""The gain of a link: by how much it would raise the log-likelihood, all else unchanged.

A target is responsible for a row to the extent that the row's flow, from the top of the forest,
goes through it. Let f be that flow, S the target's value for the row, L the value of the link's
node and w the link's weight. The target's value becomes S' = (1-w)·S + w·L, and the row's
likelihood is multiplied by 1 + f·(S'/S - 1), since a circuit is linear in the value of each of its
nodes. The gain is the sum of the logarithms of these factors. Rows without flow through the target
do not count. Neither do rows whose value S is zero, although a link might make them possible: for
such rows the gain is an underestimate.

A gain holds for one link. When a link is drawn, `accept` updates the values and flows of its
target; those of other targets change as well, and are only known after `measure`.
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
from spnc.common.savepoints import Arrays, UnusableError
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Graph, Sum, below
from spnc.program.lower import lower_with_numbers
from spnc.registry import Options, option
from spnc.residuals import LinkingTask
from spnc.residuals.support.receiver import Receiver, TargetKind

Split = Literal["train", "valid"]
_HALVINGS = 16  # of the interval that holds a link's best weight
_MOST_WEIGHT = 0.95  # of a link, so that the other children still take part in training


@dataclass(frozen=True, kw_only=True)
class JudgingStrategy(Options):
    """Base of strategies that judge links before they draw them; holds the options they share."""

    draws: ClassVar[bool] = True

    judge: Split = option("train", "the rows that links are judged by")
    links: Literal["share", "copy"] = option(
        "share", "whether linked parts are shared with their component, or copies"
    )
    targets: TargetKind = option(
        "sums", "what receives links: sums only, or all nodes (others get a sum above them)"
    )
    max_edges: int = option(
        200_000, "stop drawing links when the forest has this many edges", min=1
    )

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report that there are no rows to judge by."""
        if dataset is not None and self.judge not in dataset.splits:
            sink.error(
                "E227",
                f"links are to be judged by the {self.judge} rows, but there are none",
                self.span_of("judge"),
                help="name validation rows in `data`, or judge by `train`",
            )

    def receiver(self, task: LinkingTask) -> Receiver:
        """Return the component that gets the links."""
        return Receiver(task, self.span_of(""), share=self.links == "share")


def judging_rows(task: LinkingTask, split: Split, most: int) -> Table:
    """Return the rows that links are judged by: a split's distinct rows, or a sample of them."""
    table = task.dataset.distinct_in_memory[split]
    if table.rows <= most:
        return table
    chosen = np.sort(task.rng.choice(table.rows, most, replace=False))
    return table.take(chosen)


class LinkJudge:
    """Computes the gain of links, from the values and flows of their targets on some rows."""

    def __init__(self, receiver: Receiver, rows: Table, backend: Backend) -> None:
        self.receiver, self.rows, self.backend = receiver, rows, backend
        self._row: dict[int, int] = {}  # of each target in the arrays below
        self._values: Floats = np.empty((0, rows.rows))
        self._flows: Floats = np.empty((0, rows.rows))  # as shares of a row

    @cached_property
    def _others(self) -> Floats:
        """The sum of the other components' values for every row; links do not change it."""
        found: Floats = self.values(self.receiver.forest.roots).sum(axis=0)
        return found

    def measure(self, targets: Sequence[int]) -> None:
        """Compute the current values and flows of the targets, which `gain` and `accept` use."""
        receiver = self.receiver
        graph = _mixture(receiver.graph, [receiver.root])
        program, parameters, number = lower_with_numbers(graph)
        wanted = [receiver.root, *(receiver.recipient(n) for n in targets)]
        nodes = np.array([number[n] for n in wanted], dtype=np.int64)
        engine = self.backend.open(program)
        values, flows = engine.node_values_and_flows(parameters, self.rows, nodes)
        # The receiver's share of a row's flow is that of its component in an equal mixture.
        total = values[0] + self._others
        share = np.divide(values[0], total, out=np.zeros_like(total), where=_usable(total))
        self._values, self._flows = values[1:], flows[1:]
        self._flows *= share / np.maximum(self.rows.weights, np.finfo(np.float64).tiny)
        self._row = {n: i for i, n in enumerate(targets)}

    def stored(self) -> Arrays:
        """Return the values and flows of the targets, for keeping."""
        targets = np.array(list(self._row), dtype=np.int64)
        return {"targets": targets, "values": self._values, "flows": self._flows}

    def take_up(self, arrays: Arrays) -> None:
        """Continue with values and flows that were kept. Raises `UnusableError`."""
        targets, values, flows = (arrays.get(n) for n in ("targets", "values", "flows"))
        if targets is None or values is None or flows is None:
            raise UnusableError("the values of targets are missing")
        shape = (len(targets), self.rows.rows)
        if not values.shape == flows.shape == shape:
            raise UnusableError("the values of targets have the wrong shape")
        self._values, self._flows = values.copy(), flows.copy()
        self._row = {n: i for i, n in enumerate(targets.tolist())}

    def values(self, nodes: Sequence[int]) -> Floats:
        """Return the values of any nodes, `[node, row]`."""
        graph = _mixture(self.receiver.graph, list(dict.fromkeys(nodes)))
        program, parameters, number = lower_with_numbers(graph)
        wanted = np.array([number[n] for n in nodes], dtype=np.int64)
        return self.backend.open(program).node_values(parameters, self.rows, wanted)

    def gain(self, target: int, values: Floats, weight: float) -> float:
        """Return the gain, in nats, of a link of this weight to a node with these values."""
        row_weights, relative = self._relative_gains(target, values)
        with np.errstate(divide="ignore"):
            return float(row_weights @ np.log1p(weight * relative))

    def best_weight(self, target: int, values: Floats) -> float:
        """Return the weight with the largest gain; 0 if no weight has one, and never near 1.

        The gain is concave in the weight, so its maximum is where the slope is zero.
        """
        row_weights, relative = self._relative_gains(target, values)

        def slope(weight: float) -> float:
            return float(row_weights @ (relative / (1.0 + weight * relative)))

        low, high = 0.0, _MOST_WEIGHT
        if slope(low) <= 0.0:
            return 0.0
        if slope(high) > 0.0:
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
        return (low + high) / 2

    def accept(self, target: int, values: Floats, weight: float) -> None:
        """Update the target's values and flows after a link was drawn."""
        own, flow = self._values[self._row[target]], self._flows[self._row[target]]
        some = self._usable(own, flow, values)
        change = weight * (values[some] / own[some] - 1.0)
        own *= 1.0 - weight
        own += weight * values
        flow[some] *= (1.0 + change) / (1.0 + flow[some] * change)

    def _relative_gains(self, target: int, values: Floats) -> tuple[Floats, Floats]:
        """Return the weights of the rows that flow through the target, and by which fraction
        their likelihood would rise if the link's node replaced the target."""
        own, flow = self._values[self._row[target]], self._flows[self._row[target]]
        some = self._usable(own, flow, values)
        found: Floats = flow[some] * (values[some] / own[some] - 1.0)
        return self.rows.weights[some], found

    @staticmethod
    def _usable(own: Floats, flow: Floats, values: Floats) -> NDArray[np.bool_]:
        """Return for which rows the gain can be computed in the range of doubles."""
        found: NDArray[np.bool_] = _usable(own) & (flow > 0.0) & (values < np.inf)
        return found


def _usable(values: Floats) -> NDArray[np.bool_]:
    """Return where values are positive and finite."""
    found: NDArray[np.bool_] = (values > 0.0) & (values < np.inf)
    return found


def _mixture(graph: Graph, roots: Sequence[int]) -> Graph:
    """Return a copy of everything below the roots, with an equally weighted sum on top."""
    nodes = list(below(graph, *roots))
    found = Graph(columns=graph.graph["columns"], root="top")
    found.add_nodes_from((n, graph.nodes[n]) for n in nodes)
    found.add_edges_from((n, c, data) for n in nodes for c, data in graph.succ[n].items())
    found.add_node("top", node=Sum())
    found.add_edges_from(("top", n, {"weight": 1.0 / len(roots)}) for n in roots)
    return found
