"""Complete handwritten digits of which only the upper half is given.

A model gives the exact probability of each hidden pixel j, given the visible pixels e, from two
log-likelihoods: P(x_j = 1 | e) = exp(ll(e, x_j = 1) - ll(e)), where hidden pixels are NaN. Nothing
is sampled or approximated. `--small` trains a smaller forest.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import spnc
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink

SPEC = Path(__file__).resolve().parent.parent / "specs/quickstart.yaml"
SHADES = " .:-=+*#%@"


def conditional(model: spnc.Model, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `row` with P(x_j = 1 | visible pixels) in place of every hidden pixel j."""
    hidden = np.flatnonzero(np.isnan(row))
    asked = np.tile(row, (len(hidden), 1))
    asked[np.arange(len(hidden)), hidden] = 1
    found = row.copy()
    found[hidden] = np.exp(model.log_likelihood(asked) - model.log_likelihood(row))
    return found


def drawn(row: NDArray[np.float64]) -> list[str]:
    """Draw a digit as eight lines of text, with two characters per pixel."""
    shades = np.clip((row * len(SHADES)).astype(int), 0, len(SHADES) - 1).reshape(8, 8)
    return ["".join(SHADES[s] * 2 for s in line) for line in shades]


def main(small: bool) -> None:
    quick = ["forest.0.count=2", "optimizer.max_iterations=5"]
    run = spnc.train(SPEC, quick if small else [])
    print(f"average test log-likelihood: {run.scores['test'].average:.2f}")

    dataset = load(DataOptions(source="builtin:digits", split=(0.8, 0.1, 0.1)), Sink())
    assert dataset is not None
    for row in dataset.splits["test"].values[:3]:
        given = np.where(np.arange(64) < 32, row, np.nan)
        guess = conditional(run.model, given)
        right = np.mean((guess[32:] > 0.5) == row[32:])
        print(f"\n{'given':20} {'with the model':20} the truth ({right:.0%} of the hidden pixels)")
        for a, b, c in zip(drawn(np.nan_to_num(given)), drawn(guess), drawn(row), strict=True):
            print(f"|{a}|   |{b}|   |{c}|")


if __name__ == "__main__":
    main(small="--small" in sys.argv)
