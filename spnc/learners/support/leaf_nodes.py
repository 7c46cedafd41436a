"""Nodes for leaf models: a leaf, or a sum over several leaves of the same column."""

from __future__ import annotations

from collections.abc import Sequence

from spnc.graph.nodes import Leaf, Node, Origin, Sum
from spnc.learners.support.leaf_choice import LeafModel


class NodeList:
    """Nodes and edges of a circuit that is being made, in the form that `Builder.extend` takes."""

    def __init__(self, origin: Origin | None) -> None:
        self.origin = origin
        self.nodes: list[Node] = []
        self.edges: list[tuple[int, int, float | None]] = []

    def add_all(self, variable: int, models: Sequence[LeafModel], rows: Sequence[float]) -> int:
        """Add a node for each of these models of a column. Return the first; the others follow."""
        first = len(self.nodes)
        self.nodes += [Sum()] * len(models)  # replaced at once
        for i, (model, own) in enumerate(zip(models, rows, strict=True)):
            self.put(first + i, variable, model, own)
        return first

    def put(self, place: int, variable: int, model: LeafModel, rows: float) -> None:
        """Put the node for a model at this place of the list, and its parts at the end."""
        if len(model.parts) == 1:
            self.nodes[place] = Leaf(variable, model.parts[0], rows, self.origin)
            return
        self.nodes[place] = Sum(rows, self.origin)
        for part, weight in zip(model.parts, model.weights, strict=True):
            self.edges.append((place, len(self.nodes), weight))
            self.nodes.append(Leaf(variable, part, rows * weight, self.origin))
