"""Compile every kernel of training and evaluation by using it once, on a small circuit.

Those that draw rows are compiled when a row is first drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numba.core import event

from spnc.backends.numba.engine import CpuEngine
from spnc.backends.numba.kernels import LOW, add_by_code
from spnc.backends.numba.normal_kernels import (
    normal_largest,
    normal_ratios,
    normal_sums,
    raise_to_largest,
)
from spnc.backends.planning.compiling import CompileCounter
from spnc.backends.planning.encoding import encode
from spnc.backends.planning.projections import pack
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import Parabolas
from spnc.program.program import LeafTable, Parameters, Program, Segment

COLUMNS = 3
FEW, MANY = 2, 16  # states of a latent variable: too few for dense blocks, and enough for them


def compile_kernels(dense: bool, numbers: bool, report: Callable[[int], None]) -> None:
    """Compile kernels or read them from disk; `report` gets the number compiled so far.

    Those for dense blocks and for columns of numbers are compiled only if asked for.
    """
    with event.install_listener("numba:compile", CompileCounter(report)):
        for states in (FEW, MANY) if dense else (FEW,):
            _use(states)
        if numbers:
            _use_numbers()


@cache
def _use(states: int) -> None:
    """Evaluate and count over all rows, some of them impossible; once per process."""
    program, parameters = _circuit(states)
    codes = np.arange(2**COLUMNS)
    values = ((codes[:, None] >> np.arange(COLUMNS)) & 1).astype(np.float64)
    often = np.repeat(values, 8, axis=0)
    # Few projections and many rows; as many projections as rows; and without a layout.
    for plan_rows, table in ((0, Table(often)), (0, Table(values)), (10**9, Table(values))):
        engine = CpuEngine(program, threads=1, plan_rows=plan_rows)
        batch = engine.load(table)
        engine.log_likelihood(parameters, batch)
        engine.expected_counts(parameters, batch)
        engine.log_likelihood(parameters, engine.load(table, once=True))
        engine.log_likelihood(parameters, engine.load(Table(values[:1]), once=True))
        if batch.executor is not None:
            batch.executor.cell_flags |= LOW
            batch.executor.cells_upper_bound()
    every = np.arange(COLUMNS)
    own = encode(engine.index, Table(values)).codes
    pack(own, np.full(COLUMNS, 3), np.arange(COLUMNS + 1), every, codes.astype(np.uint32), 4)


@cache
def _use_numbers() -> None:
    """Compute and sum one leaf over one row."""
    codes, cell, leaf = np.zeros((1, 1), dtype=np.uint16), np.zeros(1), np.zeros((1, 1))
    add_by_code(0, 1, codes, np.zeros(1, dtype=np.int64), cell, np.zeros(1))
    normal_ratios(cell, cell, codes[0], cell, Parabolas.of(np.ones((1, 2))), leaf)
    normal_ratios(cell, cell, np.arange(1), cell, Parabolas.of(np.ones((1, 2))), leaf)
    normal_largest(cell, cell, Parabolas.of(np.ones((1, 2))), cell)
    normal_sums(cell, 0.0, 1.0, leaf, np.empty((1, 3)))
    raise_to_largest(leaf, cell)


def _circuit(states: int) -> tuple[Program, Parameters]:
    """A small circuit: products of two leaves, as many sums over all of them, a sum, a product.

    The last column's leaf is 1 for certain and one weight is zero, so that some rows are impossible
    and some nodes are dead.
    """
    leaves = states * (COLUMNS - 1)
    variables = np.append(np.repeat(np.arange(COLUMNS - 1), states), COLUMNS - 1)
    every = np.arange(states)
    products, sums = leaves + 1, leaves + 1 + states
    pairs = np.stack([every, every + states], axis=1).reshape(-1)
    tiled = np.tile(products + every, states)
    mixture, root = sums + states, sums + states + 1
    segments = (
        Segment(False, products, sums, 2 * np.arange(states + 1), pairs, 0),
        Segment(True, sums, mixture, states * np.arange(states + 1), tiled, 0),
        Segment(True, mixture, root, np.array([0, states]), sums + every, states**2),
        Segment(False, root, root + 1, np.array([0, 2]), np.array([leaves, mixture]), 0),
    )
    columns = tuple(Column(f"x{i}") for i in range(COLUMNS))
    table = LeafTable("bernoulli", 1, 0, variables, LeafColumns.of(columns, variables))
    program = Program(columns, (table,), segments, root, 5)
    weights = np.full(states**2 + states, 1.0 / states)
    weights[-2:] = 0.0, 2.0 / states
    chances = np.append(np.linspace(0.1, 0.9, leaves), 1.0)
    return program, Parameters(weights, (chances[:, None],))
