"""Right answers where doubles end: tiny probabilities, weights of 0 and 1, wide and narrow tables.

Everything is compared with `tests.exact_circuits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.data.table import Table
from spnc.graph.nodes import Builder, Graph
from spnc.leaves import Distribution
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson
from spnc.model import Model
from spnc.program.lower import lower, lower_with_numbers
from spnc.registry import BACKENDS
from tests.engines import DEVICE, STAND_IN, marked, open_engine
from tests.exact_circuits import exact_flows, exact_log, exact_values

LEAST = 5e-324  # the smallest positive double
NAN = float("nan")


# -- circuits at the edges -------------------------------------------------------------------------


def columns_of(count: int, kind: ColumnKind = "binary", states: int = 2) -> list[Column]:
    return [Column(f"x{i}", kind, states) for i in range(count)]


def mixture(
    columns: Sequence[Column], parts: Sequence[Sequence[Distribution]], weights: Sequence[float]
) -> Graph:
    """A mixture of products of leaves, one leaf for each column; of leaves, if there is one."""
    builder = Builder(columns)
    made = []
    for part in parts:
        leaves = [builder.leaf(i, leaf) for i, leaf in enumerate(part)]
        made.append(builder.product(leaves) if len(leaves) > 1 else leaves[0])
    builder.graph.graph["root"] = builder.sum(made, weights)
    return builder.graph


def binary_rows(columns: int, rows: int, seed: int = 0, missing: float = 0.1) -> Floats:
    """Random rows; the first has no known cell, the next are ones and zeros."""
    rng = np.random.default_rng(seed)
    found = (rng.random((rows, columns)) < 0.5).astype(float)
    found[rng.random((rows, columns)) < missing] = np.nan
    found[:3] = np.array([NAN, 1.0, 0.0])[:rows, None]
    return found


def bernoullis(chances: Any) -> list[Distribution]:
    return [Bernoulli(float(p)) for p in chances]


def improbable(columns: int, exponents: tuple[float, float], parts: int = 3) -> Graph:
    """Probabilities of ones between two powers of ten."""
    rng = np.random.default_rng(1)
    chances = 10.0 ** rng.uniform(*exponents, (parts, columns))
    weights = rng.dirichlet(np.ones(parts)).tolist()
    return mixture(columns_of(columns), [bernoullis(p) for p in chances], weights)


def falling_and_rising() -> tuple[Graph, Floats]:
    """A part whose likelihood ratio falls to 1e-540 on its first columns, and rises on the others.

    For a row of ones, both parts are about as probable in the end.
    """
    first = bernoullis([1e-3] * 200 + [0.9] * 200)
    second = bernoullis([0.5] * 200 + [0.0018] * 200)
    rows = np.zeros((500, 400))
    rows[1::2, :200] = 1.0
    rows[:3] = 1.0
    rows[1, 0] = rows[2, 250] = np.nan
    return mixture(columns_of(400), [first, second], [0.5, 0.5]), rows


@cache
def cases() -> dict[str, tuple[Graph, Floats]]:
    subnormal = [
        bernoullis([LEAST, 1e-310, 0.0, 1.0, 0.5]),
        bernoullis([1.0, 1e-320, 0.0, 1.0, 0.3]),
    ]
    certain = [bernoullis([p] * 5) for p in (0.3, 0.0, 1.0)]
    rng = np.random.default_rng(2)
    uneven = [bernoullis(p) for p in rng.random((10, 3))]
    constant = [bernoullis([1.0, 0.0, p]) for p in (0.2, 0.7, 0.4)]
    gaussians = [
        [Gaussian(0.0, 1.0), Gaussian(1.0, 2.0)],
        [Gaussian(LEAST, 1e-300), Gaussian(3.0, 1e-3)],
    ]
    numbers = [
        [NAN, NAN], [0.0, 0.0], [LEAST, 1.0], [1e-310, 3.0], [100.0, 100.0], [1e5, 1e5],
        [-1e150, 3.0], [0.0, NAN], [1e-300, 3.0],
    ]  # fmt: skip
    poissons = [[Poisson(1e-310), Poisson(2.0)], [Poisson(5.0), Poisson(1e-5)]]
    counts = [[NAN, NAN], [0, 0], [1, 0], [0, 400], [800, 800], [3, 2], [10, 0]]
    states = [[Categorical((LEAST, 0.0, 1.0))], [Categorical((0.5, 1e-310, 0.5))]]
    wide = [bernoullis(p) for p in rng.uniform(0.01, 0.99, (2, 5_000))]
    one = [bernoullis([0.2]), bernoullis([0.7])]
    return {
        "1e-2000": (improbable(400, (-6, -5)), binary_rows(400, 8)),
        "1e-50000": (improbable(400, (-300, -1)), binary_rows(400, 8)),
        "subnormal": (mixture(columns_of(5), subnormal, [LEAST, 1.0]), binary_rows(5, 40, 0, 0.3)),
        "weights 0 and 1": (
            mixture(columns_of(5), certain, [0.0, 1.0, 0.0]), binary_rows(5, 40, 0, 0.3)
        ),
        "rounded weights": (mixture(columns_of(3), uneven, [0.1] * 10), binary_rows(3, 40, 0, 0.6)),
        "constant columns": (
            mixture(columns_of(3), constant, [0.1, 0.2, 0.7]), binary_rows(3, 30, 0, 0.3)
        ),
        "5,000 columns": (mixture(columns_of(5_000), wide, [0.4, 0.6]), binary_rows(5_000, 4)),
        "one column": (mixture(columns_of(1), one, [0.4, 0.6]), binary_rows(1, 9)),
        "one row": (mixture(columns_of(1), one, [0.4, 0.6]), np.array([[1.0]])),
        "one row, missing": (mixture(columns_of(1), one, [0.1 + 0.2, 0.7]), np.array([[NAN]])),
        "states": (
            mixture(columns_of(1, "categorical", 3), states, [1e-300, 1.0]),
            np.array([[0.0], [1.0], [2.0], [NAN]]),
        ),
        "gaussians": (mixture(columns_of(2, "real", 0), gaussians, [0.5, 0.5]), np.array(numbers)),
        "poissons": (
            mixture(columns_of(2, "count", 0), poissons, [0.5, 0.5]), np.array(counts, dtype=float)
        ),
        "falling and rising": falling_and_rising(),
    }  # fmt: skip


class Expected:
    """What the reference says about a case, all as doubles."""

    def __init__(self, graph: Graph, rows: Floats) -> None:
        self.program, self.parameters, number = lower_with_numbers(graph)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        values = [exact_values(graph, row) for row in distinct.tolist()]
        root = graph.graph["root"]
        self.log_likelihood = np.array([exact_log(v[root]) for v in values])[inverse]
        self.flows = np.zeros((self.program.nodes, len(rows)))
        through = [exact_flows(graph, v) for v in values]
        for n in graph:
            self.flows[number[n]] = np.array([float(f[n]) for f, _ in through])[inverse]
        self.slots = np.zeros(self.program.slots)
        names = {number[n]: n for n in graph}
        for segment in self.program.segments:
            if segment.is_sum:
                for i, n in enumerate(range(segment.first, segment.last)):
                    for e in range(segment.starts[i], segment.starts[i + 1]):
                        edge = names[n], names[int(segment.children[e])]
                        shares = np.array([float(edges[edge]) for _, edges in through])
                        self.slots[segment.first_slot + e] = shares[inverse].sum()


@cache
def expected(name: str) -> Expected:
    return Expected(*cases()[name])


every_backend = pytest.mark.parametrize(
    "backend", [marked(way) for way in ("numpy", "numba", "numba, planned", STAND_IN, DEVICE)]
)
every_case = pytest.mark.parametrize("name", cases())


@every_backend
@every_case
def test_log_likelihoods_are_right(backend: str, name: str) -> None:
    rows, known = cases()[name][1], expected(name)
    engine = open_engine(backend, known.program)
    wanted = known.log_likelihood
    for once in (False, True):
        batch = engine.load(Table(rows), once=once)
        found = engine.log_likelihood(known.parameters, batch)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        assert (found[np.isnan(rows).all(axis=1)] == 0.0).all()
        if name != "gaussians":  # a density may be above one
            assert (found <= 0.0).all()
        score = engine.score(known.parameters, batch)
        possible = wanted > -np.inf
        np.testing.assert_allclose(score.total, wanted[possible].sum(), rtol=1e-9, atol=1e-12)
        assert (score.possible, score.impossible) == (possible.sum(), (~possible).sum())


@every_backend
@every_case
def test_expected_counts_are_right(backend: str, name: str) -> None:
    rows, known = cases()[name][1], expected(name)
    engine = open_engine(backend, known.program)
    counts = engine.expected_counts(known.parameters, engine.load(Table(rows)))
    np.testing.assert_allclose(counts.weights, known.slots, rtol=1e-9, atol=1e-12)
    tables = zip(known.program.leaves, known.parameters.tables, counts.tables, strict=True)
    for leaf, current, found in tables:
        flows = known.flows[leaf.first : leaf.last]
        wanted = leaf.kind.statistics(rows.T[leaf.variables], flows, current, leaf.columns)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    unknown = np.isnan(rows).all(axis=1)
    if unknown.all():
        assert counts.score.total == 0.0


@every_backend
@every_case
def test_flows_through_nodes_are_right(backend: str, name: str) -> None:
    rows, known = cases()[name][1], expected(name)
    engine = open_engine(backend, known.program)
    nodes = np.arange(known.program.nodes)
    found = engine.node_flows(known.parameters, Table(rows), nodes)
    np.testing.assert_allclose(found, known.flows, rtol=1e-9, atol=1e-12)
    values, flows = engine.node_values_and_flows(known.parameters, Table(rows), nodes)
    np.testing.assert_allclose(flows, known.flows, rtol=1e-9, atol=1e-12)
    assert not np.isnan(values).any()
    unknown = np.isnan(rows).all(axis=1)
    np.testing.assert_allclose(values[:, unknown], 1.0, rtol=1e-12)


# -- questions to models ---------------------------------------------------------------------------

every_way = pytest.mark.parametrize("backend", ["numpy", "numba"])


def model_of(graph: Graph, backend: str) -> Model:
    program, parameters = lower(graph)
    return Model("edges", program, parameters, backend=BACKENDS[backend]())


def exact_chances(graph: Graph, row: Floats, column: int, states: int = 2) -> Floats:
    """The probability of each state of a column, given the other cells of a row."""
    root, found = graph.graph["root"], []
    for state in range(states):
        own = row.copy()
        own[column] = state
        found.append(exact_values(graph, own.tolist())[root])
    total = mp.fsum(found)
    return np.array([float(f / total) for f in found])


IMPROBABLE = ["1e-2000", "1e-50000", "5,000 columns", "falling and rising"]


@every_way
@pytest.mark.parametrize("name", IMPROBABLE)
def test_cells_given_improbable_rows_are_right(backend: str, name: str) -> None:
    graph, _ = cases()[name]
    rows = cases()[name][1][1:4].copy()
    rows[:, 3] = np.nan
    # Engines compute ratios to what is usual in the table, which is what the other rows say.
    table = np.concatenate([rows, cases()[name][1][4:]])
    model = model_of(graph, backend)
    predicted = model.predict(table, "x3")
    filled = model.impute(table, probabilities=True)
    for i, row in enumerate(rows):
        wanted = exact_chances(graph, row, 3)
        found = np.array([predicted["x3=0"][i], predicted["x3=1"][i]])
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-300)
        assert filled["x3"][i] == np.argmax(wanted)
        np.testing.assert_allclose(filled["x3.probability"][i], wanted.max(), rtol=1e-9)


@every_way
@pytest.mark.parametrize("name", ["1e-2000", "1e-50000", "falling and rising"])
def test_models_given_improbable_events_are_right(backend: str, name: str) -> None:
    graph, rows = cases()[name]
    row = rows[1].copy()
    row[3] = np.nan
    event = ", ".join(f"x{i} = {int(c)}" for i, c in enumerate(row) if not np.isnan(c))
    model = model_of(graph, backend)
    wanted = exact_chances(graph, row, 3)
    given = model.condition(event)
    for state in (0.0, 1.0):
        cells = row.copy()
        cells[3] = state
        alone = np.where(np.arange(len(row)) == 3, state, np.nan)
        for asked in (cells, alone):
            found = np.exp(given.log_likelihood(asked[None]))[0]
            np.testing.assert_allclose(found, wanted[int(state)], rtol=1e-9)
    answer = model.query(f"P(x3 = 1 | {event})")
    np.testing.assert_allclose(answer.value, wanted[1], rtol=1e-9)  # type: ignore[union-attr]
    drawn = model.sample(400, given=event).values
    assert (drawn[:, ~np.isnan(row)] == row[~np.isnan(row)]).all()
    error = 5.0 * np.sqrt(wanted[1] * (1.0 - wanted[1]) / 400) + 1e-9
    assert abs(drawn[:, 3].mean() - wanted[1]) <= error
    best = model.most_likely(["x3"], given=event)
    assert best.rows.values[0, 0] == np.argmax(wanted)
    np.testing.assert_allclose(np.exp(best.log_value), wanted.max(), rtol=1e-9)


@every_way
@every_case
def test_marginals_are_right(backend: str, name: str) -> None:
    graph, rows = cases()[name]
    model = model_of(graph, backend)
    column = model.columns[-1].name
    part = model.marginal([column])
    for row in rows[:6]:
        alone = np.full(len(row), np.nan)
        alone[-1] = row[-1]
        wanted = exact_log(exact_values(graph, alone.tolist())[graph.graph["root"]])
        (found,) = part.log_likelihood(alone[None, -1:])
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        if np.isnan(alone).all():
            assert found == 0.0


@every_way
@every_case
def test_the_whole_has_probability_one_and_rows_are_possible(backend: str, name: str) -> None:
    graph, _ = cases()[name]
    model = model_of(graph, backend)
    nothing = np.full((1, len(model.columns)), np.nan)
    assert model.log_likelihood(nothing)[0] == 0.0
    assert model.evaluate(nothing)["all"].total == 0.0
    assert model.log_likelihood(np.repeat(nothing, 50, axis=0)).tolist() == [0.0] * 50
    drawn = model.sample(20, seed=1).values
    assert np.isfinite(drawn).all()
    assert (model.log_likelihood(drawn) > -np.inf).all()
    if len(model.columns) > 1_000:
        return  # filling 5,000 cells takes seconds
    filled = model.impute(nothing)
    row = np.array([[filled[c.name][0] for c in model.columns]], dtype=float)
    if name != "gaussians":  # the mean of a mixture may lie between its parts
        assert model.log_likelihood(row)[0] > -np.inf


@every_way
@pytest.mark.parametrize(
    "name", ["subnormal", "weights 0 and 1", "rounded weights", "constant columns", "one column"]
)
def test_answers_about_few_columns_are_right(backend: str, name: str) -> None:
    """Mutual information and the most likely row, by enumeration."""
    graph, _ = cases()[name]
    model, width = model_of(graph, backend), len(graph.graph["columns"])
    states = np.stack(np.meshgrid(*[[0.0, 1.0]] * width, indexing="ij"), axis=-1).reshape(-1, width)
    root = graph.graph["root"]
    joint = [exact_values(graph, row)[root] for row in states.tolist()]
    best = model.most_likely()
    assert best.exact
    np.testing.assert_allclose(best.log_value, exact_log(max(joint)), rtol=1e-9, atol=1e-12)
    assert best.log_value <= 0.0
    found = model.mutual_information()
    assert (found >= 0.0).all()
    for i in range(width):
        for j in range(i):
            chance = {
                (a, b): mp.fsum(
                    p
                    for p, row in zip(joint, states, strict=True)
                    if a in (row[i], None) and b in (row[j], None)
                )
                for a in (0.0, 1.0, None)
                for b in (0.0, 1.0, None)
            }
            total = chance[None, None]
            wanted = mp.fsum(
                p * mp.log(p * total / (chance[a, None] * chance[None, b]))
                for (a, b), p in chance.items()
                if a is not None and b is not None and p > 0
            )
            np.testing.assert_allclose(found[i, j], float(wanted), rtol=1e-6, atol=1e-12)
