"""Time SPFlow 1.1 on the benchmark's circuits. Runs in its environment; never imports spnc."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from speed_protocol import LEAF, SINGLE, SUM, Circuit, Rows, node_children, node_weights, serve
from spflow.learn.expectation_maximization import expectation_maximization
from spflow.modules.leaves import Bernoulli
from spflow.modules.products import Product
from spflow.modules.sums import Sum


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
            if own:
                inputs.append(_leaves(circuit, own, kind == SUM))
            if kind == SUM:
                weight = dict(zip(children, node_weights(circuit, i), strict=True))
                modules.append(Sum(inputs=inputs, weights=[weight[c] for c in [*shared, *own]]))
            else:
                modules.append(Product(inputs=inputs))
        self.root = modules[int(circuit["root"])]
        self.rows, self.tensor = rows, _tensor(rows)
        self.state = {name: value.clone() for name, value in self.root.state_dict().items()}
        return {}

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
        expectation_maximization(self.root, self.tensor, max_steps=1)


def _tensor(rows: Rows) -> Any:
    return torch.tensor(rows, dtype=torch.float32)


def _leaves(circuit: Circuit, nodes: list[int], of_sum: bool) -> Any:
    """Make one module of leaves: channels of one column below a sum, columns below a product."""
    columns = circuit["column"][nodes].tolist()
    p = torch.tensor(circuit["p"][nodes], dtype=torch.float32)
    if of_sum:
        return Bernoulli(columns[0], probs=p.reshape(1, -1, 1), validate_args=False)
    return Bernoulli(columns, probs=p.reshape(-1, 1, 1), validate_args=False)


if __name__ == "__main__":
    serve(Spflow())
