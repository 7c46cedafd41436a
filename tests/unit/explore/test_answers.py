"""Pages answer as Python does, to 1e-9, in a real browser."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import spnc
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.explore import circuit_data as encoding
from spnc.explore.page import page
from spnc.graph.nodes import Builder
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson
from spnc.leaves.student_t import StudentT
from spnc.program.lower import lower
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import ValueSet
from spnc.registry import LEAVES
from tests.asking import ask, check_answers, every_leaf, near, opened, random_box
from tests.browser import BROWSER, WHY_NOT, Tab
from tests.circuits import all_states, hidden_tree, probability, random_circuit
from tests.places import ROOT

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)


# ---- the circuits of all kinds -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_leaf(tab: Tab, tmp_path: Path, seed: int) -> None:
    program, parameters = lower(every_leaf(seed))
    opened(tab, tmp_path / "page.html", program, parameters)
    rng = np.random.default_rng(seed)
    check_answers(tab, program, parameters, {})
    possible = [
        check_answers(tab, program, parameters, random_box(program, rng, share))
        for share in (0.1, 0.2, 0.3, 0.5, 0.5, 0.8)
    ]
    assert any(possible)


@pytest.mark.parametrize("seed", range(8))
def test_random_circuits_with_shared_parts(tab: Tab, tmp_path: Path, seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5, extremes=seed % 2 == 0, numeric=0.4)
    program, parameters = lower(graph)
    opened(tab, tmp_path / "page.html", program, parameters)
    assert ask(tab, {})["logProbability"] == 0.0  # not a rounding error away from it
    rng = np.random.default_rng(seed)
    for _ in range(12):
        check_answers(tab, program, parameters, random_box(program, rng))


MIXED = """
circuit penguins
variables {
  species: categorical("Adelie", "Chinstrap", "Gentoo")
  male: binary(false, true)
  eggs: count
  body_mass: real
  seen_on: date
}
small = (species ~ categorical(0.5, 0.4, 0.1)) * (eggs ~ poisson(3))
    * (body_mass ~ gaussian(3700, 400))
large = (species ~ categorical(0.1, 0.1, 0.8)) * (eggs ~ negative-binomial(9, 0.5))
    * (body_mass ~ gaussian(5000, 400))
