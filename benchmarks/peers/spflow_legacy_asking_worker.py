"""Ask SPFlow 0.0.48 questions. Runs in its environment; never imports spnc."""

from __future__ import annotations

from typing import Any

import numpy as np
from asking_protocol import serve_questions
from numpy.typing import NDArray
from spflow_legacy_speed_worker import SpflowLegacy
from spn.algorithms.Sampling import sample_instances


class AskedSpflowLegacy(SpflowLegacy):
    """The library's own calls; it draws missing cells with likelihoods of the known ones."""

    def sample(self, rows: int) -> NDArray[Any]:
        """Return rows drawn from the circuit: of rows whose cells are all missing."""
        return self._drawn(np.full((rows, self.rows.shape[1]), np.nan))

    def complete(self) -> NDArray[Any]:
        """Return the rows with their missing cells drawn."""
        return self._drawn(self.rows)

    def _drawn(self, rows: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = sample_instances(self.root, rows, np.random.RandomState(0))
        return found


if __name__ == "__main__":
    serve_questions(AskedSpflowLegacy())
