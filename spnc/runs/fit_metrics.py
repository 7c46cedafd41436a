"""How fits went, in numbers: the optimiser's, those around pruning, and that to an objective."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from spnc.training import FitResult
from spnc.training.fit import PruneOutcome

NUMBER = (int, float)
MAYBE = (int, float, type(None))


@dataclass(frozen=True)
class OptimizerMetrics:
    """What ended training, and which parameters were kept."""

    method: str
    iterations: int
    stopped: str
    kept: str
    kept_iteration: int

    @classmethod
    def of(cls, method: str, fitted: FitResult) -> Self:
        """Return the metrics of a fit by this optimiser."""
        last = fitted.history[-1].iteration
        return cls(method, last, fitted.stopped, fitted.kept, fitted.kept_iteration)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics of the optimiser. Raises LookupError, TypeError or ValueError."""
        wanted = {"method": str, "iterations": int, "stopped": str, "kept": str}
        return cls(**taken(value, {**wanted, "kept_iteration": int}, "optimizer"))


@dataclass(frozen=True)
class FitMetrics:
    """One of the fits before and after pruning."""

    iterations: int
    stopped: str
    kept: str
    kept_iteration: int
    train: float
    valid: float | None

    @classmethod
    def of(cls, fitted: FitResult) -> Self:
        """Return the metrics of a fit."""
        last, at = fitted.history[-1].iteration, fitted.kept_iteration
        kept = fitted.history[at]
        return cls(last, fitted.stopped, fitted.kept, at, kept.train, kept.valid)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics of a fit. Raises LookupError, TypeError or ValueError."""
        wanted = {"iterations": int, "stopped": str, "kept": str, "kept_iteration": int}
        return cls(**taken(value, {**wanted, "train": NUMBER, "valid": MAYBE}, "a fit"))


@dataclass(frozen=True)
class PruneMetrics:
    """What pruning did: `kept` is "pruned" or "whole"."""

    flow_below: float
    edges_before: int
    edges_after: int
    kept: str
    fits: tuple[FitMetrics, ...]

    @classmethod
    def of(cls, outcome: PruneOutcome) -> Self:
        """Return the metrics of pruning."""
        kept = "pruned" if outcome.pruned else "whole"
        fits = tuple(map(FitMetrics.of, outcome.fits))
        return cls(outcome.flow_below, outcome.edges_before, outcome.edges_after, kept, fits)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `metrics.json`."""
        return {
            "flow_below": self.flow_below,
            "edges": {"before": self.edges_before, "after": self.edges_after},
            "kept": self.kept,
            "fits": [asdict(fit) for fit in self.fits],
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics of pruning. Raises LookupError, TypeError or ValueError."""
        wanted = {"flow_below": NUMBER, "edges": dict, "kept": str, "fits": list}
        found = taken(value, wanted, "prune")
        edges = taken(found["edges"], {"before": int, "after": int}, "edges")
        fits = tuple(FitMetrics.from_json(fit) for fit in found["fits"])
        return cls(found["flow_below"], edges["before"], edges["after"], found["kept"], fits)


ALONE = "components"  # `ObjectiveMetrics.stopped`: components were fitted, not the forest


@dataclass(frozen=True)
class ObjectiveMetrics:
    """The fit to an objective; `start` and `reached` are the objective's scores on valid or train.

    With `conditional`, these are average log-likelihoods of the target given the other cells. If
    components were fitted on their own, the forest was not: `stopped` is `ALONE`, and there are no
    iterations or scores.
    """

    kind: str
    target: tuple[str, ...]
    iterations: int
    stopped: str
    kept_iteration: int
    judged_on: str  # "valid", or "train" without validation rows
    start: float | None  # None if every row is impossible
    reached: float | None

    @classmethod
    def of(cls, kind: str, target: tuple[str, ...], refined: FitResult) -> Self:
        """Return the metrics of a fit to the objective of this kind."""
        history, at = refined.history, refined.kept_iteration
        judged_on = "train" if history[0].valid_conditional is None else "valid"
        found = [getattr(history[i], f"{judged_on}_conditional") for i in (0, at)]
        scores = [value if math.isfinite(value) else None for value in found]
        return cls(kind, target, len(history) - 1, refined.stopped, at, judged_on, *scores)

    @classmethod
    def of_components(cls, kind: str, target: tuple[str, ...]) -> Self:
        """Return the metrics where components were fitted to the objective on their own."""
        return cls(kind, target, 0, ALONE, 0, "valid", None, None)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics of the objective. Raises LookupError, TypeError or ValueError."""
        wanted = {"kind": str, "target": list, "iterations": int, "stopped": str}
        scores = {"kept_iteration": int, "judged_on": str, "start": MAYBE, "reached": MAYBE}
        found = taken(value, {**wanted, **scores}, "objective")
        return cls(**{**found, "target": tuple(map(str, found["target"]))})


def taken(value: Any, wanted: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the wanted items of a mapping, each of its type."""
    if not isinstance(value, dict):
        raise TypeError(f"`{name}` is not what it should be")
    found = {}
    for key, kind in wanted.items():
        item = value[key]
        # A boolean is an int to Python, but a number in no file of ours.
        if not isinstance(item, kind) or (isinstance(item, bool) and kind is not bool):
            raise TypeError(f"`{key}` of {name} is not what it should be")
        found[key] = item
    return found
