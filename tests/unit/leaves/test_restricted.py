"""Leaves restricted to an interval: as objects, in files, and far out in a tail."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import erfcx

from spnc.data.columns import Column, Scale
from spnc.diagnostics import Sink, Source
from spnc.graph.interchange import read_node_link_text, to_node_link
from spnc.graph.text import read_circuit_text, write_circuit_text
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.leaves import Distribution
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.histogram import Histogram
from spnc.leaves.indicator import Indicator
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.point import Point
from spnc.leaves.poisson import Poisson
from spnc.leaves.restricted import RestrictedLeaf, restricted
from spnc.leaves.restriction import restrict, restrict_to_states
from spnc.model import Model
from spnc.program.lower import lower
from spnc.program.model_file import read_model_file
from spnc.registry import LEAVES
from tests.engines import every_backend, log_likelihood

INF = float("inf")
REAL = Column("x", "real", 0, scale=Scale(resolution=1e-3))
COUNT = Column("n", "count", 0, scale=Scale())
COLOUR = Column("c", "categorical", 3)
CIRCUIT = """circuit parts

variables {
  x: real
  n: count
}

a = x ~ restricted-gaussian(0.0, 1.0, -inf, 0.5)
b = n ~ restricted-count-histogram(-0.5, 0.25, 1.5, 0.75, 4.5, 1.0, inf)
both = a * b

