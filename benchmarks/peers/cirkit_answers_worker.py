"""Record cirkit's answers. Runs in its environment; never imports spnc."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import torch
from answer_protocol import write_records
from cirkit.backend.torch.queries import SamplingQuery
from cirkit.symbolic import functional
from cirkit.symbolic.circuit import StructuralPropertyError
from cirkit.utils.scope import Scope
from cirkit_circuits import compiler, log_likelihood, symbolic_circuit
from speed_protocol import Circuit, Rows, UnableError


class CirkitAnswers:
    """The library's operators on symbolic circuits, and its queries, in 64 bits."""

    peer, version = "cirkit", version("libcirkit")
    packages = ("numpy", "torch")
    wrong: ClassVar[dict[str, str]] = {}

    def build(self, circuit: Circuit, columns: int) -> None:
        """Take a circuit."""
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(17)
        self.symbolic, self.columns = symbolic_circuit(circuit), columns
        self.compiler = compiler()
        self.compiled = self.compiler.compile(self.symbolic)

    def log_likelihoods(self, rows: Rows) -> Rows:
        """Return log p of rows; missing cells are integrated out."""
        return _array(log_likelihood(self.compiled, rows))

    def marginals(self, columns: list[int], rows: Rows) -> Rows:
        """Return log p of rows of some columns, by a circuit without the others."""
        every = np.zeros((len(rows), self.columns))
        every[:, columns] = rows
        others = Scope(i for i in range(self.columns) if i not in columns)
        marginal = self.compiler.compile(functional.integrate(self.symbolic, others))
        return _array(log_likelihood(marginal, every))

    def conditionals(self, evidence: Rows, rows: Rows) -> Rows:
        """Return log p(row | evidence), by a circuit that has observed the evidence."""
        # Folding does not tell apart evidence on columns with different numbers of states.
        unfolded = compiler(fold=False)
        found = []
        for known, row in zip(evidence, rows, strict=True):
            seen = {i: float(known[i]) for i in np.flatnonzero(~np.isnan(known)).tolist()}
            given = functional.evidence(self.symbolic, seen)
            total = unfolded.compile(functional.integrate(given))()
            cells = np.where(np.isnan(row), 0.0, row)[None]  # known cells are not used
            found.append(log_likelihood(unfolded.compile(given), cells) - total.reshape(-1))
        return _array(torch.concatenate(found))

    def draws(self, evidence: Rows, count: int) -> Rows:
        """Return rows drawn from the circuit."""
        if not np.isnan(evidence).all():
            raise UnableError("it draws whole rows only")
        with torch.no_grad():
            found: Rows = SamplingQuery(self.compiled)(count)[0].numpy().astype(np.float64)
        return found

    conditional_draws = draws

    def log_square(self) -> float:
        """Return log ∫ p(x)² dx, by the product of the circuit with itself."""
        try:
            square = functional.multiply(self.symbolic, self.symbolic)
        except StructuralPropertyError as error:
            raise UnableError(str(error)) from error
        return float(self.compiler.compile(functional.integrate(square))().detach())


def _array(values: Any) -> Rows:
    found: Rows = values.detach().numpy().reshape(-1)
    return found


if __name__ == "__main__":
    write_records(CirkitAnswers())
