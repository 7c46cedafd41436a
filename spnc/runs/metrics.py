"""`Metrics`: how a training went, in numbers; the content of `metrics.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from spnc.runs.fit_metrics import (
    MAYBE,
    NUMBER,
    ObjectiveMetrics,
    OptimizerMetrics,
    PruneMetrics,
    taken,
)
from spnc.runs.limit_metrics import LimitMetrics

# No log-likelihood and no time is beyond this: a larger number in a file is damage.
_ABSURD = 1e15


@dataclass(frozen=True)
class SplitMetrics:
    """How well one split is explained; impossible rows are counted, and not averaged."""

    rows: int
    avg_ll: float | None  # None if every row is impossible
    impossible_rows: int
    # With `objective: conditional`: that of the target given the other cells.
    conditional_ll: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `metrics.json`."""
        found = asdict(self)
        if self.conditional_ll is None:
            del found["conditional_ll"]
        return found

    @classmethod
    def from_json(cls, value: Any, name: str) -> Self:
        """Return the metrics of a split. Raises LookupError, TypeError or ValueError."""
        wanted = {"rows": int, "avg_ll": MAYBE, "impossible_rows": int}
        if isinstance(value, dict) and "conditional_ll" in value:
            wanted["conditional_ll"] = MAYBE
        return cls(**taken(value, wanted, name))


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
            "valid": MAYBE,
            "valid_impossible": int,
            "train": MAYBE,
            "train_impossible": int,
            "edges": int,
            "iterations": int,
            "seconds": NUMBER,
            "chosen": bool,
        }
        found = taken(value, wanted, "a try")
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
        wanted = {"choices": dict, "chosen": int, "seconds": NUMBER, "tries": list}
        found = taken(value, wanted, "search")
        tries = tuple(TryMetrics.from_json(one) for one in found["tries"])
        if any(list(one.values) != list(tries[0].values) for one in tries):
            raise ValueError("its tries do not choose the same things")
        budget = value.get("budget")
        if not isinstance(budget, MAYBE):
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
    objective: ObjectiveMetrics | None = None  # None: the joint likelihood
    limits: LimitMetrics | None = None  # None: there were none

    @property
    def spent(self) -> float:
        """Seconds in all: those of the whole search, if there was one."""
        return self.search.seconds if self.search is not None else self.seconds["total"]

    def __getitem__(self, key: str) -> Any:
        return self.to_json()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_json())

    def __len__(self) -> int:
        return len(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `metrics.json`; what did not happen is left out."""
        return {
            "splits": {name: split.to_json() for name, split in self.splits.items()},
            "model": dict(self.model),
            "optimizer": asdict(self.optimizer),
            **({"objective": asdict(self.objective)} if self.objective is not None else {}),
            **({"prune": self.prune.to_json()} if self.prune is not None else {}),
            "seconds": dict(self.seconds),
            "backend": self.backend,
            **({"passed_over": self.passed_over} if self.passed_over is not None else {}),
            "seed": self.seed,
            **({"limits": asdict(self.limits)} if self.limits is not None else {}),
            **({"search": self.search.to_json()} if self.search is not None else {}),
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the metrics in plain values.

        Raises LookupError, TypeError or ValueError if they are not what `to_json` returns.
        """
        wanted = {"splits": dict, "model": dict, "optimizer": dict, "seconds": dict}
        found = taken(value, {**wanted, "backend": str, "seed": int}, "metrics")
        model = taken(found["model"], dict.fromkeys(MODEL_FACTS, int), "model")
        seconds = taken(found["seconds"], {"total": NUMBER}, "seconds")
        if not all(isinstance(s, NUMBER) for s in found["seconds"].values()):
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
            ObjectiveMetrics.from_json(value["objective"]) if "objective" in value else None,
            LimitMetrics.from_json(value["limits"]) if "limits" in value else None,
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the metrics in the text of a `metrics.json`.

        Raises LookupError, RecursionError, TypeError or ValueError if it is not one.
        """
        return cls.from_json(json.loads(text, parse_constant=_sensible, parse_float=_sensible))


MODEL_FACTS = ("nodes", "edges", "layers", "sums", "products", "leaves", "parameters")


def _sensible(text: str) -> float:
    """Return a number of the file, unless nothing that is measured could be so large."""
    value = float(text)
    if not math.isfinite(value) or abs(value) > _ABSURD:
        raise ValueError(f"{text} is no sensible number")
    return value
