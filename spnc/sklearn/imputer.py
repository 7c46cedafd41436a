"""`SpncImputer`: a transformer that fills missing cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spnc.queries.imputation import Method, imputation
from spnc.sklearn.estimator import ITERATIONS, SMOOTHING, STATES, SpncEstimator


class SpncImputer(OneToOneFeatureMixin, TransformerMixin, SpncEstimator):  # type: ignore[misc]
    """A transformer that fills missing cells.

    `method` is one of those of `Model.impute`; the other parameters are those of `SpncDensity`.
    """

    def __init__(
        self,
        *,
        method: Method = "mean",
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
        self.method = method

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train a model of the rows."""
        del y
        self.model_ = self._train(self._read(X, reset=True))
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows with their missing cells filled: an array, or a frame for a frame."""
        check_is_fitted(self)
        data, model = self._read(X), self.model_
        table = self._table(model, data)
        if not isinstance(data, Mapping):
            return model.impute(data, method=self.method)
        found = imputation(model.engine, model.parameters, table, method=self.method)
        filled = np.column_stack([np.asarray(cells, dtype=np.float64) for cells in data.values()])
        for i, column in enumerate(model.columns):
            place = list(data).index(column.name)
            own = found.filled[:, i]
            filled[own, place] = found.cells[own, i]
        return filled
