"""Measure how far a trained forest is from the distribution that its data was drawn from.

The data comes from the Asia network, which is known and has only 256 joint states. So the
cross-entropy of network and model can be summed exactly; subtracting the network's entropy gives
the Kullback-Leibler divergence. `--small` trains fewer components.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

import spnc
from spnc.data.builtin import asia_entropy, asia_log_probability

SPECS = Path(__file__).resolve().parent.parent / "specs"


def divergence(model: spnc.Model) -> float:
    """Return the Kullback-Leibler divergence of the model from the network, in nats."""
    states = np.array(list(itertools.product([0, 1], repeat=8)))
    truth = np.exp(asia_log_probability(states))
    possible = truth > 0
    cross_entropy = -(truth[possible] * model.log_likelihood(states[possible])).sum()
    return float(cross_entropy - asia_entropy())


def main(small: bool) -> None:
    print(f"entropy of the network: {asia_entropy():.4f} nats")
    print("components   parameters   test log-likelihood   nats from the truth")
    for count in (1, 2) if small else (1, 3, 10, 30):
        run = spnc.train(SPECS / "tiny.yaml", [f"forest.0.count={count}"])
        size = run.model.program.facts()["parameters"]
        test = run.scores["test"].average
        print(f"{count:10} {size:12,} {test:21.4f} {divergence(run.model):21.4f}")

    by_hand = spnc.compile(SPECS / "circuits/asia.spn")
    size = by_hand.program.facts()["parameters"]
    # Exactly zero up to rounding, which may be negative.
    print(f"{'by hand':>10} {size:12,} {'':21} {abs(divergence(by_hand)):21.4f}")


if __name__ == "__main__":
    main(small="--small" in sys.argv)
