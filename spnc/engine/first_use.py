"""A first use of every kernel, on a circuit just large enough to need them all."""

from __future__ import annotations

from functools import cache

import numpy as np

from spnc.data.dataset import Column, Table
from spnc.engine.engine import CpuEngine
from spnc.program import LeafTable, Parameters, Program, Segment

COLUMNS = 3
STATES = 16  # of the latent variable: enough for dense blocks


@cache
def use_every_kernel() -> None:
    """Evaluate and count, over all rows and one that is impossible; once per process."""
    program, parameters = _circuit()
    codes = np.arange(2**COLUMNS)
    values = ((codes[:, None] >> np.arange(COLUMNS)) & 1).astype(np.float64)
    table = Table(np.repeat(values, 8, axis=0))
    for plan_rows in (0, table.rows * 100):  # with a plan, and row by row
        engine = CpuEngine(program, threads=1, plan_rows=plan_rows)
        batch = engine.load(table)
        engine.log_likelihood(parameters, batch)
        engine.expected_counts(parameters, batch)


def _circuit() -> tuple[Program, Parameters]:
    """A sum of mixtures: 16 products of leaves, 16 sums over all of them, a product, a root.

    The last column's leaf is a sure 1 and one weight is zero, so that some rows are impossible
    and some nodes are dead.
    """
    leaves = STATES * (COLUMNS - 1)
    variables = np.append(np.repeat(np.arange(COLUMNS - 1), STATES), COLUMNS - 1)
    every = np.arange(STATES)
    products, sums = leaves + 1, leaves + 1 + STATES
    pairs = np.stack([every, every + STATES], axis=1).reshape(-1)
    tiled = np.tile(products + every, STATES)
    mixture, root = sums + STATES, sums + STATES + 1
    segments = (
        Segment(False, products, sums, 2 * np.arange(STATES + 1), pairs, 0),
        Segment(True, sums, mixture, STATES * np.arange(STATES + 1), tiled, 0),
        Segment(True, mixture, root, np.array([0, STATES]), sums + every, STATES**2),
        Segment(False, root, root + 1, np.array([0, 2]), np.array([leaves, mixture]), 0),
    )  # fmt: skip
    columns = tuple(Column(f"x{i}") for i in range(COLUMNS))
    table = LeafTable("bernoulli", 2, 0, variables)
    program = Program(columns, (table,), segments, root, 5)
    weights = np.full(STATES**2 + STATES, 1.0 / STATES)
    weights[-2:] = 0.0, 2.0 / STATES
    chances = np.append(np.linspace(0.1, 0.9, leaves), 1.0)
    return program, Parameters(weights, (chances[:, None],))
