"""Parts of a mixture: some columns, with parameters for every group of rows.

Given the group, parts are independent. Each knows the cells of the rows that it is fitted to, and
of those that it is validated on.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.learners.support.factor_models import (
    FactorModel,
    Places,
    improved,
    log_likelihoods,
    starting_model,
)
from spnc.learners.support.leaf_choice import LeafModel
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.smoothing import smoothed

T = TypeVar("T")


class Both(NamedTuple, Generic[T]):
    """Something of the training rows, and of the validation rows."""

    train: T
    valid: T

    def of(self, *, valid: bool) -> T:
        """Return that of the validation rows, or of the training rows."""
        return self.valid if valid else self.train


class GroupPart(Protocol):
    """Some columns of a mixture."""

    def fit(self, members: Floats) -> None:
        """Fit all groups to the training rows, `members[group, row]`: their weights in each."""
        ...

    def log_likelihoods(self, *, valid: bool) -> Floats:
        """Return log p(cells | group), `[group, row]`."""
        ...

    def arrays(self) -> dict[str, Floats]:
        """Return all parameters, which may be changed in place."""
        ...


class StatesPart:
    """One column of states; or which point of a column, or none, a number is at."""

    def __init__(self, codes: Both[Floats], states: int, groups: int, alpha: float) -> None:
        """`codes` are NaN where missing."""
        self._codes, self._alpha = codes, alpha
        self.table = np.full((groups, states), 1.0 / states)

    def fit(self, members: Floats) -> None:
        """Count the states."""
        codes = self._codes.train
        own = (codes == np.arange(self.table.shape[1])[:, None]).astype(np.float64)
        self.table[...] = smoothed(members @ own.T, self._alpha, self.table)

    def log_likelihoods(self, *, valid: bool) -> Floats:
        """Return the log probabilities of the states."""
        codes = self._codes.of(valid=valid)
        with np.errstate(divide="ignore"):
            table = np.concatenate([np.log(self.table), np.zeros((len(self.table), 1))], axis=1)
        missing = self.table.shape[1]
        found: Floats = table[:, np.where(np.isnan(codes), missing, codes).astype(np.intp)]
        return found

    def arrays(self) -> dict[str, Floats]:
        """Return the probabilities."""
        return {"table": self.table}


class NumbersPart:
    """One column of numbers that is independent of the others in each group."""

    def __init__(
        self, column: Column, leaf: Distribution, values: Both[Floats], groups: int, alpha: float
    ) -> None:
        """`leaf` is that of all rows: the kind of the groups' leaves, and where they begin."""
        self._column, self._kind, self._alpha, self._values = column, type(leaf), alpha, values
        self._known = LeafColumns.of([column], np.zeros(groups, dtype=np.int64))
        self._table = np.tile(np.array(leaf.row, dtype=np.float64), (groups, 1))
        self._rows = np.zeros(groups)  # with a value, by group

    def fit(self, members: Floats) -> None:
        """Estimate the leaves."""
        values = self._values.train[None]
        found = self._kind.statistics(values, members, self._table, self._known)
        self._table[...] = self._kind.estimate(found, self._alpha, self._table, self._known)
        self._rows[...] = members @ ~np.isnan(values[0])

    def model(self, group: int) -> LeafModel:
        """Return the leaf of a group, and what stands beside it."""
        leaf = self._kind.from_row(self._table[group])
        return LeafModel.of(leaf, self._column, float(self._rows[group]), self._alpha)

    def log_likelihoods(self, *, valid: bool) -> Floats:
        """Return the log densities of the values."""
        values = self._values.of(valid=valid)[None]
        found, one = np.empty((len(self._rows), values.shape[1])), self._known.take(slice(1))
        for group in range(len(found)):
            model = self.model(group)
            parts = [
                np.log(weight) + type(leaf).log_density(np.array([leaf.row]), values, one)
                for leaf, weight in zip(model.parts, model.weights, strict=True)
            ]
            found[group] = np.logaddexp.reduce(parts)[0]
        return found

    def arrays(self) -> dict[str, Floats]:
        """Return the parameters of the leaves."""
        return {"table": self._table, "rows": self._rows}


class JointPart:
    """Columns that are jointly normal in each group."""

    def __init__(self, places: Both[Floats], members: Floats, factors: int, prior: float) -> None:
        """Begin with the principal axes of groups to which the training rows belong."""
        self._places = Both(*(Places.of(rows) for rows in places))
        self._prior = prior
        rank = min(factors, places.train.shape[1] - 1)
        models = [starting_model(self._places.train, own, prior, rank) for own in members]
        self._mean = np.stack([model.mean for model in models])
        self._loadings = np.stack([model.loadings for model in models])
        self._noise = np.stack([model.noise for model in models])

    def model(self, group: int) -> FactorModel:
        """Return the Gaussian of a group."""
        return FactorModel(self._mean[group], self._loadings[group], self._noise[group])

    def fit(self, members: Floats) -> None:
        """Take a step of EM in every group."""
        for group, weights in enumerate(members):
            found = improved(self.model(group), self._places.train, weights, self._prior)
            self._mean[group], self._loadings[group] = found.mean, found.loadings
            self._noise[group] = found.noise

    def log_likelihoods(self, *, valid: bool) -> Floats:
        """Return the log densities of the places."""
        places = self._places.of(valid=valid)
        return np.stack([log_likelihoods(self.model(g), places) for g in range(len(self._mean))])

    def arrays(self) -> dict[str, Floats]:
        """Return means, loadings and variances."""
        return {"mean": self._mean, "loadings": self._loadings, "noise": self._noise}
