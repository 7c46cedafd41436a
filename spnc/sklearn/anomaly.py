"""`SpncAnomaly`: a detector of odd rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from spnc.common.arrays import Floats
from spnc.queries.anomaly import scores
from spnc.sklearn.estimator import ITERATIONS, SMOOTHING, STATES, SpncEstimator


class SpncAnomaly(OutlierMixin, SpncEstimator):  # type: ignore[misc]
    """A detector of odd rows, by their log-likelihood.

    `contamination` is the share of the training rows that count as odd; the other parameters are
    those of `SpncDensity`.
    """

    def __init__(
        self,
        *,
        contamination: float = 0.1,
        states: int = STATES,
        forest: Sequence[Mapping[str, Any]] | None = None,
        max_iterations: int = ITERATIONS,
        smoothing: float = SMOOTHING,
        backend: str = "auto",
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            states=states,
            forest=forest,
            max_iterations=max_iterations,
            smoothing=smoothing,
            backend=backend,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train a model of the rows, and find the score below which rows are odd."""
        del y
        if not 0.0 < self.contamination <= 0.5:
            raise ValueError(f"contamination={self.contamination!r} is not in (0, 0.5]")
        self.model_ = self._train(self._read(X, reset=True))
        own = self.score_samples(X)
        self.offset_ = float(np.quantile(own, self.contamination))
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return log p of every row; odd rows have small ones."""
        check_is_fitted(self)
        return self._log_likelihood(self.model_, X)

    def decision_function(self, X: Any) -> Floats:
        """Return how far the score of every row is above that of odd rows."""
        found: Floats = self.score_samples(X) - self.offset_
        return found

    def predict(self, X: Any) -> Any:
        """Return -1 for odd rows, 1 for others."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def p_values(self, X: Any) -> Floats:
        """Return the probability that a row of the model is at most as likely, for every row."""
        check_is_fitted(self)
        model, table = self.model_, self._table(self.model_, self._read(X))
        return scores(model.engine, model.parameters, table).p_values
