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
    leaf_distribution,
    leaf_parameters,
    node_children,
    node_weights,
    serve,
)
from spn.algorithms.EM import EM_optimization, add_node_em_update
from spn.algorithms.Inference import log_likelihood
from spn.structure.Base import Product, Sum, assign_ids, get_nodes_by_type, rebuild_scopes_bottom_up
from spn.structure.leaves.parametric.EM import add_parametric_EM_support
from spn.structure.leaves.parametric.Parametric import (
    Bernoulli,
    Categorical,
    Exponential,
    Gaussian,
    Poisson,
)

# By leaf distribution: this library's class, and the names of its parameters.
LEAVES = {
    "bernoulli": (Bernoulli, ("p",)),
    "categorical": (Categorical, ("p",)),
    "gaussian": (Gaussian, ("mean", "stdev")),
    "poisson": (Poisson, ("mean",)),
    "exponential": (Exponential, ("l",)),
}
CATEGORICAL_EM = (
    "its EM leaves categorical leaves as they are, so an update for them is registered by its own "
    "`add_node_em_update`"
)


class SpflowLegacy:
    """Nodes as Python objects, evaluated one by one with NumPy and SciPy, in 64 bits."""

    version = version("spflow")
    tolerance = DOUBLE

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Build the circuit from this library's own objects."""
        add_parametric_EM_support()
        add_node_em_update(Categorical, categorical_em_update)
        nodes: list[Any] = []
        for i, kind in enumerate(circuit["kind"].tolist()):
            children = [nodes[c] for c in node_children(circuit, i)]
            if kind == LEAF:
                nodes.append(_leaf(circuit, i))
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
        self.leaves = [
            (node, {name: getattr(node, name) for name in names})
            for kind, names in LEAVES.values()
            for node in get_nodes_by_type(self.root, kind)
        ]
        has_categorical = "categorical" in circuit["distribution"]
        return {"deviation": CATEGORICAL_EM} if has_categorical else {}

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows."""
        # A leaf whose EM set a probability to 0 takes the logarithm of 0.
        with np.errstate(divide="ignore", over="ignore"):
            values: NDArray[Any] = log_likelihood(self.root, self.rows)
        return values

    def restore(self) -> None:
        """Set the parameters back to those of the circuit."""
        for node, weights in self.sums:
            node.weights = list(weights)
        for node, parameters in self.leaves:
            vars(node).update(parameters)

    def em(self) -> None:
        """Run one iteration of EM, by the library's own function."""
        try:
            EM_optimization(self.root, self.rows, iterations=1, skip_validation=True)
        except (AssertionError, IndexError, ValueError, KeyError, TypeError) as error:
            where = " on shared nodes" if self.shared else ""
            raise UnableError(f"its EM fails{where}: {type(error).__name__} {error}") from error


def _leaf(circuit: Circuit, i: int) -> Any:
    column, parameters = int(circuit["column"][i]), leaf_parameters(circuit, i)
    match leaf_distribution(circuit, i):
        case "bernoulli":
            return Bernoulli(p=parameters[0], scope=[column])
        case "categorical":
            return Categorical(p=parameters, scope=[column])
        case "gaussian":
            return Gaussian(mean=parameters[0], stdev=parameters[1], scope=[column])
        case "poisson":
            return Poisson(mean=parameters[0], scope=[column])
        case "exponential":
            return Exponential(l=parameters[0], scope=[column])
        case other:
            raise UnableError(f"this benchmark has no {other} leaves for it")


def categorical_em_update(
    node: Any, node_lls: Any, node_gradients: Any, root_lls: Any, data: Any, **_: Any
) -> None:
    """Set the probabilities to the expected shares, as the library's own updates do."""
    log_flows = node_gradients - root_lls + node_lls
    flows = np.exp(log_flows - log_flows.max())
    codes = data[:, node.scope[0]].astype(np.int64)
    counts = np.bincount(codes, weights=flows, minlength=node.k)
    node.p = (counts / counts.sum()).tolist()


if __name__ == "__main__":
    serve(SpflowLegacy())
