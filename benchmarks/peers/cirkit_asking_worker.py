"""Ask cirkit questions. Runs in its environment; never imports spnc."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from asking_protocol import serve_questions
from cirkit.backend.torch.queries import SamplingQuery
from cirkit_circuits import compiler, log_likelihood, symbolic_circuit
from numpy.typing import NDArray
from speed_protocol import Circuit, Rows, UnableError

# The fastest of several sizes on this benchmark's circuits. cirkit keeps, for every node and drawn
# row, a cell for every column, so larger batches of drawn rows only take more memory.
BATCH, DRAWN_BATCH = 1_000, 16
LAYERS = (
    "every node is a layer of one unit, which cirkit's compiler folds; leaves beside inner nodes "
    "are put into products or sums of their own, so that it copies less: the same distribution, "
    "and many rows take a fifth of the time"
)


class AskedCirkit:
    """Folded layers of PyTorch, in 32 bits, its default."""

    version = version("libcirkit")

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Build the circuit from this library's own layers, and compile it."""
        torch.set_num_threads(os.cpu_count() or 1)
        self.compiled = compiler().compile(symbolic_circuit(circuit))
        self.rows = rows
        return {"deviation": LAYERS}

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows; missing cells are integrated out."""
        starts = range(0, len(self.rows), BATCH)
        parts = [log_likelihood(self.compiled, self.rows[at : at + BATCH]) for at in starts]
        return np.concatenate([part.numpy() for part in parts])

    def sample(self, rows: int) -> NDArray[Any]:
        """Return rows drawn from the circuit."""
        query = SamplingQuery(self.compiled)
        with torch.no_grad():
            parts = [
                query(min(DRAWN_BATCH, rows - at))[0].numpy() for at in range(0, rows, DRAWN_BATCH)
            ]
        return np.concatenate(parts)

    def complete(self) -> NDArray[Any]:
        """Refuse: this version draws only whole rows."""
        raise UnableError("it draws whole rows only, not missing cells given the known ones")


if __name__ == "__main__":
    serve_questions(AskedCirkit())
