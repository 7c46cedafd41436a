"""Ask deeprob-kit questions. Runs in its environment; never imports spnc."""

from __future__ import annotations

from typing import Any

import numpy as np
from asking_protocol import serve_questions
from deeprob.context import ContextState
from deeprob.spn.algorithms.sampling import sample
from deeprob_speed_worker import Deeprob
from numpy.typing import NDArray


class AskedDeeprob(Deeprob):
    """The library's own calls, without its check of the circuit."""

    def sample(self, rows: int) -> NDArray[Any]:
        """Return rows drawn from the circuit: of rows whose cells are all missing."""
        return self._drawn(np.full((rows, self.rows.shape[1]), np.nan))

    def complete(self) -> NDArray[Any]:
        """Return the rows with their missing cells drawn."""
        return self._drawn(self.rows)

    def _drawn(self, rows: NDArray[Any]) -> NDArray[Any]:
        with ContextState(check_spn=False):
            found: NDArray[Any] = sample(self.root, rows.astype(np.float32))
        return found


if __name__ == "__main__":
    serve_questions(AskedDeeprob())
