"""Training on a table with half of its cells missing, against the complete table.

Rows are drawn from a known network of words, counts and real numbers. Cells of the training rows
are hidden at random; the rows that models are compared on are complete and never seen.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import spnc
from benchmarks.common.mixed_network import MixedNetwork, hidden
from spnc.common.arrays import Floats
from tests.mixed import COUNTS, FINITE

ROWS, LATER_ROWS = 4000, 2000
NETWORK = MixedNetwork.of(0)
LEARNERS: dict[str, dict[str, Any]] = {
    "hclt": {"learner": "hclt", "states": 8},
    "learn-spn": {"learner": "learn-spn"},
    "extra-spn": {"learner": "extra-spn", "count": 3},
    "rat-spn": {"learner": "rat-spn", "splits": 2, "repetitions": 4, "sums": 6, "inputs": 6},
}
# What half of the cells may cost, as a share of the entropy. Latent variables are made for missing
# cells; learners that test or cluster rows see fewer pairs of cells, and so split later.
LOSSES = {"hclt": 0.01, "extra-spn": 0.01, "rat-spn": 0.04, "learn-spn": 0.05}
KINDS = {
    name: "categorical" if i < FINITE else "count" if i < FINITE + COUNTS else "real"
    for i, name in enumerate(NETWORK.names)
}


def frame(rows: Floats) -> dict[str, list[Any]]:
    """The rows as a user has them: words for categories, None for missing cells."""
    cells = {name: rows[:, i].tolist() for i, name in enumerate(NETWORK.names)}
    return {
        name: [
            None if np.isnan(cell) else "abcd"[int(cell)] if kind == "categorical" else cell
            for cell in cells[name]
        ]
        for name, kind in KINDS.items()
    }


def filled(rows: Floats) -> Floats:
    """The rows with the commonest word or the mean of the column in place of missing cells."""
    found = rows.copy()
    for i, (kind, cells) in enumerate(zip(KINDS.values(), rows.T, strict=True)):
        known = cells[~np.isnan(cells)]
        words = kind == "categorical"
        usual = np.bincount(known.astype(int)).argmax() if words else known.mean()
        found[np.isnan(cells), i] = round(usual) if kind == "count" else usual
    return found


def training_rows(how: str) -> Floats:
    """The training rows: complete, or spoiled in one of several ways."""
    rows = NETWORK.draw(ROWS, np.random.default_rng(1))
    half = hidden(rows, 0.5, np.random.default_rng(2))
    if how == "half the cells":
        return half
    if how == "filled":
        return filled(half)
    if how == "shuffled":
        return np.random.default_rng(3).permuted(rows, axis=0)
    return rows[: ROWS // 10] if how == "a tenth of the rows" else rows


def later_rows() -> Floats:
    """Complete rows that no model has seen."""
    return NETWORK.draw(LATER_ROWS, np.random.default_rng(4))


@cache
def reached(learner: str, how: str) -> float:
    """The average log-likelihood of later, complete rows under a model trained on the rows."""
    trained = spnc.train(
        {
            "model": "missing",
            "data": {"source": "frame", "columns": KINDS, "split": [0.9, 0.1, 0]},
            "forest": [LEARNERS[learner]],
            "optimizer": {"method": "em", "max_iterations": 30},
            "seed": 1,
        },
        data=frame(training_rows(how)),
    )
    score = trained.model.evaluate(frame(later_rows()))["all"]
    assert score.impossible == 0
    return score.average


@pytest.mark.parametrize(("learner", "share"), LOSSES.items())
def test_half_of_the_cells_teach_nearly_as_much_as_all(learner: str, share: float) -> None:
    entropy = -float(NETWORK.log_density(later_rows()).mean())
    complete, half = reached(learner, "complete"), reached(learner, "half the cells")
    assert complete > -1.15 * entropy
    assert half > complete - share * entropy


@pytest.mark.parametrize("learner", LEARNERS)
def test_dependence_is_learned_from_half_of_the_cells(learner: str) -> None:
    """Columns that are shuffled one by one keep their distributions and are independent."""
    complete, independent = reached(learner, "complete"), reached("hclt", "shuffled")
    half = reached(learner, "half the cells")
    assert half - independent > 0.8 * (complete - independent) > 3.0


@pytest.mark.parametrize("learner", LEARNERS)
def test_missing_cells_are_better_left_missing(learner: str) -> None:
    """Filling them in spoils the dependence; dropping rows leaves hardly any of them."""
    half = reached(learner, "half the cells")
    assert half > reached(learner, "filled") + 3.0
    incomplete = np.isnan(training_rows("half the cells")).any(axis=1)
    assert (~incomplete).sum() < ROWS // 100
    assert half > reached(learner, "a tenth of the rows") + 0.2
