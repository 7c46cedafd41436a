"""`Metrics`: how a training went, in numbers; the content of `metrics.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from spnc.training import FitResult
from spnc.training.fit import PruneOutcome

# No log-likelihood and no time is beyond this: a larger number in a file is damage.
_ABSURD = 1e15
_NUMBER = (int, float)
_MAYBE = (int, float, type(None))


@dataclass(frozen=True)
class SplitMetrics:
    """How well one split is explained; impossible rows are counted, and not averaged."""

    rows: int
    avg_ll: float | None  # None if every row is impossible
    impossible_rows: int

    @classmethod
    def from_json(cls, value: Any, name: str) -> Self:
        """Return the metrics of a split. Raises LookupError, TypeError or ValueError."""
        wanted = {"rows": int, "avg_ll": _MAYBE, "impossible_rows": int}
        return cls(**_taken(value, wanted, name))


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
        return cls(**_taken(value, {**wanted, "kept_iteration": int}, "optimizer"))


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
        return cls(**_taken(value, {**wanted, "train": _NUMBER, "valid": _MAYBE}, "a fit"))


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
        wanted = {"flow_below": _NUMBER, "edges": dict, "kept": str, "fits": list}
        found = _taken(value, wanted, "prune")
        edges = _taken(found["edges"], {"before": int, "after": int}, "edges")
        fits = tuple(FitMetrics.from_json(fit) for fit in found["fits"])
        return cls(found["flow_below"], edges["before"], edges["after"], found["kept"], fits)


@dataclass(frozen=True)
class TryMetrics:
    """One try of a search, as `metrics.json` and `tries.csv` show it."""

    number: int
    values: Mapping[str, Any]  # what the try has chosen, by path
    valid: float | None
    valid_impossible: int
    train: float | None
    train_impossible: int
    edges: int
    iterations: int
    seconds: float
    chosen: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `metrics.json`."""
        found = asdict(self)
        return {"try": found.pop("number"), **found}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics of a try. Raises LookupError, TypeError or ValueError."""
        wanted = {
            "try": int,
            "values": dict,
            "valid": _MAYBE,
            "valid_impossible": int,
            "train": _MAYBE,
            "train_impossible": int,
            "edges": int,
            "iterations": int,
            "seconds": _NUMBER,
            "chosen": bool,
        }
        found = _taken(value, wanted, "a try")
        return cls(found.pop("try"), **found)


@dataclass(frozen=True)
class SearchMetrics:
    """All tries of a search, and which of them was chosen."""

    choices: Mapping[str, list[Any]]
    chosen: int
    seconds: float
    tries: tuple[TryMetrics, ...]
    budget: float | None = None  # in seconds, of `--auto`

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `metrics.json`."""
        return {
            "choices": dict(self.choices),
            **({"budget": self.budget} if self.budget is not None else {}),
            "chosen": self.chosen,
            "seconds": self.seconds,
            "tries": [one.to_json() for one in self.tries],
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics of a search. Raises LookupError, TypeError or ValueError."""
        wanted = {"choices": dict, "chosen": int, "seconds": _NUMBER, "tries": list}
        found = _taken(value, wanted, "search")
        tries = tuple(TryMetrics.from_json(one) for one in found["tries"])
        if any(list(one.values) != list(tries[0].values) for one in tries):
            raise ValueError("its tries do not choose the same things")
        budget = value.get("budget")
        if not isinstance(budget, _MAYBE):
            raise TypeError("`budget` of search is not what it should be")
        return cls(found["choices"], found["chosen"], found["seconds"], tries, budget)


@dataclass(frozen=True)
class Metrics(Mapping[str, Any]):
    """How a training went. As a mapping it is the content of `metrics.json`."""

    splits: Mapping[str, SplitMetrics]
    model: Mapping[str, int]  # nodes, edges, layers, sums, products, leaves, parameters
    optimizer: OptimizerMetrics
    seconds: Mapping[str, float] = field(repr=False)  # by stage, and in `total`
    backend: str
    seed: int
    prune: PruneMetrics | None = None
    passed_over: str | None = None  # why `backend: auto` did not take the GPU
    search: SearchMetrics | None = None

    def __getitem__(self, key: str) -> Any:
        return self.to_json()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_json())

    def __len__(self) -> int:
        return len(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `metrics.json`; what did not happen is left out."""
        return {
            "splits": {name: asdict(split) for name, split in self.splits.items()},
            "model": dict(self.model),
            "optimizer": asdict(self.optimizer),
            **({"prune": self.prune.to_json()} if self.prune is not None else {}),
            "seconds": dict(self.seconds),
            "backend": self.backend,
            **({"passed_over": self.passed_over} if self.passed_over is not None else {}),
            "seed": self.seed,
            **({"search": self.search.to_json()} if self.search is not None else {}),
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics in plain values.

        Raises LookupError, TypeError or ValueError if they are not what `to_json` returns.
        """
        wanted = {"splits": dict, "model": dict, "optimizer": dict, "seconds": dict}
        found = _taken(value, {**wanted, "backend": str, "seed": int}, "metrics")
        model = _taken(found["model"], dict.fromkeys(MODEL_FACTS, int), "model")
        seconds = _taken(found["seconds"], {"total": _NUMBER}, "seconds")
        if not all(isinstance(s, _NUMBER) for s in found["seconds"].values()):
            raise TypeError("its seconds are not numbers")
        passed_over = value.get("passed_over")
        if not isinstance(passed_over, str | None):
            raise TypeError("`passed_over` of metrics is not what it should be")
        return cls(
            {name: SplitMetrics.from_json(s, name) for name, s in found["splits"].items()},
            model,
            OptimizerMetrics.from_json(found["optimizer"]),
            {**found["seconds"], **seconds},
            found["backend"],
            found["seed"],
            PruneMetrics.from_json(value["prune"]) if "prune" in value else None,
            passed_over,
            SearchMetrics.from_json(value["search"]) if "search" in value else None,
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the metrics in the text of a `metrics.json`.

        Raises LookupError, RecursionError, TypeError or ValueError if it is not one.
        """
        return cls.from_json(json.loads(text, parse_constant=_sensible, parse_float=_sensible))


MODEL_FACTS = ("nodes", "edges", "layers", "sums", "products", "leaves", "parameters")


def _taken(value: Any, wanted: Mapping[str, Any], name: str) -> dict[str, Any]:
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


def _sensible(text: str) -> float:
    """Return a number of the file, unless nothing that is measured could be so large."""
    value = float(text)
    if not math.isfinite(value) or abs(value) > _ABSURD:
        raise ValueError(f"{text} is no sensible number")
    return value
