"""`SpncEstimator`: what all estimators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from spnc.api import train
from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.diagnostics import InputError
from spnc.model import Model
from spnc.queries.likely_rows import log_likelihood
from spnc.registry import BACKENDS
from spnc.tables.carried import Carried

LEARNER, STATES, ITERATIONS, SMOOTHING = "hclt", 8, 50, 0.1


class SpncEstimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators share: parameters of a recipe, training, and reading tables."""

    def __init__(
        self,
        *,
        states: int = STATES,
        forest: Sequence[Mapping[str, Any]] | None = None,
        max_iterations: int = ITERATIONS,
        smoothing: float = SMOOTHING,
        backend: str = "auto",
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.states = states
        self.forest = forest
        self.max_iterations = max_iterations
        self.smoothing = smoothing
        self.backend = backend
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, *, reset: bool = False) -> dict[str, list[Any]] | Any:
        """Return data as `spnc` reads it: a data frame, or a dict of the columns of an array."""
        frame = Carried.of(X) if not isinstance(X, list | tuple) else None
        if frame is not None and frame.frame is not None:
            validate_data(self, X, reset=reset, skip_check_array=True)
            if reset and not frame.frame.shape[0] > 1:
                raise ValueError(f"n_samples={frame.frame.shape[0]}: at least 2 are needed")
            return X
        cells = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return {f"x{i}": cells[:, i].tolist() for i in range(cells.shape[1])}

    def _train(self, data: Any, more: Mapping[str, list[Any]] | None = None) -> Model:
        """Train a model of the data; `more` are categorical columns beside it."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(1 << 31))
        carried = Carried.of(data)
        assert carried is not None
        kinds: dict[str, Any] = dict.fromkeys(more or {}, "categorical")
        kinds |= dict.fromkeys(carried.number_names(), "real")
        if more:
            data = carried.added({n: np.array(c, dtype=object) for n, c in more.items()}).data
        forest = self.forest or [{"learner": LEARNER, "states": self.states}]
        spec = {
            "model": type(self).__name__,
            "data": {"columns": kinds} if kinds else {},
            "forest": [dict(part) for part in forest],
            "optimizer": {"method": "em", "max_iterations": self.max_iterations},
            "smoothing": self.smoothing,
            "seed": seed or 0,
            "backend": self.backend,
        }
        try:
            model = train(spec, data=data, n_jobs=self.n_jobs).model
        except InputError as error:
            raise ValueError(str(error)) from error
        model.backend = BACKENDS[self.backend]()
        return model

    def _table(self, model: Model, data: Any) -> Table:
        """Return what `_read` returned as rows for a fitted model."""
        try:
            return model.table_of(data)
        except InputError as error:
            raise ValueError(str(error)) from error

    def _log_likelihood(self, model: Model, X: Any) -> Floats:
        """Return log p of every row."""
        table = self._table(model, self._read(X))
        return log_likelihood(model.engine, model.parameters, table.values)
