"""Six kinds of training to kill, each with the stage in which it is killed, and a longer one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

AUTO_BUDGET = 8.0  # seconds


@dataclass(frozen=True)
class Kind:
    """A training. `before` are the stages that precede the one to hit, as `metrics.json` has them.

    Both are empty where the whole run is the stage: a search, and `--auto`, which has no spec.
    """

    name: str
    spec: str | None
    before: tuple[str, ...] = ()
    stage: str = ""
    every: float | None = None  # seconds after which each process is killed, wherever it is

    def arguments(self, folder: Path) -> list[str]:
        """Return what `spnc` is given to train it, all but the run folder; writes the spec."""
        if self.spec is None:
            return ["train", "--auto", "builtin:digits", "--budget", f"{AUTO_BUDGET:g}s"]
        path = folder / "spec.yaml"
        path.write_text(self.spec, encoding="utf-8")
        return ["train", str(path)]

    def window(self, run: Path) -> tuple[float, float]:
        """Return from when to when the stage lasted in a finished run: seconds since its start."""
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        spent = metrics["seconds"]
        if not self.stage:
            return spent["data"], metrics["search"]["seconds"]
        begins = sum(spent[name] for name in self.before)
        return begins, begins + spent[self.stage]


def _spec(name: str, forest: str, optimizer: str, more: str = "") -> str:
    data = "{source: builtin:digits, split: [0.7, 0.15, 0.15]}"
    return f"model: {name}\ndata: {data}\nforest: [{forest}]\noptimizer: {optimizer}\n{more}"


# Sizes such that the stage lasts for some seconds on one core.
KINDS = (
    Kind(
        "structure",
        _spec(
            "structure", "{learner: learn-spn, count: 8, min_instances: 30}", "{max_iterations: 2}"
        ),
        ("data",),
        "structure",
    ),
    Kind(
        "links",
        _spec(
            "links",
            "{learner: extra-spn, count: 4, min_instances: 60, rows: kmeans}",
            "{max_iterations: 2}",
            "residual: {strategy: informed, ratio: 0.2, judge: valid, tries: 4000}\n",
        ),
        ("data", "structure"),
        "residual",
    ),
    Kind(
        "decoder",
        _spec(
            "decoder",
            "{learner: continuous-mixture, points: 64, latent: 8, steps: 3000, settling: 60}",
            "{max_iterations: 0}",
        ),
        ("data",),
        "structure",
    ),
    Kind(
        "EM",
        _spec(
            "em",
            "{learner: extra-spn, count: 10, min_instances: 20}",
            "{max_iterations: 500, stop: none, patience: none}",
        ),
        ("data", "structure", "residual", "compile", "prepare", "plan"),
        "train",
    ),
    Kind(
        "search",
        _spec(
            "search",
            "{learner: extra-spn, count: 8, beta: {search: [0.4, 0.6]}, min_instances: 30}",
            "{max_iterations: {search: [10, 20, 30]}}",
            "seed: {search: [0, 1]}\n",
        ),
    ),
    Kind("auto", None),
)
# A training of a minute and a half with all stages, which keeps its work as often as any other.
LONG = Kind(
    "all stages, every 40 s",
    """model: long
data: {source: builtin:digits, split: [0.7, 0.15, 0.15]}
forest:
- {learner: learn-spn, count: 24, min_instances: 30}
- {learner: continuous-mixture, points: 64, latent: 8, steps: 20000, settling: 60}
residual: {strategy: informed, ratio: 0.2, judge: valid, tries: 4000}
optimizer: {max_iterations: 40, stop: none, patience: none}
""",
    every=40.0,
)
