"""Fitting a mixture by EM: rows belong to groups in part, and the best iteration is kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.savepoints import Piece, UnusableError
from spnc.learners import LearningTask
from spnc.learners.factor_mixture.group_parts import Both, GroupPart
from spnc.leaves.smoothing import smoothed

PATIENCE = 10  # iterations without a better average of the validation rows, or of all
LEAST_GAIN = 1e-4  # nats a row: an iteration that gains less is not better
_SAVED = "groups"  # name of the savepoint


class MixtureFit:
    """A mixture that is fitted to the training rows, and validated if there are other rows."""

    def __init__(
        self,
        task: LearningTask,
        parts: Mapping[str, GroupPart],
        weights: Both[Floats],
        members: Floats,
    ) -> None:
        """Begin with groups to which the training rows belong, `members[group, row]`."""
        self._task, self._parts, self._weights = task, parts, weights
        self._validated = bool(weights.valid.sum() > 0.0)
        self.shares = np.empty(len(members))
        self._maximise(members)
        self._best = self._copy()
        self._score, self._since, self._done = -np.inf, 0, 0

    def run(self, most: int) -> Floats:
        """Take at most this many iterations and go back to the best one.

        Return the weight of each training row in each group, `[group, row]`.
        """
        task = self._task
        if (kept := task.savepoints.load(_SAVED)) is not None:
            self._take_up(kept)
        while self._goes_on() and self._done < most:
            task.deadline.check()
            self._maximise(self._members())
            self._done += 1
            task.progress("iterations", self._done, most)
            if task.savepoints.is_due():
                self._save()
        self._restore(self._best)
        return self._members()

    def _goes_on(self) -> bool:
        """Note the score of the present parameters; return whether better ones may follow."""
        score = self._average()
        if score > self._score + LEAST_GAIN:
            self._since = 0
        else:
            self._since += 1
        if score > self._score:
            self._score, self._best = score, self._copy()
        return self._since < PATIENCE

    def _maximise(self, members: Floats) -> None:
        alpha = self._task.smoothing.weights
        self.shares[...] = smoothed(members.sum(axis=1), alpha, np.full_like(self.shares, 1.0))
        for part in self._parts.values():
            part.fit(members)

    def _log_joint(self, *, valid: bool) -> Floats:
        """Return log p(group, row), `[group, row]`."""
        with np.errstate(divide="ignore"):
            found = np.log(self.shares)[:, None]
        for part in self._parts.values():
            found = found + part.log_likelihoods(valid=valid)
        return found

    def _members(self) -> Floats:
        """Return the weight of each training row in each group; none of an impossible row."""
        joint = self._log_joint(valid=False)
        top = joint.max(axis=0)
        shares = np.exp(joint - np.where(np.isfinite(top), top, 0.0))
        total = shares.sum(axis=0)
        found: Floats = shares * (self._weights.train / np.where(total > 0.0, total, 1.0))
        return found

    def _average(self) -> float:
        """Return the average log-likelihood of the validation rows, or of the training rows."""
        joint = self._log_joint(valid=self._validated)
        weights = self._weights.of(valid=self._validated)
        top = joint.max(axis=0)
        shares = np.exp(joint - np.where(np.isfinite(top), top, 0.0)).sum(axis=0)
        with np.errstate(divide="ignore"):
            found = np.where(weights > 0.0, top + np.log(shares), 0.0)
        return float(weights @ found / weights.sum())

    # ---- parameters as arrays ----

    def _arrays(self) -> dict[str, Floats]:
        parts = self._parts.items()
        found = {f"{name}.{key}": a for name, part in parts for key, a in part.arrays().items()}
        return {"shares": self.shares, **found}

    def _copy(self) -> dict[str, Floats]:
        return {name: array.copy() for name, array in self._arrays().items()}

    def _restore(self, kept: Mapping[str, Floats]) -> None:
        for name, array in self._arrays().items():
            array[...] = kept[name]

    def _save(self) -> None:
        about = {"done": self._done, "since": self._since, "score": self._score}
        now = {f"now.{name}": array for name, array in self._copy().items()}
        best = {f"best.{name}": array.copy() for name, array in self._best.items()}
        self._task.savepoints.save(_SAVED, Piece(about, {**now, **best}))

    def _take_up(self, kept: Piece) -> None:
        """Set everything to where an earlier run was; raise `UnusableError` if it cannot be."""
        try:
            for name, array in self._arrays().items():
                for when, target in (("now", array), ("best", self._best[name])):
                    found = kept.arrays[f"{when}.{name}"]
                    if found.shape != array.shape or found.dtype != array.dtype:
                        raise ValueError("its arrays do not have the shapes of this mixture")
                    target[...] = found
            done, since = kept.about["done"], kept.about["since"]
            if not (type(done) is type(since) is int and 0 <= since <= done + 1):
                raise ValueError("its iterations are not those of this fit")
            self._done, self._since = done, since
            self._score = float(kept.about["score"])
        except (LookupError, TypeError, ValueError) as error:
            raise UnusableError(str(error) or type(error).__name__) from error
