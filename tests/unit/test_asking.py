"""Models from models, and what they say: on a real table, through the public names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc.diagnostics import InputError
from spnc.model import Model


@pytest.fixture(scope="module")
def iris() -> Model:
    return spnc.train("specs/iris.yaml", "optimizer.max_iterations=20").model


def test_a_conditioned_model_is_saved_asked_sampled_and_conditioned_again(
    iris: Model, tmp_path: Path
) -> None:
    first = iris.condition("species in {setosa, versicolor}, petal_length > 2")
    first.save(tmp_path / "first.spnc")
    again = spnc.load(tmp_path / "first.spnc")
    both = again.condition("sepal_width < 3 or petal_width > 1.2")
    drawn = both.sample(500, seed=1).to_pandas()
    assert set(drawn["species"]) <= {"setosa", "versicolor"}
    assert (drawn["petal_length"] >= 2.0).all()
    assert ((drawn["sepal_width"] <= 3.0) | (drawn["petal_width"] >= 1.2)).all()
    event = (
        "species in {setosa, versicolor}, petal_length > 2, (sepal_width < 3 or petal_width > 1.2)"
    )
    question = "E[sepal_length | species = versicolor]"
    asked = iris.query(f"E[sepal_length | species = versicolor, {event}]")
    np.testing.assert_allclose(both.query(question).value, asked.value, rtol=1e-9)  # type: ignore[union-attr]
    assert both.provenance["derived"][0].startswith("given species in")
    assert len(both.provenance["derived"]) == 2


def test_a_conditioned_model_reads_tables_as_before(iris: Model) -> None:
    rows = iris.sample(50, seed=3)
    setosa = iris.condition("species = setosa")
    inside = np.array([row["species"] == "setosa" for row in rows])
    logs, before = setosa.log_likelihood(rows), iris.log_likelihood(rows)
    chance = iris.query("P(species = setosa)")
    assert (logs[~inside] == -np.inf).all()
    np.testing.assert_allclose(logs[inside], before[inside] - chance.log_value, rtol=1e-9)  # type: ignore[union-attr]


def test_a_marginal_model_takes_tables_with_all_columns(iris: Model) -> None:
    names = ["species", "petal_width"]
    small = iris.marginal(names)
    assert [column.name for column in small.columns] == names
    frame = iris.sample(20, seed=2).to_pandas()
    np.testing.assert_allclose(
        small.log_likelihood(frame), iris.log_likelihood(frame[names]), rtol=1e-9
    )


def test_the_most_likely_species_is_that_of_the_probabilities(iris: Model) -> None:
    found = iris.most_likely(["species"], given="petal_length < 2")
    assert found.exact
    assert found.rows.to_dict() == {"species": ["setosa"]}
    chance = iris.query("P(species = setosa | petal_length < 2)")
    np.testing.assert_allclose(found.log_value, chance.log_value, atol=1e-9)  # type: ignore[union-attr]


def test_linear_functions_add_up(iris: Model) -> None:
    found = iris.linear({"sepal_length": 2.0, "petal_length": -1.0}, given="species = virginica")
    first, second = (
        iris.query(f"E[{name} | species = virginica]").value  # type: ignore[union-attr]
        for name in ("sepal_length", "petal_length")
    )
    assert isinstance(first, float)
    assert isinstance(second, float)
    np.testing.assert_allclose(found.mean, 2.0 * first - second, rtol=1e-9)
    assert found.sd > 0.0


def test_values_and_flows_of_nodes_fit_the_log_likelihood(iris: Model) -> None:
    rows = iris.sample(8, seed=5)
    values, flows = iris.node_log_values(rows), iris.node_flows(rows)
    root = iris.program.root
    np.testing.assert_allclose(values[root], iris.log_likelihood(rows), rtol=1e-9)
    np.testing.assert_allclose(flows[root], 1.0)
    leaves = iris.program.leaves[-1].last
    np.testing.assert_allclose(flows[:leaves].sum(axis=0), len(iris.columns), rtol=1e-9)
    assert iris.input_gradients(rows).shape == (8, len(iris.columns))
    assert iris.parameter_gradients(rows).weights.shape == iris.parameters.weights.shape


def test_products_and_divergences_of_models_of_one_recipe() -> None:
    first = spnc.train("specs/tiny.yaml").model
    second = spnc.train("specs/tiny.yaml", "optimizer.max_iterations=1").model
    apart = first.divergence(second)
    assert apart.divergence > 1e-6
    assert first.divergence(first).divergence == pytest.approx(0.0, abs=1e-9)
    product = first.product(first)
    rows = first.sample(30, seed=1)
    logs = product.log_likelihood(rows) - 2.0 * first.log_likelihood(rows)
    np.testing.assert_allclose(logs, logs[0], atol=1e-8)


@pytest.mark.parametrize(
    ("ask", "code", "says"),
    [
        (lambda m: m.condition("species = rose"), "E804", "rose"),
        (lambda m: m.condition("specis = setosa"), "E803", "did you mean `species`"),
        (lambda m: m.condition("petal_length > 3, petal_length < 2"), "E851", "probability zero"),
        (lambda m: m.most_likely(given="petal_length > 3, petal_length < 2"), "E851", "zero"),
        (lambda m: m.marginal(["species", "petal"]), "E508", "no column `petal`"),
        (lambda m: m.marginal(["species", "species"]), "E508", "twice"),
        (lambda m: m.marginal([]), "E508", "at least one"),
        (lambda m: m.linear({"species": 1.0}), "E853", "no numbers"),
        (lambda m: m.product(m.marginal(["species"])), "E852", "different columns"),
        (lambda m: m.divergence(m.marginal(["species"])), "E852", "different columns"),
        (lambda m: m.quotient(m), "E852", "not deterministic"),
    ],
)
def test_what_cannot_be_made_is_said(iris: Model, ask: object, code: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        ask(iris)  # type: ignore[operator]
    assert f"[{code}]" in str(error.value)
    assert says in str(error.value)
