"""Small random forests, and what tests of residual strategies need around them."""

from __future__ import annotations

import numpy as np

from spnc.backends.numpy import NumpyBackend
from spnc.data.dataset import Dataset, Table
from spnc.diagnostics import Sink
from spnc.forest import grow
from spnc.learners.extra_spn import ExtraSpn
from spnc.residuals import Forest, Linking
from spnc.smoothing import Smoothing
from spnc.spec.recipe import Component
from spnc.warm_up import warm_up
from tests.circuits import random_columns, random_rows


def small_forest(seed: int, components: int = 3, variables: int = 5) -> tuple[Forest, Dataset]:
    """ExtraSPNs grown on random rows whose first two columns often agree."""
    rng = np.random.default_rng(seed)
    columns = tuple(random_columns(rng, variables))
    tables = {}
    for name, rows in (("train", 60), ("valid", 20)):
        values = random_rows(int(rng.integers(10**6)), columns, rows, missing=0.05)
        agree = (rng.random(rows) < 0.7) & (values[:, 1] < 2)
        values[agree, 0] = values[agree, 1]
        tables[name] = Table(values)
    dataset = Dataset("random", columns, tables)
    learner = ExtraSpn(min_instances=int(rng.integers(2, 12)), beta=0.5)
    forest = grow(
        [Component(learner=learner, count=components)],
        dataset,
        smoothing=Smoothing.of(0.1),
        seed=seed,
        sink=Sink(),
    )
    return forest, dataset


def linking(forest: Forest, dataset: Dataset, seed: int = 0, sink: Sink | None = None) -> Linking:
    """What a strategy is given."""
    return Linking(
        forest,
        dataset,
        np.random.default_rng(seed),
        sink if sink is not None else Sink(),
        lambda *_: None,
        lambda iterations: warm_up(
            forest, dataset.train, Smoothing.of(0.1), NumpyBackend(), iterations
        ),
    )
