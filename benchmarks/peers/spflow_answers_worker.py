"""Record SPFlow 1.1's answers. Runs in its environment; never imports spnc."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import torch
from answer_protocol import write_records
from speed_protocol import Circuit, Rows, UnableError
from spflow.exceptions import UnsupportedOperationError
from spflow.measures import entropy, mutual_information
from spflow.utils.range_inference import log_likelihood_interval
from spflow_speed_worker import Spflow

NAN = "log-likelihoods are NaN where a Bernoulli leaf has p = 0 or p = 1"
LEFT_OUT = f"{NAN}, and these states are left out"


class SpflowAnswers:
    """The library's own functions, in 64 bits."""

    peer, version = "spflow", version("spflow")
    packages = ("numpy", "torch")
    wrong: ClassVar[dict[str, str]] = {
        "decisions_5 log_likelihoods": NAN,
        "decisions_5 entropies": LEFT_OUT,
        "decisions_5 informations": LEFT_OUT,
        "impossible_categorical log_likelihoods": NAN,
        "impossible_categorical entropies": LEFT_OUT,
        "impossible_categorical informations": LEFT_OUT,
        "impossible_categorical intervals": "a leaf's probability of an interval is at least 1e-40",
    }

    def build(self, circuit: Circuit, columns: int) -> None:
        """Take a circuit."""
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(17)
        system = Spflow()
        system.build(circuit, np.zeros((0, columns)))
        self.root, self.columns = system.root, columns

    def log_likelihoods(self, rows: Rows) -> Rows:
        """Return log p of rows; missing cells are summed out."""
        return _array(self.root.log_likelihood(torch.tensor(rows)))

    def marginals(self, columns: list[int], rows: Rows) -> Rows:
        """Return log p of rows of some columns, by a circuit without the others."""
        every = torch.full((len(rows), self.columns), torch.nan)
        every[:, columns] = torch.tensor(rows)
        others = [i for i in range(self.columns) if i not in columns]
        return _array(self.root.marginalize(others).log_likelihood(every))

    def completions(self, rows: Rows) -> Rows:
        """Return the rows with most probable values in their missing cells."""
        found = self.root.sample_with_evidence(torch.tensor(rows), is_mpe=True)
        return np.asarray(found.detach().numpy(), dtype=np.float64)

    def entropies(self, columns: list[list[int]]) -> list[float]:
        """Return the joint entropy of each set of columns, in nats."""
        return [self._measured(entropy, own) for own in columns]

    def informations(self, columns: list[list[list[int]]]) -> list[float]:
        """Return the mutual information of each two sets of columns, in nats."""
        return [self._measured(mutual_information, one, other) for one, other in columns]

    def intervals(self, low: Rows, high: Rows) -> Rows:
        """Return log P(low <= row <= high)."""
        return _array(log_likelihood_interval(self.root, torch.tensor(low), torch.tensor(high)))

    def draws(self, evidence: Rows, count: int) -> Rows:
        """Return rows with the missing cells of the evidence drawn."""
        given = torch.tensor(np.repeat(evidence, count, axis=0))
        found = self.root.sample_with_evidence(given)
        return np.asarray(found.detach().numpy(), dtype=np.float64)

    conditional_draws = draws

    def _measured(self, measure: Any, *columns: list[int]) -> float:
        try:
            return float(measure(self.root, *columns, method="exact").detach())
        except UnsupportedOperationError as error:
            raise UnableError(str(error)) from error


def _array(values: Any) -> Rows:
    found: Rows = values.detach().numpy().reshape(-1)
    return found


if __name__ == "__main__":
    write_records(SpflowAnswers())
