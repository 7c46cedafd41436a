"""Time SPFlow 1.1 on the benchmark's circuits. Runs in its environment; never imports spnc."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
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
from spflow.learn.expectation_maximization import expectation_maximization
from spflow.modules.leaves import Bernoulli, Categorical, Exponential, Normal, Poisson
from spflow.modules.products import Product
from spflow.modules.sums import Sum

NO_CORRECTION = (
    "its EM is asked for plain maximum likelihood (`bias_correction=False`); by default it divides "
    "variances by less than the weight of the rows"
)


class Spflow:
    """Modules of PyTorch, in 32 bits, its default."""

    version = version("spflow")
    tolerance = SINGLE

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Build the circuit from this library's own modules."""
        torch.set_num_threads(os.cpu_count() or 1)
        parents = np.bincount(circuit["children"], minlength=len(circuit["kind"]))
        modules: list[Any] = []
        for i, kind in enumerate(circuit["kind"].tolist()):
            children = node_children(circuit, i)
            if kind == LEAF:
                # A leaf with one parent becomes part of that parent's module, as in SPFlow's own
                # learner: far fewer modules, each with more work.
                modules.append(_leaves(circuit, [i], False) if parents[i] > 1 else None)
                continue
            own = [c for c in children if modules[c] is None]
            shared = [c for c in children if modules[c] is not None]
            inputs = [modules[c] for c in shared]
            groups = _alike(circuit, own)
            inputs += [_leaves(circuit, group, kind == SUM) for group in groups]
            if kind == SUM:
                weight = dict(zip(children, node_weights(circuit, i), strict=True))
                order = [*shared, *(c for group in groups for c in group)]
                modules.append(Sum(inputs=inputs, weights=[weight[c] for c in order]))
            else:
                modules.append(Product(inputs=inputs))
        self.root = modules[int(circuit["root"])]
        self.rows, self.tensor = rows, _tensor(rows)
        self.state = {name: value.clone() for name, value in self.root.state_dict().items()}
        has_gaussian = "gaussian" in circuit["distribution"]
        return {"deviation": NO_CORRECTION} if has_gaussian else {}

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows."""
        with torch.no_grad():
            values: NDArray[Any] = self.root.log_likelihood(_tensor(self.rows)).numpy()
        return values

    def restore(self) -> None:
        """Set the parameters back to those of the circuit."""
        self.root.load_state_dict(self.state)
        self.root.zero_grad(set_to_none=True)

    def em(self) -> None:
        """Run one iteration of EM, by the library's own function."""
        expectation_maximization(self.root, self.tensor, max_steps=1, bias_correction=False)


def _tensor(rows: Rows) -> Any:
    return torch.tensor(rows, dtype=torch.get_default_dtype())


def _alike(circuit: Circuit, leaves: list[int]) -> list[list[int]]:
    """Group leaves that one module can hold: one distribution, one number of parameters."""
    groups: dict[tuple[str, int], list[int]] = {}
    for i in leaves:
        key = leaf_distribution(circuit, i), len(leaf_parameters(circuit, i))
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _leaves(circuit: Circuit, nodes: list[int], of_sum: bool) -> Any:
    """Make one module of leaves: channels of one column below a sum, columns below a product."""
    columns = circuit["column"][nodes].tolist()
    scope = columns[0] if of_sum else columns
    table = _tensor(np.array([leaf_parameters(circuit, i) for i in nodes]))
    # [feature, channel, repetition, parameter]
    table = table.reshape(*((1, -1) if of_sum else (-1, 1)), 1, table.shape[1])
    match leaf_distribution(circuit, nodes[0]):
        case "bernoulli":
            return Bernoulli(scope, probs=table[..., 0], validate_args=False)
        case "categorical":
            return Categorical(scope, probs=table, validate_args=False)
        case "gaussian":
            loc, scale = table[..., 0].clone(), table[..., 1].clone()
            return Normal(scope, loc=loc, scale=scale, validate_args=False)
        case "poisson":
            return Poisson(scope, rate=table[..., 0], validate_args=False)
        case "exponential":
            return Exponential(scope, rate=table[..., 0], validate_args=False)
        case other:
            raise UnableError(f"this benchmark has no {other} leaves for it")


if __name__ == "__main__":
    serve(Spflow())
