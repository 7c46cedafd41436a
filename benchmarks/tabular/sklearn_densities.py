"""Densities of real columns by scikit-learn, with options chosen on validation rows.

Columns are standardised by the training rows; densities are in the units of the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler

from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import Floats

COMPONENTS = (1, 2, 4, 8, 16, 32, 64)
ROWS_PER_COMPONENT = 10
COVARIANCES = ("full", "diag")
BANDWIDTHS = np.geomspace(0.01, 3.0, 16)  # in standard deviations


def gaussian_mixture(table: DensityTable) -> tuple[Callable[[Floats], Floats], str]:
    """Return the log density of the best Gaussian mixture, and its options."""
    most = len(table.dequantised["train"]) / ROWS_PER_COMPONENT
    made = (
        (
            f"{count} components, {kind}",
            GaussianMixture(count, covariance_type=kind, random_state=0, max_iter=300),
        )
        for count in COMPONENTS
        if count <= max(1, most)
        for kind in COVARIANCES
    )
    return _best(table, made)


def kernel_density(table: DensityTable) -> tuple[Callable[[Floats], Floats], str]:
    """Return the log density of the best kernels around training rows, and their bandwidth."""
    made = (
        (f"bandwidth {width:.3g}", KernelDensity(bandwidth=float(width))) for width in BANDWIDTHS
    )
    return _best(table, made)


def _best(
    table: DensityTable, made: Iterable[tuple[str, Any]]
) -> tuple[Callable[[Floats], Floats], str]:
    scaler = StandardScaler().fit(table.dequantised["train"])
    train, valid = (scaler.transform(table.dequantised[s]) for s in ("train", "valid"))
    found: tuple[float, str, Any] | None = None
    for name, model in made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(train)
        score = float(model.score_samples(valid).mean())
        if found is None or score > found[0]:
            found = score, name, model
    assert found is not None
    _, name, model = found
    units = float(np.log(scaler.scale_).sum())

    def log_density(rows: Floats) -> Floats:
        scores: Floats = model.score_samples(scaler.transform(rows)) - units
        return scores

    return log_density, name