root both
"""


def test_every_built_in_leaf_over_numbers_has_a_restricted_one() -> None:
    numeric = [k for k in LEAVES.builtin.values() if not k.is_finite]
    bases = {k for k in numeric if not issubclass(k, Point | RestrictedLeaf)}
    assert {k.base for k in numeric if issubclass(k, RestrictedLeaf)} == bases


def test_learners_do_not_offer_what_is_not_learned() -> None:
    (found,) = LeafOptions(real="restricted-gaussian").conflicts()
    assert "restricted" not in (found.help or "")
    assert "gaussian" in (found.help or "")


def test_samples_far_out_in_a_tail_keep_their_digits() -> None:
    table = np.tile([0.0, 1.0, 8.0, INF], (20_000, 1))
    columns = LeafColumns.of([REAL], np.zeros(len(table), dtype=np.int64))
    leaf = LEAVES["restricted-gaussian"]
    drawn = leaf.sample(table, columns, np.random.default_rng(1))
    assert len(np.unique(drawn)) > 19_900
    truth = stats.truncnorm(8.0, INF)
    assert stats.kstest(drawn, truth.cdf).pvalue > 1e-4
    mean = np.sqrt(2.0 / np.pi) / erfcx(8.0 / np.sqrt(2.0))  # density divided by probability
    sd = np.sqrt(1.0 + 8.0 * mean - mean**2)
    assert leaf.mean(table[:1], columns.take(slice(0, 1)))[0] == pytest.approx(mean, rel=1e-12)
    assert drawn.mean() == pytest.approx(mean, abs=6.0 * sd / np.sqrt(len(drawn)))


def test_the_density_is_that_of_scipy() -> None:
    leaf = restrict(Gaussian(1.0, 2.0), 0.0, 4.0, REAL)
    values = np.array([[-0.1, 0.0, 1.0, 4.0, 4.1, np.nan]])
    truth = stats.truncnorm(-0.5, 1.5, loc=1.0, scale=2.0)
    known = LeafColumns.of([REAL], np.zeros(1, dtype=np.int64))
    found = type(leaf).log_density(np.array([leaf.row]), values, known)[0]
    assert found[:5] == pytest.approx(truth.logpdf(values[0, :5]))
    assert found[5] == 0.0


@pytest.mark.parametrize(
    ("leaf", "low", "high", "column", "wanted"),
    [
        (Gaussian(0.0, 1.0), -INF, INF, REAL, Gaussian(0.0, 1.0)),
        (Gaussian(0.0, 1.0), 1.0, INF, REAL, restricted(Gaussian)((0.0, 1.0, 1.0, INF))),
        (Poisson(3.0), 0.5, 4.5, COUNT, restricted(Poisson)((3.0, 1.0, 4.0))),
        (restricted(Poisson)((3.0, 1.0, 4.0)), 2, INF, COUNT, restricted(Poisson)((3.0, 2.0, 4.0))),
        (Point(2.0, 1.0), 1.0, INF, COUNT, Point(2.0, 1.0)),
        (Bernoulli(0.3), 0, 1, Column("b"), Bernoulli(0.3)),
        (Bernoulli(0.3), 1, 1, Column("b"), Indicator(1.0)),
        (Categorical((0.5, 0.25, 0.25)), 1, 2, COLOUR, Categorical((0.0, 0.5, 0.5))),
    ],
)
def test_restricting_a_leaf(
    leaf: Distribution, low: float, high: float, column: Column, wanted: Distribution
) -> None:
    found = restrict(leaf, low, high, column)
    assert found == wanted
    assert type(found) is type(wanted)
    assert found.problems(column) == []


def test_sets_of_states() -> None:
    found = restrict_to_states(Categorical((0.5, 0.25, 0.25)), [0, 2], COLOUR)
    assert found.row == pytest.approx((2 / 3, 0.0, 1 / 3))


def test_a_histogram_is_restricted_by_the_kind_of_its_column() -> None:
    leaf = Histogram((-0.5, 0.25, 1.5, 0.75, 4.5))
    counts, reals = (restrict(leaf, 1.0, INF, column) for column in (COUNT, REAL))
    assert counts.plugin_name == "restricted-count-histogram"
    assert reals.plugin_name == "restricted-histogram"
    at = np.array([[1.0, 2.0]])
    # One of the two counts of the first bin is left; of its width of 2, a quarter.
    for found, first, column in ((counts, 0.125, COUNT), (reals, 0.0625, REAL)):
        known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        density = np.exp(type(found).log_density(np.array([found.row]), at, known))[0]
        assert density == pytest.approx(np.array([0.125, 0.25]) / (first + 0.75))


@pytest.mark.parametrize(("leaf", "column"), [(Gaussian(0.0, 1.0), REAL), (Indicator(0.0), COLOUR)])
def test_what_is_impossible_is_an_error(leaf: Distribution, column: Column) -> None:
    with pytest.raises(ValueError, match="probability zero"):
        restrict(leaf, 2e6, 3e6, column)


def test_a_restricted_leaf_is_not_restricted_again_by_its_class() -> None:
    for kind in (restricted(Gaussian), Point, Bernoulli):
        with pytest.raises(ValueError, match="no restricted leaf"):
            restricted(kind)


@pytest.mark.parametrize(
    ("numbers", "column", "problem"),
    [
        ((0.0, -1.0, 0.0, 1.0), REAL, "sd = -1"),
        ((0.0, 1.0, 1.0, 1.0), REAL, "low = 1 is not below high = 1"),
        ((0.0, 1.0, 60.0, INF), REAL, "has probability zero"),
        ((0.0, 1.0, float("nan"), INF), REAL, "low = nan"),
    ],
)
def test_problems_are_told(numbers: tuple[float, ...], column: Column, problem: str) -> None:
    (found,) = restricted(Gaussian)(numbers).problems(column)
    assert problem in found


def test_counts_are_restricted_to_whole_numbers() -> None:
    (found,) = restricted(Poisson)((3.0, 0.5, INF)).problems(COUNT)
    assert found == "low = 0.5 is neither a whole number nor infinite"
    assert restricted(Poisson)((3.0, 2.0, 2.0)).problems(COUNT) == []


def test_text_and_json_hold_restricted_leaves() -> None:
    sink = Sink()
    graph = read_circuit_text(Source("parts.spn", CIRCUIT), sink)
    assert graph is not None
    assert sink.diagnostics == []
    assert write_circuit_text(graph, "parts") == CIRCUIT
    text = json.dumps(to_node_link(graph), allow_nan=False)
    again = read_node_link_text(Source("parts.json", text), sink)
    assert again is not None
    assert write_circuit_text(again, "parts") == CIRCUIT


def test_model_files_hold_restricted_leaves(tmp_path: Path) -> None:
    sink = Sink()
    graph = read_circuit_text(Source("parts.spn", CIRCUIT), sink)
    assert graph is not None
    program, parameters = lower(graph)
    path = tmp_path / "parts.spnc"
    Model("parts", program, parameters).save(path)
    read = read_model_file(path, sink)
    assert sink.diagnostics == []
    assert read is not None
    assert [leaf.distribution for leaf in read.program.leaves] == [
        leaf.distribution for leaf in program.leaves
    ]
    for found, wanted in zip(read.parameters.tables, parameters.tables, strict=True):
        assert (found == wanted).all()


@every_backend
def test_every_backend_computes_restricted_leaves(backend: str) -> None:
    graph = read_circuit_text(Source("parts.spn", CIRCUIT), Sink())
    assert graph is not None
    rows = np.array([[0.0, 1.0], [0.5, 4.0], [np.nan, 3.0], [-1.0, np.nan], [0.6, 1.0], [0.0, 0.0]])
    found = log_likelihood(backend, graph, rows)
    gaussian = stats.truncnorm(-INF, 0.5).logpdf([0.0, 0.5, 0.0, -1.0])
    counts = np.log(np.array([0.125, 0.25, 0.25]) / 0.875)
    wanted = [gaussian[0] + counts[0], gaussian[1] + counts[1], counts[2], gaussian[3], -INF, -INF]
    assert found == pytest.approx(wanted, rel=1e-9)


def test_the_leaf_of_a_plug_in_is_found_by_its_name() -> None:
    class Wide(Gaussian):
        """`wide(mean, sd)`: a leaf from outside."""

    Wide.__module__ = "outside_restricted"
    LEAVES.register("wide")(Wide)
    try:
        assert "restricted-wide" in LEAVES
        found = LEAVES.find("restricted-wide")
        assert found is restricted(Wide)
        assert found.arity == 4
        assert found.__doc__.startswith("`restricted-wide(mean, sd, low, high)`")
        assert "restricted-count-wide" not in LEAVES
        assert "restricted-bernoulli" not in LEAVES
        assert "restricted-restricted-gaussian" not in LEAVES
    finally:
        LEAVES.withdraw("outside_restricted")


def test_copies_and_pickles() -> None:
    leaf = restricted(Gaussian)((0.0, 1.0, 2.0, INF))
    assert copy.deepcopy(leaf) == leaf
    assert pickle.loads(pickle.dumps(leaf)) == leaf