top = (0.6 small + 0.4 large) * (male ~ bernoulli(0.5)) * (seen_on ~ gaussian(14200, 200))
"""


def test_a_mixed_table_by_its_labels(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "circuit.spn").write_text(MIXED)
    model = spnc.compile(tmp_path / "circuit.spn")
    model.explore(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    found = ask(tab, {"species": ["Adelie", "Gentoo"], "body_mass": {"high": 4200}})
    states = ValueSet.codes(model.columns[0], [0, 2])
    light = ValueSet.of(model.columns[3], [(-math.inf, 4200.0)])
    own = Posterior(model.program, model.parameters, [{0: states, 3: light}])
    near([found["logProbability"]], [own.log_probability], 1.0, "log probability")
    near(found["columns"][1]["probabilities"], own.column(1).probabilities(), 1.0, "male")


@pytest.mark.parametrize("name", ["iris", "asia-by-hand"])
def test_trained_models(tab: Tab, tmp_path: Path, name: str) -> None:
    quick = ["optimizer.max_iterations=3", "optimizer.patience=none", "backend=numpy"]
    model = spnc.train(ROOT / f"specs/{name}.yaml", quick).model
    opened(tab, tmp_path / "page.html", model.program, model.parameters)
    rng = np.random.default_rng(0)
    for _ in range(12):
        box = random_box(model.program, rng, 0.4)
        check_answers(tab, model.program, model.parameters, box)


# ---- single cases --------------------------------------------------------------------------------


def test_impossible_evidence_is_an_answer(tab: Tab, tmp_path: Path) -> None:
    builder = Builder([Column("x", "real", 0), Column("y", "count", 0)])
    builder.product([builder.leaf(0, Gaussian(0.0, 1.0)), builder.leaf(1, Poisson(0.0))])
    program, parameters = lower(builder.graph)
    opened(tab, tmp_path / "page.html", program, parameters)
    assert ask(tab, {"y": {"low": 1}}) == {"possible": False, "logProbability": None}
    assert ask(tab, {"x": {"low": 1000, "high": 1001}})["possible"] is False
    assert ask(tab, {"x": {"low": 30, "high": 31}})["possible"] is True
    assert tab.troubles() == []


def test_unknown_names_are_errors(tab: Tab, tmp_path: Path) -> None:
    program, parameters = lower(random_circuit(0))
    opened(tab, tmp_path / "page.html", program, parameters)
    failed = tab.ask("(() => { try { spnc.ask({nobody: 1}); } catch (e) { return e.message; } })()")
    assert failed == 'there is no column "nobody"'


def test_restricted_leaves_are_leaves_within_an_interval(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leaf restricted to an interval answers as the whole leaf does, given that interval."""
    scale = Scale(resolution=0.1, low=1.0, high=9.0, mean=4.0, sd=2.0)
    columns = [
        Column("a", "real", 0, scale=scale),
        Column("b", "real", 0, scale=scale),
        Column("c", "count", 0, scale=replace(scale, resolution=1.0)),
        Column("d", "real", 0, scale=scale),
    ]
    leaves = [Gaussian(3.0, 2.0), Gamma(2.5, 0.7), Poisson(4.0), StudentT(5.0, 1.0, 3.0)]
    spans = [(2.0, 6.5), (0.5, np.inf), (1.0, 7.0), (-np.inf, 4.5)]
    builder = Builder(columns)
    builder.product([builder.leaf(i, leaf) for i, leaf in enumerate(leaves)])
    program, parameters = lower(builder.graph)
    plain = encoding._leaves

    def restricted(leaf: Any, table: Any, warps: Any) -> list[dict[str, Any]]:
        ends = np.array([spans[v] for v in leaf.variables.tolist()])
        parts = plain(leaf, np.hstack([table, ends]), warps)
        return [{**part, "restricted": True} for part in parts]

    box = {i: ValueSet.of(columns[i], [span]) for i, span in enumerate(spans)}
    own = Posterior(program, parameters, [box])
    monkeypatch.setattr(encoding, "_leaves", restricted)
    opened(tab, tmp_path / "page.html", program, parameters)
    narrow = ValueSet.of(columns[0], [(3.0, 4.0)])
    for given, asked in (({}, {}), ({"a": {"low": 3.0, "high": 4.0}}, {0: narrow})):
        found = ask(tab, given)
        known = Posterior(program, parameters, [{**box, **asked}])
        wanted = known.log_probability - own.log_probability
        near([found["logProbability"]], [wanted], 1.0, "log probability")
        for i in range(4):
            said = found["columns"][i]
            near([said["mean"]], [known.column(i).mean()], 1.0, columns[i].name)
            quantiles = known.column(i).quantiles(np.array([0.05, 0.25, 0.5, 0.75, 0.95]))
            near(said["quantiles"], quantiles, 1.0, columns[i].name)


@pytest.mark.parametrize("name", ["restricted-gaussian", "restricted-count-histogram"])
def test_the_base_of_a_restricted_leaf_is_known_by_its_name(name: str) -> None:
    assert encoding._base(name) == name.split("-")[-1] in encoding.NUMERIC


def test_every_leaf_over_numbers_has_a_counterpart(tab: Tab) -> None:
    numeric = {encoding._base(name) for name in LEAVES if not LEAVES[name].is_finite}
    assert numeric == set(encoding.NUMERIC)
    files = resources.files("spnc.explore.web")
    text = "".join((files / name).read_text("utf-8") for name in ("special.js", "leaves.js"))
    assert (
        set(tab.ask(f"(() => {{ {text} return Object.keys({{ ...KINDS, ...WARPED }}); }})()"))
        == numeric
    )


