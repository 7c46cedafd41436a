"""`SpncDensity`: a density of rows."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from spnc.common.arrays import Floats
from spnc.sklearn.estimator import SpncEstimator


class SpncDensity(DensityMixin, SpncEstimator):  # type: ignore[misc]
    """A density of rows: exact log-likelihoods, with missing cells, and samples.

    Parameters
    ----------
    states : int
        States of each hidden variable of the default forest, a hidden Chow-Liu tree.
    forest : list of dict, optional
        Another forest, as in a spec: `[{"learner": "learn-spn", "min_instances": 50}]`.
    max_iterations : int
        Iterations of EM.
    smoothing : float
        Pseudo-rows that are added to every count.
    backend : str
        The backend that computes.
    n_jobs : int, optional
        How many components of the forest are learned at a time; -1: one per core.
    random_state : int
        The seed.

    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train a model of the rows."""
        del y
        self.model_ = self._train(self._read(X, reset=True))
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return log p of every row."""
        check_is_fitted(self)
        return self._log_likelihood(self.model_, X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the total log-likelihood of the rows."""
        del y
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: int = 0) -> Any:
        """Return drawn rows: an array, or a pandas frame if columns have labels or dates."""
        check_is_fitted(self)
        rows = self.model_.sample(n_samples, seed=random_state)
        if all(column.kind == "real" for column in self.model_.columns):
            return rows.values
        return rows.to_pandas()
