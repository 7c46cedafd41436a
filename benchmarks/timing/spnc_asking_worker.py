"""Ask spnc questions, by the same commands as its peers."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.circuits import lowered
from benchmarks.common.flat_circuit import Flat, columns_of, graph_of
from benchmarks.peers.speed_protocol import Circuit, Rows
from spnc.data.table import Table
from spnc.model import Model
from spnc.queries.complete import complete


class AskedSpnc:
    """A model, asked as users ask it."""

    version = version("spnc-forest")

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Make the model, and let it compile what it compiles at the first question."""
        flat = Flat.of(circuit)
        program, parameters = lowered(graph_of(flat, columns_of(flat, np.nan_to_num(rows))))
        self.rows = rows
        self.model = Model("asked", program, parameters)
        self.model.log_likelihood(rows[:1])
        self.model.log_likelihood(rows[:100])
        return {}

    def call(self) -> NDArray[np.float64]:
        """Return the log-likelihoods of all rows."""
        return self.model.log_likelihood(self.rows)

    def sample(self, rows: int) -> NDArray[np.float64]:
        """Return rows drawn from the model."""
        return self.model.sample(rows).cells

    def complete(self) -> NDArray[np.float64]:
        """Return the rows with their missing cells drawn."""
        model, rng = self.model, np.random.default_rng(0)
        return complete(model.engine, model.parameters, Table(self.rows), rng)

    def pairs(self) -> NDArray[np.float64]:
        """Return the mutual information of all pairs of columns."""
        return self.model.mutual_information()


if __name__ == "__main__":
    # The protocol is shared with scripts that know no packages.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
    from asking_protocol import serve_questions

    serve_questions(AskedSpnc())
