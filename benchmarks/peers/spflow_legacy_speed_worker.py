"""Time SPFlow 0.0.48 on the benchmark's circuits. Runs in its environment; never imports spnc."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from speed_protocol import (
    DOUBLE,
    LEAF,
    SUM,
    Circuit,
    Rows,
    UnableError,
    node_children,
    node_weights,
    serve,
)
from spn.algorithms.EM import EM_optimization
from spn.algorithms.Inference import log_likelihood
from spn.structure.Base import Product, Sum, assign_ids, get_nodes_by_type, rebuild_scopes_bottom_up
from spn.structure.leaves.parametric.EM import add_parametric_EM_support
from spn.structure.leaves.parametric.Parametric import Bernoulli


class SpflowLegacy:
    """Nodes as Python objects, evaluated one by one with NumPy and SciPy, in 64 bits."""

    version = version("spflow")
    tolerance = DOUBLE

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Build the circuit from this library's own objects."""
        add_parametric_EM_support()
        nodes: list[Any] = []
        for i, kind in enumerate(circuit["kind"].tolist()):
            children = [nodes[c] for c in node_children(circuit, i)]
            if kind == LEAF:
                nodes.append(Bernoulli(p=float(circuit["p"][i]), scope=[int(circuit["column"][i])]))
            elif kind == SUM:
                nodes.append(Sum(weights=node_weights(circuit, i), children=children))
            else:
                nodes.append(Product(children=children))
        self.root = nodes[int(circuit["root"])]
        rebuild_scopes_bottom_up(self.root)
        assign_ids(self.root)
        self.rows = rows
        self.shared = bool((np.bincount(circuit["children"]) > 1).any())
        self.sums = [(node, list(node.weights)) for node in get_nodes_by_type(self.root, Sum)]
        self.leaves = [(node, node.p) for node in get_nodes_by_type(self.root, Bernoulli)]
        return {}

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows."""
        # A leaf that EM set to p = 1 takes the logarithm of 0.
        with np.errstate(divide="ignore", over="ignore"):
            values: NDArray[Any] = log_likelihood(self.root, self.rows)
        return values

    def restore(self) -> None:
        """Set the parameters back to those of the circuit."""
        for node, weights in self.sums:
            node.weights = list(weights)
        for node, p in self.leaves:
            node.p = p

    def em(self) -> None:
        """Run one iteration of EM, by the library's own function."""
        try:
            EM_optimization(self.root, self.rows, iterations=1, skip_validation=True)
        except (AssertionError, IndexError, ValueError, KeyError, TypeError) as error:
            where = " on shared nodes" if self.shared else ""
            raise UnableError(f"its EM fails{where}: {type(error).__name__} {error}") from error


if __name__ == "__main__":
    serve(SpflowLegacy())