# ---- the most likely row -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_most_likely_row_is_the_best_of_all(tab: Tab, tmp_path: Path, seed: int) -> None:
    graph = random_circuit(seed, variables=4, depth=4)
    program, parameters = lower(graph)
    opened(tab, tmp_path / "page.html", program, parameters)
    rows = all_states(program.columns)
    chances = np.array([probability(graph, row) for row in rows])
    likely = ask(tab, {}, likely=True)["likely"]
    assert likely["exact"]
    assert math.isclose(likely["logValue"], math.log(chances.max()), rel_tol=1e-9)
    assert math.isclose(probability(graph, np.array(likely["row"])), chances.max(), rel_tol=1e-9)
    state = int(rows[np.argmin(chances)][0])
    given = {program.columns[0].name: [state]}
    inside = chances * (rows[:, 0] == state)
    if inside.max() > 0.0:
        likely = ask(tab, given, likely=True)["likely"]
        assert math.isclose(likely["logValue"], math.log(inside.max()), rel_tol=1e-9)


def test_the_value_of_a_likely_row_is_its_own(tab: Tab, tmp_path: Path) -> None:
    model = spnc.Model("some", *lower(every_leaf(1)))
    opened(tab, tmp_path / "page.html", model.program, model.parameters)
    likely = ask(tab, {"bernoulli": [1]}, likely=True)["likely"]
    row = np.array(likely["row"])
    assert row[[c.name for c in model.columns].index("bernoulli")] == 1.0
    [wanted] = model.engine.log_likelihood(model.parameters, model.engine.load(Table(row[None])))
    assert math.isclose(likely["logValue"], wanted, rel_tol=1e-9)


# ---- special functions and speed -----------------------------------------------------------------


def test_special_functions_have_all_their_digits(tab: Tab) -> None:
    rng = np.random.default_rng(0)
    a = 10.0 ** rng.uniform(-2, 5, 200)
    x = a * np.exp(3.0 * rng.normal(size=200) / np.sqrt(a + 0.3))
    b = 10.0 ** rng.uniform(-1, 4, 200)
    y = np.clip(rng.beta(np.maximum(a, 0.05), np.maximum(b, 0.05)), 1e-9, 1 - 1e-9)
    z, df = 6.0 * rng.normal(size=200), rng.uniform(1, 1000, 200)
    script = (resources.files("spnc.explore.web") / "special.js").read_text(encoding="utf-8")
    names = {"a": a, "b": b, "x": x, "y": y, "z": z, "d": df}
    data = {name: values.tolist() for name, values in names.items()}
    found = tab.ask(
        f"""(() => {{ {script}
        const {{a, b, x, y, z, d}} = {json.dumps(data)};
        return [z.map(normalCdf), a.map((v, i) => incompleteGamma(v, x[i], false)),
          a.map((v, i) => incompleteGamma(v, x[i], true)),
          a.map((v, i) => incompleteBeta(v, b[i], y[i], 1 - y[i])),
          d.map((v, i) => studentCdf(v, z[i])), a.map(logGamma)]; }})()"""
    )
    wanted = [
        special.ndtr(z),
        special.gammainc(a, x),
        special.gammaincc(a, x),
        special.betainc(a, b, y),
        special.stdtr(df, z),
        special.gammaln(a),
    ]
    for i, (own, right) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-15, err_msg=str(i))


def test_a_large_circuit_answers_at_once(tab: Tab, tmp_path: Path) -> None:
    columns = [Column(f"x{i}") for i in range(50)]
    program, parameters = lower(hidden_tree(columns, 64, 0))
    assert program.edges > 200_000
    path = tmp_path / "page.html"
    path.write_text(page("large", program, parameters, None), encoding="utf-8")
    tab.open(path)
    tab.ask("document.querySelector('.bar').click()")
    times = [tab.ask("spnc.update()") for _ in range(7)]
    best, worst = min(times), max(times)
    sys.stdout.write(f"{program.edges:,} edges: {best:.1f} to {worst:.1f} ms for an answer\n")
    check_answers(tab, program, parameters, {0: ValueSet.codes(columns[0], [1])})
