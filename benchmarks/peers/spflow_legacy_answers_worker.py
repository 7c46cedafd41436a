"""Record SPFlow 0.0.48's answers. Runs in its environment; never imports spnc."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
from answer_protocol import write_records
from speed_protocol import Circuit, Rows
from spflow_legacy_speed_worker import SpflowLegacy
from spflow_legacy_worker import IMPOSSIBLE_BELOW
from spn.algorithms.Condition import condition
from spn.algorithms.Inference import log_likelihood
from spn.algorithms.Marginalization import marginalize
from spn.algorithms.measures.InformationTheory import entropy, mutual_information
from spn.algorithms.MPE import mpe
from spn.algorithms.Sampling import sample_instances
from spn.algorithms.stats.Expectations import Expectation
from spn.structure.Base import Context, Leaf, get_nodes_by_type
from spn.structure.leaves.parametric.Moment import add_parametric_moment_support
from spn.structure.leaves.parametric.MPE import add_parametric_mpe_support
from spn.structure.StatisticalTypes import MetaType

LOST = "a product whose columns are all known loses its probability (SPFlow issue 93)"


class LegacyAnswers:
    """The library's own functions, in 64 bits."""

    peer, version = "spflow", version("spflow")
    packages = ("numpy", "scipy")
    wrong: ClassVar[dict[str, str]] = {
        "dag_binary_6 conditionals": LOST,
        "tree_categorical_7 conditionals": LOST,
    }

    def build(self, circuit: Circuit, columns: int) -> None:
        """Take a circuit."""
        add_parametric_moment_support()
        add_parametric_mpe_support()
        system = SpflowLegacy()
        system.build(circuit, np.zeros((0, columns)))
        self.root, self.columns = system.root, columns

    def log_likelihoods(self, rows: Rows) -> Rows:
        """Return log p of rows; missing cells are summed out."""
        return _values(self.root, rows)

    def marginals(self, columns: list[int], rows: Rows) -> Rows:
        """Return log p of rows of some columns, by a circuit without the others."""
        every = np.full((len(rows), self.columns), np.nan)
        every[:, columns] = rows
        return _values(marginalize(self.root, columns), every)

    def conditionals(self, evidence: Rows, rows: Rows) -> Rows:
        """Return log p(row | evidence), by a circuit that is conditioned on the evidence.

        NaN where the library fails.
        """
        found = np.full(len(rows), np.nan)
        for i, (known, row) in enumerate(zip(evidence, rows, strict=True)):
            with suppress(AssertionError), np.errstate(divide="ignore", invalid="ignore"):
                found[i] = _values(condition(self.root, known[None]), row[None])[0]
        return found

    def completions(self, rows: Rows) -> Rows:
        """Return the rows with most probable values in their missing cells."""
        with np.errstate(divide="ignore", over="ignore"):
            found: Rows = mpe(self.root, rows)
        return found

    def means(self, columns: list[int]) -> Rows:
        """Return the expectations of columns."""
        found: Rows = Expectation(self.root, columns)[0]
        return found

    def conditional_means(self, evidence: Rows, columns: list[int]) -> Rows:
        """Return the expectations of columns given each row of evidence."""
        found: Rows = Expectation(self.root, columns, evidence)
        return found

    def entropies(self, columns: list[list[int]]) -> list[float]:
        """Return the joint entropy of each set of columns, in nats."""
        context = self._context()
        return [float(entropy(self.root, context, set(own))) for own in columns]

    def informations(self, columns: list[list[list[int]]]) -> list[float]:
        """Return the mutual information of each two sets of columns, in nats."""
        context = self._context()
        return [
            float(mutual_information(self.root, context, set(one), set(other)))
            for one, other in columns
        ]

    def draws(self, evidence: Rows, count: int) -> Rows:
        """Return rows with the missing cells of the evidence drawn."""
        given = np.repeat(evidence, count, axis=0)
        with np.errstate(divide="ignore", over="ignore"):
            found: Rows = sample_instances(self.root, given, np.random.RandomState(17))
        return found

    conditional_draws = draws

    def _context(self) -> Any:
        """Return the states of all columns, as the library wants them."""
        states = {
            leaf.scope[0]: getattr(leaf, "k", 2) for leaf in get_nodes_by_type(self.root, Leaf)
        }
        context = Context(meta_types=[MetaType.DISCRETE] * self.columns)
        context.domains = np.empty(self.columns, dtype=object)
        for column, count in states.items():
            context.domains[column] = np.arange(count)
        return context


def _values(root: Any, rows: Rows) -> Rows:
    """Return log-likelihoods; SPFlow's lowest double stands for the log of zero."""
    with np.errstate(divide="ignore", over="ignore"):
        found: Rows = log_likelihood(root, rows).reshape(-1)
    return np.where(found < IMPOSSIBLE_BELOW, -np.inf, found)


if __name__ == "__main__":
    write_records(LegacyAnswers())
