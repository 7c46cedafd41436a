"""What a backend promises of rows: few and many, wide, impossible, or none; read once or often."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.program.score import Score
from spnc.testing.circuits import probability, random_circuit, random_columns, random_rows
from spnc.testing.promises import expect, expect_close

OpenEngine = Callable[[Program], Engine]
_FEW_ROWS = (1, 2, 7, 8, 9, 63, 64, 65)  # around the ends of blocks of any usual width
_MANY_ROWS = 1_000
_WIDTH = 2_000  # columns whose probabilities are far below the smallest double
_MIXED = 0.5  # share of numeric columns in half of the circuits


def opened(open_engine: OpenEngine, graph: Graph) -> tuple[Engine, Parameters]:
    """Return an engine for a circuit, and its parameters."""
    program, parameters = lower(graph)
    return open_engine(program), parameters


def log_likelihood(open_engine: OpenEngine, graph: Graph, rows: Floats) -> Floats:
    """Return the log-likelihoods; those of a table that is read once must be equal to them."""
    engine, parameters = opened(open_engine, graph)
    found = engine.log_likelihood(parameters, engine.load(Table(rows)))
    once = engine.log_likelihood(parameters, engine.load(Table(rows), once=True))
    expect_close(once, found, "the log-likelihoods of rows that are read once", rel=1e-9)
    return found


def rows_do_not_depend_on_how_many_there_are(open_engine: OpenEngine, seed: int) -> None:
    """Engines compute rows in blocks: none is lost or changed at the end of one."""
    rng = np.random.default_rng(seed)
    numeric, missing = float(rng.choice([0.0, 0.5])), float(rng.choice([0.0, 0.3]))
    variables = int(rng.integers(1, 7))
    graph = random_circuit(seed, variables=variables, share=0.5, extremes=True, numeric=numeric)
    some = random_rows(seed, graph.graph["columns"], max(_FEW_ROWS), missing)
    wanted = np.array([probability(graph, row) for row in some])
    engine, parameters = opened(open_engine, graph)
    for count in (*_FEW_ROWS, _MANY_ROWS):
        at = np.arange(count) % len(some)
        batch = engine.load(Table(some[at]), once=True)
        found = np.exp(engine.log_likelihood(parameters, batch))
        expect_close(found, wanted[at], f"the probabilities of {count} rows", rel=1e-9)


def a_single_leaf_is_a_circuit(open_engine: OpenEngine, seed: int) -> None:
    """The root may be a leaf."""
    chance = float(np.random.default_rng(seed).uniform(0.1, 0.9))
    builder = Builder([Column("x")])
    builder.graph.graph["root"] = builder.leaf(0, Bernoulli(chance))
    rows = np.array([[1.0], [0.0], [np.nan]] * 7)
    found = np.exp(log_likelihood(open_engine, builder.graph, rows))
    expect_close(found, [chance, 1.0 - chance, 1.0] * 7, "the probabilities")


def a_row_without_known_cells_is_certain(open_engine: OpenEngine, seed: int) -> None:
    """It has a log-likelihood of exactly 0, although weights add up to one only up to rounding."""
    graph = random_circuit(seed, share=0.5, extremes=True, numeric=_MIXED * (seed % 2))
    rows = random_rows(seed, graph.graph["columns"], 40, 0.3)
    rows[::7] = np.nan
    engine, parameters = opened(open_engine, graph)
    for once in (False, True):
        batch = engine.load(Table(rows), once=once)
        found = engine.log_likelihood(parameters, batch)[::7]
        expect((found == 0.0).all(), f"rows of missing cells have {found}")
    only = engine.load(Table(np.full_like(rows, np.nan)))
    for score in (
        engine.score(parameters, only),
        engine.expected_counts(parameters, only).score,
    ):
        expect(score == Score(0.0, len(rows), 0.0), f"rows of missing cells have {score}")


def a_table_without_rows_has_no_counts(open_engine: OpenEngine, seed: int) -> None:
    """No rows are no special case."""
    circuit = random_circuit(seed, numeric=_MIXED * (seed % 2))
    engine, parameters = opened(open_engine, circuit)
    batch = engine.load(Table(np.empty((0, 5))))
    shape = engine.log_likelihood(parameters, batch).shape
    expect(shape == (0,), f"the log-likelihoods of no rows have the shape {shape}")
    expect(engine.score(parameters, batch) == Score(), "the score of no rows is not empty")
    counts = engine.expected_counts(parameters, batch)
    expect(counts.score == Score(), "the score of no rows is not empty")
    expect_close(counts.weights, np.zeros_like(parameters.weights), "the counts", rel=0, abs=0)
    for found, leaf in zip(counts.tables, engine.program.leaves, strict=True):
        expect_close(found, np.zeros((len(leaf), leaf.statistic_count)), "the counts", rel=0, abs=0)


def impossible_rows_are_counted_and_carry_no_flow(open_engine: OpenEngine, seed: int) -> None:
    """A row of probability zero has -inf, and adds to no count."""
    share = float(np.random.default_rng(seed).uniform(0.1, 0.9))
    builder = Builder([Column("x")])
    ones = [builder.leaf(0, Bernoulli(1.0)) for _ in range(2)]
    builder.graph.graph["root"] = builder.sum(ones, [share, 1.0 - share])
    engine, parameters = opened(open_engine, builder.graph)
    batch = engine.load(Table(np.array([[1.0], [0.0], [1.0]])))
    counts = engine.expected_counts(parameters, batch)
    score = counts.score
    expect((score.impossible, score.possible) == (1, 2), f"1 of 3 rows is impossible: {score}")
    expect_close(score.average, 0.0, "the average of the possible rows")
    expect_close(counts.weights.sum(), 2.0, "the flow of the possible rows")
    for once in (False, True):
        batch = engine.load(Table(np.array([[1.0], [0.0], [1.0]] * 5)), once=once)
        lowest = engine.log_likelihood(parameters, batch)[1::3]
        expect((lowest == -np.inf).all(), f"impossible rows have {lowest}")


def wide_rows_do_not_underflow(open_engine: OpenEngine, seed: int) -> None:
    """2,000 columns: the probability itself is far below the smallest double."""
    width, shares = _WIDTH, (0.3, 0.7)
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, width, binary_only=True)
    builder = Builder(columns)
    p = rng.random((2, width))
    parts = [
        builder.product([builder.leaf(v, Bernoulli(float(p[k, v]))) for v in range(width)])
        for k in range(2)
    ]
    builder.sum(parts, list(shares))
    rows = random_rows(seed, columns, 20, 0.1)
    terms = np.where(rows[None] == 1, np.log(p[:, None]), np.log1p(-p[:, None]))
    terms = np.where(np.isnan(rows)[None], 0.0, terms).sum(axis=2)
    wanted = np.logaddexp(np.log(shares[0]) + terms[0], np.log(shares[1]) + terms[1])
    found = log_likelihood(open_engine, builder.graph, rows)
    expect_close(found, wanted, "the log-likelihoods", rel=1e-9)
    expect((found < -500).all(), f"the rows are not improbable enough: {found}")
