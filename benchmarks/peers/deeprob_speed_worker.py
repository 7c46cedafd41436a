"""Time deeprob-kit on the benchmark's circuits. Runs in its environment; never imports spnc."""

from __future__ import annotations

from importlib.metadata import version
from types import MappingProxyType
from typing import Any

import numpy as np
from deeprob.context import ContextState
from deeprob.spn.algorithms.inference import log_likelihood
from deeprob.spn.learning.em import expectation_maximization
from deeprob.spn.structure.leaf import Bernoulli, Categorical, Gaussian
from deeprob.spn.structure.node import Product, Sum, assign_ids
from numpy.typing import NDArray
from speed_protocol import (
    LEAF,
    SINGLE,
    SUM,
    Circuit,
    Rows,
    UnableError,
    leaf_distribution,
    leaf_parameters,
    node_children,
    node_weights,
    serve,
)

# Its EM is stepwise and wants a batch and a step below one: all rows but one are the most.
ALMOST = 1.0 - 1e-12


class Deeprob:
    """Nodes as Python objects, evaluated layer by layer in threads, in 32 bits."""

    version = version("deeprob-kit")
    tolerance = MappingProxyType({**SINGLE, "em": 1e-3})  # it skips one row and adds a prior

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Build the circuit from this library's own objects."""
        nodes: list[Any] = []
        self.sums: list[tuple[Sum, Any]] = []
        self.leaves: list[tuple[Any, dict[str, Any]]] = []
        for i, kind in enumerate(circuit["kind"].tolist()):
            children = [nodes[c] for c in node_children(circuit, i)]
            node: Any
            if kind == LEAF:
                node = _leaf(circuit, i)
                self.leaves.append((node, _parameters(node)))
            elif kind == SUM:
                weights = np.array(node_weights(circuit, i), dtype=np.float32)
                node = Sum(children=children, weights=weights)
                self.sums.append((node, weights))
            else:
                node = Product(children=children)
            nodes.append(node)
        self.root = assign_ids(nodes[int(circuit["root"])])
        self.rows, self.single = rows, rows.astype(np.float32)
        return {}

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows."""
        # Its default is to check the circuit in every call. The check is switched off, since the
        # circuit is known to be valid.
        with ContextState(check_spn=False):
            values: NDArray[Any] = log_likelihood(self.root, self.rows.astype(np.float32))
        return values

    def restore(self) -> None:
        """Set the parameters back to those of the circuit."""
        for node, weights in self.sums:
            node.weights = weights
        for leaf, parameters in self.leaves:
            vars(leaf).update(parameters)

    def em(self) -> None:
        """Run one iteration of EM, by the library's own function."""
        with ContextState(check_spn=False):
            expectation_maximization(
                self.root,
                self.single,
                num_iter=1,
                batch_perc=ALMOST,
                step_size=ALMOST,
                random_init=False,
                random_state=0,
                verbose=False,
            )


def _leaf(circuit: Circuit, i: int) -> Any:
    column, parameters = int(circuit["column"][i]), leaf_parameters(circuit, i)
    match leaf_distribution(circuit, i):
        case "bernoulli":
            return Bernoulli(column, parameters[0])
        case "categorical":
            return Categorical(column, list(range(len(parameters))), parameters)
        case "gaussian":
            return Gaussian(column, parameters[0], parameters[1])
        case other:
            raise UnableError(f"this benchmark has no {other} leaves for it")


def _parameters(leaf: Any) -> dict[str, Any]:
    """Return what EM replaces in a leaf; it changes none of these objects in place."""
    names = ("p", "probabilities", "distribution", "mean", "stddev")
    return {name: value for name, value in vars(leaf).items() if name in names}


if __name__ == "__main__":
    serve(Deeprob())
