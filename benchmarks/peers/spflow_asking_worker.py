"""Ask SPFlow 1.1 questions. Runs in its environment; never imports spnc."""

from __future__ import annotations

from typing import Any

import torch
from asking_protocol import serve_questions
from numpy.typing import NDArray
from spflow_speed_worker import Spflow


class AskedSpflow(Spflow):
    """The library's own calls."""

    def sample(self, rows: int) -> NDArray[Any]:
        """Return rows drawn from the circuit."""
        with torch.no_grad():
            found: NDArray[Any] = self.root.sample(num_samples=rows).numpy()
        return found

    def complete(self) -> NDArray[Any]:
        """Return the rows with their missing cells drawn."""
        evidence = torch.tensor(self.rows, dtype=torch.float32)
        with torch.no_grad():
            found: NDArray[Any] = self.root.sample_with_evidence(evidence).numpy()
        return found


if __name__ == "__main__":
    serve_questions(AskedSpflow())
