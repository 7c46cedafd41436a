"""Circuits go to SPFlow 0.0.48 and come back with the same distribution."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spnc
from benchmarks.peers import environments
from benchmarks.peers.catalogue import SPFLOW_LEGACY
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.diagnostics import InputError
from spnc.exports.spflow.writing import CONVERTED
from spnc.graph.nodes import Builder
from spnc.leaves.categorical import Categorical
from spnc.leaves.student_t import StudentT
from spnc.leaves.uniform import Uniform
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows
from tests.leaf_circuits import leaf_circuit
from tests.places import ROOT
from tests.stand_in import spflow

SEEDS = st.integers(0, 10**6)
ANY_SEED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    spflow.install(monkeypatch)


def model_of(graph) -> Model:
    return Model("x", *lower(graph), backend=BACKENDS["numpy"]())


def agree(found: Floats, expected: Floats) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@ANY_SEED
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.5]))
def test_random_circuits_there_and_back(seed: int, share: float) -> None:
    model = model_of(random_circuit(seed, share=share, numeric=0.4))
    rows = random_rows(seed, model.columns, 30, 0.3)
    expected = model.log_likelihood(rows)
    root = model.to_spflow()
    agree(spflow.log_likelihood(root, rows), expected)
    back = spnc.from_spflow(root, model.columns)
    assert back.columns == model.columns
    assert back.program.facts() == model.program.facts()  # shared nodes stay shared
    agree(back.log_likelihood(rows), expected)
    assert spnc.from_spflow(root).log_likelihood(rows) == pytest.approx(expected)


@ANY_SEED
@given(seed=SEEDS)
def test_every_leaf_that_both_have(seed: int) -> None:
    graph, rows = leaf_circuit(seed, CONVERTED)
    model = model_of(graph)
    root = model.to_spflow()
    expected = model.log_likelihood(rows)
    last = [leaf.breaks[-1] for leaf in spflow.reachable(root) if hasattr(leaf, "breaks")]
    # SPFlow's bins exclude the last edge, and it moves zeros of Gamma leaves up a little.
    inside = ~np.isin(rows, last).any(axis=1) & (rows[:, CONVERTED.index("gamma")] != 0.0)
    agree(spflow.log_likelihood(root, rows)[inside], expected[inside])
    agree(spnc.from_spflow(root, model.columns).log_likelihood(rows), expected)


def test_ids_and_scopes_are_set_as_spflow_needs_them() -> None:
    root = model_of(random_circuit(3)).to_spflow()
    nodes = spflow.reachable(root)
    assert sorted(n.id for n in nodes) == list(range(len(nodes)))
    assert all(n.scope for n in nodes)
    assert root.scope == list(range(5))


def test_names_kinds_and_labels_may_be_given() -> None:
    leaf = spflow.CLASSES["Categorical"]
    root = spflow.Product(
        [leaf(p=[0.25, 0.75], scope=0), spflow.CLASSES["Poisson"](mean=2.0, scope=1)]
    )
    plain = spnc.from_spflow(root)
    assert [(c.name, str(c)) for c in plain.columns] == [("x0", "categorical(2)"), ("x1", "count")]
    named = spnc.from_spflow(root, [Column("rain", "binary", 2, ("no", "yes")), "cups"])
    assert np.exp(named.log_likelihood([{"rain": "yes", "cups": 0}])) == pytest.approx(
        0.75 * np.exp(-2.0)
    )


def test_a_child_that_a_sum_has_twice_counts_twice() -> None:
    bernoulli = spflow.CLASSES["Bernoulli"]
    one, other = bernoulli(p=0.2, scope=0), bernoulli(p=0.9, scope=0)
    model = spnc.from_spflow(spflow.Sum([0.25, 0.5, 0.25], [one, other, one]))
    assert np.exp(model.log_likelihood([[1.0]])) == pytest.approx(0.55)


def histogram(breaks: list[float], densities: list[float], kind: str) -> spflow.Histogram:
    return spflow.Histogram(breaks, densities, [], 0, spflow.MetaType[kind])


def test_a_histogram_of_codes_is_categorical_where_the_column_is() -> None:
    leaf = histogram([0, 1, 2, 3], [0.5, 0.2, 0.3], "DISCRETE")
    assert str(spnc.from_spflow(leaf).columns[0]) == "count"
    model = spnc.from_spflow(leaf, [Column("tea", "categorical", 3)])
    assert model.program.leaves[0].distribution == "categorical"
    rows = [[0.0], [1.0], [2.0]]
    assert np.exp(model.log_likelihood(rows)) == pytest.approx([0.5, 0.2, 0.3])
    assert np.exp(spnc.from_spflow(leaf).log_likelihood(rows)) == pytest.approx([0.5, 0.2, 0.3])


def refused(root: object, *arguments: object) -> str:
    with pytest.raises(InputError) as error:
        spnc.from_spflow(root, *arguments)
    return str(error.value)


def test_everything_that_cannot_be_read_is_listed_at_once() -> None:
    make = spflow.CLASSES
    wet, dry = make["Bernoulli"](p=0.5, scope=4), make["Bernoulli"](p=1, scope=4)
    count, real = make["Poisson"](mean=1.0, scope=5), make["Gaussian"](mean=0, stdev=1, scope=5)
    parts = [
        make["Uniform"](density=0.5, start=0, end=2, scope=0),
        make["Gaussian"](scope=1),
        make["Poisson"](mean=1.0, scope=[2, 3]),
        spflow.Sum([1.0], [wet, dry]),
        spflow.Sum([0.5, 0.5], [count, real]),
    ]
    root = spflow.Product(parts)
    text = refused(spflow.assign_ids(root))
    assert text.count("error[E865]") == 5
    assert "`UniformNode_1` is not a leaf that spnc has" in text
    assert "`GaussianNode_2` has parameters that are no numbers: mean = None" in text
    assert "over 2 variables, not over one" in text
    assert "2 children and 1 weight" in text
    assert "the leaves over variable 5 need count and real columns" in text


def test_a_histogram_that_is_no_distribution_is_refused() -> None:
    text = refused(histogram([0.0, 2.0, 4.0], [0.5, 0.5], "REAL"))
    assert "has an area of 2, not 1" in text


def test_too_few_columns_and_other_objects_are_refused() -> None:
    root = spflow.CLASSES["Bernoulli"](p=0.5, scope=2)
    assert "3 variables, `columns` has 1" in refused(root, ["a"])
    assert "E865" in refused("a text")


def test_leaves_that_spflow_lacks_are_listed_with_their_columns() -> None:
    columns = [Column("a", "real", 0), Column("b", "real", 0), Column("c", "categorical", 3)]
    builder = Builder(columns)
    leaves = [Uniform(0.0, 1.0), StudentT(0.0, 1.0, 3.0), Categorical((0.2, 0.3, 0.5))]
    builder.product([builder.leaf(i, leaf) for i, leaf in enumerate(leaves)])
    with pytest.raises(InputError) as error:
        model_of(builder.graph).to_spflow()
    text = str(error.value)
    assert [d.code for d in error.value.diagnostics] == ["E864", "E864"]
    assert "no leaf like `student-t`\n  = over b" in text
    assert "no leaf like `uniform`\n  = over a" in text


def test_without_spflow_the_message_says_what_to_install(monkeypatch) -> None:
    spflow.uninstall(monkeypatch)
    with pytest.raises(InputError, match=r"E863[\s\S]*pip install --no-deps spflow==0.0.48"):
        model_of(random_circuit(0)).to_spflow()


def test_with_spflow_itself() -> None:
    if not environments.is_ready(SPFLOW_LEGACY.key):
        pytest.skip(
            "SPFlow's environment is not there; python -m benchmarks.record_spflow makes it"
        )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spflow_exchange", "--circuits", "5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SPFlow 0.0.48" in done.stdout
