"""Tables with columns of every kind, from a network whose density is known."""

from __future__ import annotations

import numpy as np

from benchmarks.common.mixed_network import STATES, MixedNetwork, hidden
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.scales import scale_of
from spnc.data.table import Table, packed

FINITE, COUNTS = 4, 2  # the first columns are categorical, then come counts, then real ones


def mixed_columns(values: Floats) -> tuple[Column, ...]:
    """The columns of a network's rows."""
    found = []
    for i, name in enumerate(MixedNetwork.names):
        if i < FINITE:
            found.append(Column(name, "categorical", STATES))
            continue
        kind = "count" if i < FINITE + COUNTS else "real"
        scale = scale_of(values[:, i], np.ones(len(values)))
        found.append(Column(name, kind, 0, scale=scale))  # type: ignore[arg-type]
    return tuple(found)


def mixed_table(values: Floats) -> Table:
    """A network's rows, stored as a table."""
    return Table.of_columns(
        [packed(v, STATES) if i < FINITE else v.copy() for i, v in enumerate(values.T)]
    )


def mixed_dataset(rows: int, missing: float = 0.0, seed: int = 0) -> Dataset:
    """A dataset whose training rows lack a share of their cells; test rows are complete."""
    network, rng = MixedNetwork.of(seed), np.random.default_rng(seed)
    train = hidden(network.draw(rows, rng), missing, rng)
    tables = {"train": train, "valid": network.draw(500, rng), "test": network.draw(2000, rng)}
    splits = {name: mixed_table(values) for name, values in tables.items()}
    return Dataset("mixed", mixed_columns(train), splits)
