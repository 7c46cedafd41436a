"""The "Asia" network of Lauritzen and Spiegelhalter (1988): eight binary variables
with known probabilities.

S. L. Lauritzen, D. J. Spiegelhalter: Local computations with probabilities on graphical
structures and their application to expert systems. J. R. Statist. Soc. B 50 (1988), 157-224.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

ASIA_COLUMNS = (
    "asia",
    "tuberculosis",
    "smoking",
    "cancer",
    "bronchitis",
    "either",
    "xray",
    "dyspnoea",
)
ASIA_ROWS = 5_000
_SEED = 1988


def _chance_of_yes(column: int, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P(column = 1 | earlier columns) for rows `row[…, 8]` filled up to that column."""
    asia, tuberculosis, smoking, cancer, bronchitis, either = np.moveaxis(row[..., :6], -1, 0)
    ill = np.maximum(tuberculosis, cancer)
    chances: tuple[ArrayLike, ...] = (
        np.full(asia.shape, 0.01),
        np.array([0.01, 0.05])[asia],
        np.full(asia.shape, 0.5),
        np.array([0.01, 0.1])[smoking],
        np.array([0.3, 0.6])[smoking],
        np.array([0.0, 1.0])[ill],  # tuberculosis or cancer
        np.array([0.05, 0.98])[either],
        np.array([[0.1, 0.8], [0.7, 0.9]])[either, bronchitis],
    )
    return np.asarray(chances[column], dtype=np.float64)


def asia_rows(rows: int = ASIA_ROWS) -> NDArray[np.float64]:
    """Draw rows `[rows, 8]` from the network, parents first; every call returns the same rows."""
    uniform = np.random.Generator(np.random.PCG64(_SEED)).random((rows, len(ASIA_COLUMNS)))
    drawn = np.zeros((rows, len(ASIA_COLUMNS)), dtype=np.int64)
    for column in range(len(ASIA_COLUMNS)):
        drawn[:, column] = uniform[:, column] < _chance_of_yes(column, drawn)
    return drawn.astype(np.float64)


def asia_log_probability(values: ArrayLike) -> NDArray[np.float64]:
    """Return the true log-probability in nats of complete rows `[n, 8]`; -inf if impossible."""
    states = np.asarray(values).astype(np.int64).reshape(-1, len(ASIA_COLUMNS))
    index = states @ (1 << np.arange(len(ASIA_COLUMNS)))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_joint()[index]), dtype=np.float64)


def asia_entropy() -> float:
    """Return the entropy of the network in nats: the lowest mean log-loss that a model can have."""
    p = _joint()
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


@cache
def _joint() -> NDArray[np.float64]:
    """Return the probability of each of the 256 joint states; column k is bit k of the index."""
    states = np.arange(1 << len(ASIA_COLUMNS))[:, None] >> np.arange(len(ASIA_COLUMNS)) & 1
    p = np.ones(len(states))
    for column in range(len(ASIA_COLUMNS)):
        yes = _chance_of_yes(column, states)
        p *= np.where(states[:, column] == 1, yes, 1 - yes)
    p.setflags(write=False)
    return p
