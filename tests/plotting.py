"""What pictures are drawn of: pairs of columns, and histories of runs."""

from __future__ import annotations

import numpy as np

from spnc.reports.plots.mutual_information import Comparison
from spnc.runs.history import History


def two_matrices(seed: int, columns: int) -> Comparison:
    """Dependences of some columns at random, in the data and in a model."""
    rng = np.random.default_rng(seed)
    some = [rng.random((columns, columns)) for _ in range(2)]
    data, model = (np.where(np.eye(columns) > 0, 0.0, (m + m.T) / 2) for m in some)
    return Comparison("some", data, model)


def curve(train: list[float], valid: list[float] | None = None, **more: object) -> History:
    """The history of a run with these average log-likelihoods."""
    facts = {"name": "some", "kept": len(train) - 1, "finished": True, **more}
    return History(
        iterations=tuple(range(len(train))),
        train=tuple(train),
        valid=tuple(valid or ()),
        **facts,  # type: ignore[arg-type]
    )
