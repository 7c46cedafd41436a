"""The systems that are compared, and what is recorded about each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.common.density_tables import DensityTable, density_table
from benchmarks.common.hidden_tables import Floats
from benchmarks.tabular import spflow_models, spnc_models
from benchmarks.tabular.atoms import atoms
from benchmarks.tabular.marginals import independent
from benchmarks.tabular.sklearn_densities import gaussian_mixture, kernel_density
from spnc.model import Model

Result = dict[str, Any]

QUICK_BUDGET = "5s"  # of `spnc train --auto`
PARTS = {
    "all": "all columns",
    "real": "real columns",
    "hidden 10%": "all columns, 10% of the training cells hidden",
    "hidden 50%": "all columns, 50% of the training cells hidden",
}
SHARES = {"hidden 10%": 0.1, "hidden 50%": 0.5}


@dataclass(frozen=True)
class System:
    """A system: what it is called, where it comes from, and the parts of the benchmark it is in."""

    title: str
    parts: tuple[str, ...] = ("all", "real", "hidden 10%", "hidden 50%")
    is_peer: bool = False  # whether `--no-peers` leaves it out
    is_ours: bool = False
    seeded: bool = False  # whether it is measured with several seeds


_HIDING = ("all", "hidden 10%", "hidden 50%")
SYSTEMS = {
    "spnc": System("spnc, one recipe", is_ours=True, seeded=True),
    "auto": System("spnc train --auto", ("all", "real"), is_ours=True),
    "spnc-dequantised": System(
        "spnc, one recipe, trained on dequantised rows", is_ours=True, seeded=True
    ),
    "auto-dequantised": System(
        "spnc train --auto, trained on dequantised rows", ("all", "real"), is_ours=True
    ),
    "spflow-histogram": System("SPFlow 0.0.48, histograms", _HIDING, is_peer=True),
    "spflow-piecewise": System("SPFlow 0.0.48, piecewise linear", _HIDING, is_peer=True),
    "spflow-parametric": System("SPFlow 0.0.48, Gaussian + categorical", _HIDING, is_peer=True),
    "gaussian-mixture": System("scikit-learn GaussianMixture", ("real",), is_peer=True),
    "kernel-density": System("scikit-learn KernelDensity", ("real",), is_peer=True),
    "independent": System("independent columns"),
    "atoms": System("independent columns with atoms"),
}
# What figures are listed for and no system here measures.
LISTED_ONLY = {
    "spflow-1.1.0": "SPFlow 1.1.0",
    "random-forests": "adversarial random forests",
    "spline-flow": "neural spline flow",
}


def part_of(table: DensityTable, part: str) -> DensityTable:
    """Return what a part of the benchmark looks at."""
    if part == "real":
        return table.real_only()
    return table.hiding(SHARES[part]) if part in SHARES else table


def applies(table: DensityTable, system: str, part: str) -> bool:
    """Return whether a system is measured in this part, which has to have columns."""
    return part in SYSTEMS[system].parts and (part != "real" or bool(table.is_real.any()))


def measured(
    table: DensityTable, system: str, seed: int = 0, *, quick: bool = False, budget: str = ""
) -> Result:
    """Return the average log-likelihoods of a system on a table, its choice, and its seconds."""
    began = time.monotonic()
    name, _, rows = system.partition("-")
    choice = ""
    if name == "spflow":
        found = spflow_models.measured(table, rows, quick=quick)
        return {**found, "seconds": round(time.monotonic() - began, 1)}
    log_density: Callable[[Floats], Floats]
    if name in ("spnc", "auto"):
        rows = rows or "plain"
        if name == "spnc":
            model = spnc_models.trained(table, seed, rows=rows)
        else:
            budget = QUICK_BUDGET if quick else budget or spnc_models.BUDGET
            model, choice = spnc_models.found_by_auto(table, seed, rows=rows, budget=budget)

        def log_density(rows: Floats) -> Floats:
            return spnc_models.log_density(model, table, rows)

    elif system in ("gaussian-mixture", "kernel-density"):
        fit = {"gaussian-mixture": gaussian_mixture, "kernel-density": kernel_density}[system]
        log_density, choice = fit(table)
    else:
        log_density = {"independent": independent, "atoms": atoms}[system](table).log_density
    seconds = time.monotonic() - began
    return {**scores(log_density, table), "choice": choice, "seconds": round(seconds, 1)}


def scores(log_density: Callable[[Floats], Floats], table: DensityTable) -> Result:
    """Return the average log density of validation and test rows; `plain` is of rounded ones."""
    return {
        "valid": average(log_density(table.dequantised["valid"])),
        "test": average(log_density(table.dequantised["test"])),
        "plain": average(log_density(table.plain["test"])),
    }


def average(values: Floats) -> float:
    """Return the mean, with the digits that a record keeps."""
    return round(float(np.mean(values)), 5)


def chosen(names: Sequence[str] | None, *, peers: bool, trained_on: Sequence[str]) -> list[str]:
    """Return the systems to measure, all of them without names."""
    if names is not None:
        return list(names)
    found = []
    for name, system in SYSTEMS.items():
        rows = name.partition("-")[2] or "plain"
        if (system.is_ours and rows not in trained_on) or (system.is_peer and not peers):
            continue
        found.append(name)
    return found


@lru_cache(maxsize=1)
def model_of(name: str) -> Model:
    """Return the model of the recipe on a table, first seed; kept for what is asked next."""
    return spnc_models.trained(density_table(name))
