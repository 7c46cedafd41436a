"""spnc's answers equal those of SPFlow 0.0.48, SPFlow 1.1.0 and cirkit 0.2.1.

`python -m benchmarks.record_answers` writes the records; the tests do not need the libraries. A
record says what its library cannot answer, and where it is wrong: there, spnc is compared with
enumeration.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from benchmarks.peers.catalogue import CIRKIT, SPFLOW, SPFLOW_LEGACY
from benchmarks.peers.recording import MAX_FILE_BYTES, RECORDS
from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.model import Model
from spnc.queries.complete import complete
from spnc.queries.leaf_weights import columns_given_rows
from spnc.queries.likely_rows import likely_rows
from tests.circuits import all_states, probability

PEERS = (SPFLOW_LEGACY, SPFLOW, CIRKIT)
PATHS = [path for peer in PEERS for path in sorted((RECORDS / peer.key).glob("*.json"))]
TOLERANCE = 1e-9
Given = dict[str, Any]


@cache
def read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


@cache
def model_of(path: Path) -> Model:
    return spnc.compile(read(path)["circuit"])


def asked(*kinds: str, wrong: bool = False) -> list[Any]:
    """Return a parameter for every recorded answer of these kinds, right or wrong."""
    return [
        pytest.param(path, name, id=f"{path.parent.name}-{path.stem}-{name}")
        for path in PATHS
        for name in read(path)["answers"]
        if name in kinds and (name in read(path)["wrong"]) == wrong
    ]


def numbers(values: Any) -> Floats:
    """Return recorded numbers as an array; None is NaN."""
    return np.array(values, dtype=np.float64)


def named(model: Model, columns: list[int]) -> list[str]:
    return [model.columns[i].name for i in columns]


def joint(given: Given) -> Floats:
    """Return the rows with their evidence."""
    rows, evidence = numbers(given["rows"]), numbers(given["evidence"])
    return np.where(np.isnan(rows), evidence, rows)


# --- spnc's answers


def log_likelihoods(model: Model, given: Given) -> Any:
    return model.log_likelihood(numbers(given["rows"]))


def marginals(model: Model, given: Given) -> Any:
    marginal = model.marginal(named(model, given["columns"]))
    return marginal.log_likelihood(numbers(given["rows"]))


def conditionals(model: Model, given: Given) -> Any:
    evidence, rows = numbers(given["evidence"]), numbers(given["rows"])
    if any(not column.is_finite for column in model.columns):
        # The language takes a number for a range that is as wide as its last digit.
        return model.log_likelihood(joint(given)) - model.log_likelihood(evidence)
    return [
        model.condition(event(model, known, known)).log_likelihood(row[None])[0]
        for known, row in zip(evidence, rows, strict=True)
    ]


def event(model: Model, low: Floats, high: Floats) -> str:
    """Return the event that every column lies between bounds, NaN for none, as text."""
    bounds = [
        f"{column.name} {sign} {float(value)!r}"
        for column, *both in zip(model.columns, low, high, strict=True)
        for sign, value in zip((">=", "<="), both, strict=True)
        if not math.isnan(value)
    ]
    return ", ".join(bounds)


def means(model: Model, given: Given) -> Any:
    return [model.linear({name: 1.0}).mean for name in named(model, given["columns"])]


def conditional_means(model: Model, given: Given) -> Any:
    return means_given_rows(model, numbers(given["evidence"]), given["columns"])


def means_given_rows(model: Model, rows: Floats, columns: list[int]) -> Floats:
    """Return the means of columns given the known cells of rows, `[row, column]`."""
    pieces = columns_given_rows(model.engine, model.parameters, Table(rows), columns)
    return np.vstack([np.stack([found[i].mean() for i in columns], axis=1) for _, found in pieces])


def entropies(model: Model, given: Given) -> Any:
    sets = (", ".join(named(model, columns)) for columns in given["columns"])
    return [float(model.query(f"H[{columns}]")) for columns in sets]


def informations(model: Model, given: Given) -> Any:
    pairs = ([", ".join(named(model, own)) for own in both] for both in given["columns"])
    return [float(model.query(f"MI[{one}; {other}]")) for one, other in pairs]


def intervals(model: Model, given: Given) -> Any:
    bounds = zip(numbers(given["low"]), numbers(given["high"]), strict=True)
    events = [event(model, low, high) for low, high in bounds]
    return [model.query(f"P({text})").log_value if text else 0.0 for text in events]


def log_square(model: Model, given: Given) -> Any:
    row = model.sample(1).cells
    return (2.0 * model.log_likelihood(row) - model.product(model).log_likelihood(row))[0]


ANSWERS: dict[str, Callable[[Model, Given], Any]] = {
    work.__name__: work
    for work in (
        log_likelihoods, marginals, conditionals, means, conditional_means, entropies,
        informations, intervals, log_square,
    )
}  # fmt: skip


@pytest.mark.parametrize(("path", "name"), asked(*ANSWERS))
def test_answers_equal_the_peers(path: Path, name: str) -> None:
    given = read(path)["answers"][name]
    expected = numbers(given["values"])
    found = numbers(ANSWERS[name](model_of(path), given))
    assert found.shape == expected.shape
    answered = ~np.isnan(expected)
    assert answered.any()
    if read(path)["version"] != SPFLOW_LEGACY.version or name != "conditionals":
        assert answered.all()  # that function of SPFlow 0.0.48 fails for some evidence
    near = {"rtol": TOLERANCE, "atol": TOLERANCE}
    np.testing.assert_allclose(found[answered], expected[answered], **near)


# --- where a peer is wrong


def true_log_likelihoods(model: Model, given: Given) -> Any:
    return [log_probability(model, row) for row in numbers(given["rows"])]


def true_conditionals(model: Model, given: Given) -> Any:
    below = [log_probability(model, row) for row in numbers(given["evidence"])]
    return numbers([log_probability(model, row) for row in joint(given)]) - below


def true_entropies(model: Model, given: Given) -> Any:
    return [true_entropy(model, columns) for columns in given["columns"]]


def true_informations(model: Model, given: Given) -> Any:
    return [
        true_entropy(model, one) + true_entropy(model, other) - true_entropy(model, one + other)
        for one, other in given["columns"]
    ]


def true_intervals(model: Model, given: Given) -> Any:
    rows = all_states(model.columns)
    chances = np.array([probability(model.graph(), row) for row in rows])
    found = []
    for low, high in zip(numbers(given["low"]), numbers(given["high"]), strict=True):
        inside = ~(rows < low).any(axis=1) & ~(rows > high).any(axis=1)  # NaN is no bound
        total = math.fsum(chances[inside])
        found.append(math.log(total) if total else -math.inf)
    return found


def true_entropy(model: Model, columns: list[int]) -> float:
    """Return the entropy of columns in nats, by enumeration."""
    chances: dict[tuple[float, ...], float] = {}
    for row in all_states(model.columns):
        states = tuple(row[columns])
        chances[states] = chances.get(states, 0.0) + probability(model.graph(), row)
    return -math.fsum(p * math.log(p) for p in chances.values() if p)


def log_probability(model: Model, row: Floats) -> float:
    found = probability(model.graph(), row)
    return math.log(found) if found else -math.inf


TRUTHS = {
    name: globals()[f"true_{name}"]
    for name in ("log_likelihoods", "conditionals", "entropies", "informations", "intervals")
}


@pytest.mark.parametrize(("path", "name"), asked(*ANSWERS, wrong=True))
def test_where_a_peer_is_wrong_spnc_equals_enumeration(path: Path, name: str) -> None:
    given, model = read(path)["answers"][name], model_of(path)
    expected = numbers(TRUTHS[name](model, given))
    found = numbers(ANSWERS[name](model, given))
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)
    # Otherwise the record is not to say that the peer is wrong.
    assert not np.allclose(numbers(given["values"]), expected, rtol=TOLERANCE, atol=TOLERANCE)


# --- completions and drawn rows


@pytest.mark.parametrize(("path", "name"), asked("completions"))
def test_completions_are_at_least_as_probable_as_the_peers(path: Path, name: str) -> None:
    """Both versions of SPFlow go down the circuit to the best child of every sum.

    They judge a child by sums where the maximum would have to be taken, so they find no more than
    a probable row, also in deterministic circuits.
    """
    given, model = read(path)["answers"][name], model_of(path)
    rows, theirs = numbers(given["rows"]), numbers(given["values"])
    ours = likely_rows(model.engine, model.parameters, Table(rows))
    assert (np.isnan(rows) | (rows == theirs)).all()
    assert (np.isnan(rows) | (rows == ours.cells)).all()
    reached, known = model.log_likelihood(theirs), model.log_likelihood(ours.cells)
    assert (known >= reached - TOLERANCE).all()
    assert np.isclose(known, reached, atol=0.1).mean() >= 0.25  # neither is far off
    if all(column.is_finite for column in model.columns):
        assert ours.exact.all()


@pytest.mark.parametrize(("path", "name"), asked("draws", "conditional_draws"))
def test_drawn_rows_have_the_same_means(path: Path, name: str) -> None:
    given, model = read(path)["answers"][name], model_of(path)
    evidence, theirs = numbers(given["evidence"]), numbers(given["means"])
    columns = len(model.columns)
    errors = np.maximum(numbers(given["errors"]), TOLERANCE)  # of known cells, it is zero
    rng = np.random.default_rng(17)
    given_rows = Table(np.repeat(evidence, 10 * given["count"], axis=0))
    rows = complete(model.engine, model.parameters, given_rows, rng)
    first, second = np.triu_indices(columns, k=1)
    ours = np.hstack([rows, rows[:, first] * rows[:, second]]).mean(axis=0)
    missing = np.flatnonzero(np.isnan(evidence[0]))
    exact = means_given_rows(model, evidence, missing.tolist())[0]
    assert (np.abs(theirs - ours) <= 5.0 * errors + 1e-6).all()
    assert (np.abs(theirs[missing] - exact) <= 5.0 * errors[missing] + 1e-6).all()


# --- the records


def test_the_records_cover_what_they_are_for() -> None:
    kinds = {peer.key: set() for peer in PEERS}
    for path in PATHS:
        record = read(path)
        assert f"{record['peer']}-{record['version']}" == path.parent.name
        assert path.stat().st_size < MAX_FILE_BYTES
        assert set(record["wrong"]) <= set(record["answers"])
        kinds[path.parent.name] |= set(record["answers"])
    same = {"log_likelihoods", "marginals", "draws"}
    both = {*same, "completions", "entropies", "informations", "conditional_draws"}
    assert kinds == {
        SPFLOW_LEGACY.key: {*both, "conditionals", "means", "conditional_means"},
        SPFLOW.key: {*both, "intervals"},
        CIRKIT.key: {*same, "conditionals", "log_square"},
    }
    leaves = {n["distribution"] for p in PATHS for n in read(p)["circuit"]["nodes"] if "p" in n}
    assert leaves == {"bernoulli", "categorical", "gaussian", "poisson", "exponential"}
