"""What each entry of the forest counts in the sum on top, fitted to the validation rows.

Components that were fitted alone differ in how well they describe the data: some are too small for
many rows, others too large for few. The shares that explain the validation rows best are the
weights of a mixture of given densities, which EM finds from any start. Components of one entry
differ by chance only and share alike, so there are few numbers to be fitted, and a few pseudo-rows
keep them near the given ones where validation rows are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spnc.backends import Backend
from spnc.backends.parted import open_engine
from spnc.common.arrays import Floats
from spnc.common.observer import silent
from spnc.data.table import Table
from spnc.forest.pretraining import Work
from spnc.graph.forest import Forest

# Pseudo-rows that are divided as the given shares are. On the eight tables of the benchmarks, whose
# validation splits have 40 to 3,256 rows, 1 and 10 were within 0.02 nats per row of each other
# (five-fold cross-validation of the validation rows).
PRIOR_ROWS = 4.0
TOLERANCE = 1e-9  # by which no share changes any more
MOST_STEPS = 10_000


def with_fitted_shares(
    forest: Forest, entries: Sequence[int], valid: Table, backend: Backend
) -> Forest:
    """Return a forest with fitted weights in the sum on top.

    `entries` are the numbers of the entries that components belong to, `valid` distinct rows.
    """
    own = np.asarray(entries)
    given: Floats = np.bincount(own, forest.shares).astype(np.float64)
    used = np.flatnonzero(given > 0.0)
    logs = np.stack([_log_densities(forest, own == entry, valid, backend) for entry in used])
    fitted = fitted_shares(logs, valid.weights, given[used])
    ratio = np.zeros(len(given))
    ratio[used] = fitted / given[used]
    weights = tuple((ratio[own] * np.array(forest.shares)).tolist())
    return replace(forest, weights=weights)


def fitted_shares(logs: Floats, weights: Floats, given: Floats) -> Floats:
    """Return the shares of densities, `logs[density, row]`, that explain weighted rows best."""
    top = logs.max(axis=0)
    possible = np.isfinite(top)
    densities, held = np.exp(logs[:, possible] - top[possible]), weights[possible]
    shares: Floats = given / given.sum()
    prior = PRIOR_ROWS * shares
    for _ in range(MOST_STEPS):
        joint = shares[:, None] * densities
        counts = (joint * (held / joint.sum(axis=0))).sum(axis=1) + prior
        before, shares = shares, counts / counts.sum()
        if np.abs(shares - before).max() < TOLERANCE:
            break
    return shares


def _log_densities(forest: Forest, chosen: Floats, valid: Table, backend: Backend) -> Floats:
    """Return the log density of each row under some of the components together."""
    roots = [root for root, own in zip(forest.roots, chosen.tolist(), strict=True) if own]
    part = Work(Forest(forest.builder, tuple(roots)))
    backend.prepare(part.program, silent)
    engine = open_engine(backend, part.program)
    found: Floats = engine.log_likelihood(part.parameters, engine.load(valid, once=True))
    return found
