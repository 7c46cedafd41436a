"""The recipes that `benchmarks.asking_quality` compares, and how it chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Options = dict[str, Any]

_EM: Options = {"method": "em", "max_iterations": 300, "patience": 10, "stop": "none"}
_CONDITIONAL: Options = {"prior": 0.005, "max_iterations": 80}
_NONE: Options = {"method": "em", "max_iterations": 0}  # parameters stay as they were learned


@dataclass(frozen=True)
class QualityRecipe:
    """A forest and how it is fitted."""

    forest: tuple[Options, ...]
    optimizer: Options = field(default_factory=lambda: _EM)
    smoothing: Options = field(default_factory=lambda: {"weights": 0.1, "leaves": 0.1})
    conditional: bool = False  # whether parameters are fitted to the target in the end
    hide: float = 0.2  # the share of cells that is hidden then
    target: bool = False  # whether the learner is told the target
    fills: bool = True  # whether it is a candidate to fill cells: not if it is made for a target

    def options(self, target: str, rows: int) -> Options:
        """Return the parts of a spec, for a table with this target and number of training rows."""
        own: Options = {
            "forest": [self._entry(entry, target, rows) for entry in self.forest],
            "optimizer": self.optimizer,
            "smoothing": self.smoothing,
        }
        if self.conditional:
            own["objective"] = {
                "kind": "conditional",
                "target": [target],
                "hide": self.hide,
                **_CONDITIONAL,
            }
        return own

    def _entry(self, entry: Options, target: str, rows: int) -> Options:
        """Return an entry of the forest; leaves of trees have a thousandth of the rows at least."""
        if entry["learner"] != "decision-tree":
            return entry
        own = {**entry, "min_instances": max(5, rows // 1_000)}
        return {**own, "target": [target]} if self.target else own


_TREES: Options = {
    "learner": "decision-tree",
    "count": 40,
    "features": 1.0,
    "prior": 0.1,
    "input_prior": 0.3,
}

RECIPES = {
    "hclt-24": QualityRecipe(({"learner": "hclt", "count": 3, "states": 24},)),
    "hclt-64": QualityRecipe(({"learner": "hclt", "count": 3, "states": 64},)),
    "hclt-8 alone": QualityRecipe(
        ({"learner": "hclt", "count": 40, "states": 8, "fit": 100},),
        _NONE,
        {"weights": 0.5, "leaves": 0.1},
    ),
    "8 hclt-64 alone": QualityRecipe(
        ({"learner": "hclt", "count": 8, "states": 64, "fit": 100},), _NONE
    ),
    "trees": QualityRecipe((_TREES,), _NONE),
    "kernels": QualityRecipe(({"learner": "kernel-density"},), _NONE),
    "kernels and trees": QualityRecipe(
        ({"learner": "kernel-density", "weight": 20.0}, {**_TREES, "count": 10}), _NONE
    ),
    "target trees": QualityRecipe(
        ({"learner": "decision-tree", "count": 200},), _NONE, target=True, fills=False
    ),
    "hclt-24 conditional": QualityRecipe(
        ({"learner": "hclt", "count": 3, "states": 24},), conditional=True, fills=False
    ),
    "hclt-64 conditional": QualityRecipe(
        ({"learner": "hclt", "count": 3, "states": 64},), conditional=True, fills=False
    ),
    "8 hclt-64 conditional": QualityRecipe(
        ({"learner": "hclt", "count": 8, "states": 64},), conditional=True, hide=0.0, fills=False
    ),
    "8 hclt-24 alone conditional": QualityRecipe(
        ({"learner": "hclt", "count": 8, "states": 24, "fit": 100, "refine": True},),
        _NONE,
        conditional=True,
        hide=0.1,
        fills=False,
    ),
}


def chosen(compared: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the recipe for each task, by how recipes answered for rows that are not test rows.

    Filling is judged by the accuracy of labels minus the error of numbers, predicting by the
    log-loss with complete rows, or with hidden cells.
    """

    def filling(recipe: str) -> float:
        own = compared[recipe]
        return (own["accuracy"] or 0.0) - (own["error"] or 0.0)

    fillers = [recipe for recipe in compared if RECIPES[recipe].fills]
    found = {"impute": max(fillers, key=filling)}
    for task in ("complete", "hidden"):
        found[task] = min(compared, key=lambda recipe: compared[recipe][task])
    return found
