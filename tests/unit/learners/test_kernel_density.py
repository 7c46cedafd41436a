"""Kernel density estimates as circuits: what they say, how wide their kernels are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from spnc.common.arrays import Floats
from spnc.compilation import circuit_model
from spnc.data.columns import Column
from spnc.data.scales import scale_of
from spnc.data.table import Table
from spnc.learners import LearningTask
from spnc.learners.kernel_density import KernelDensity, leave_one_out
from spnc.learners.kernel_density.column_kernels import LabelKernel, NormalKernel, ValueKernel
from spnc.learners.kernel_density.leave_one_out import Kernels, fit_kernels
from spnc.learners.support.leaf_choice import DEFAULT
from spnc.learners.support.leaf_fit import DataSlice, fit_leaves
from spnc.leaves.leaf_columns import LeafColumns
from spnc.model import Model
from tests.learning_tasks import learning_task
from tests.mixed import mixed_dataset


def model_of(task: LearningTask, learner: KernelDensity) -> Model:
    task.builder.graph.graph["root"] = learner.learn(task)
    return circuit_model(task.builder.graph)


def fitted(task: LearningTask, scales: int = 2, centres: int = 10_000, steps: int = 5) -> Kernels:
    rows = np.arange(task.table.rows)
    whole = DataSlice(rows, np.arange(len(task.columns)), float(task.table.weights.sum()))
    [wholes] = fit_leaves(task.columns, task.table, [whole], task.smoothing, DEFAULT)
    return fit_kernels(task, wholes, scales, centres, steps)


def two_columns(values: Floats, weights: Floats | None = None, alpha: float = 0.1) -> LearningTask:
    """A task over a real column and one with three labels."""
    scale = scale_of(values[:, 0], np.ones(len(values)) if weights is None else weights)
    columns = [Column("x", "real", 0, scale=scale), Column("y", "categorical", 3)]
    return learning_task(columns, Table(values, weights), alpha=alpha)


def made(rows: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, size=rows)
    return np.column_stack([np.round(rng.normal(2.0 * label, 0.7), 3), label.astype(float)])


def by_hand(kernels: Kernels, values: Floats, *, left_out: bool) -> Floats:
    """Return log densities of rows of two columns, or those given all other centres."""
    normal, label = kernels.columns
    assert isinstance(normal, NormalKernel)
    assert isinstance(label, LabelKernel)
    centres, weights = kernels.centres.values, kernels.centres.weights
    labels = centres[:, 1].astype(int)
    found = []
    for row in values:
        same = left_out & (centres == row).all(axis=1)
        masses = (weights - same) / weights.sum()
        each = [
            share * masses * norm.pdf(row[0], centres[:, 0], normal.sds[scale])
            * label.chances[scale, labels, int(row[1])]
            for scale, share in enumerate(kernels.shares)
        ]  # fmt: skip
        found.append(np.log(np.sum(each)))
    return np.array(found)


def test_the_circuit_is_the_mean_of_kernels_around_rows() -> None:
    values = made(60)
    kernels = fitted(two_columns(values, alpha=0.0), steps=20)
    model = model_of(two_columns(values, alpha=0.0), KernelDensity(steps=20))
    new = made(40, seed=1)
    np.testing.assert_allclose(model.log_likelihood(new), by_hand(kernels, new, left_out=False))


def test_every_iteration_raises_the_likelihood_of_rows_given_the_others() -> None:
    values = made(80)
    scores = []
    for steps in range(6):
        kernels = fitted(two_columns(values), steps=steps)
        scores.append(by_hand(kernels, values, left_out=True).mean())
    # labels have pseudo-rows, which EM weighs against the likelihood
    assert (np.diff(scores) > -1e-3).all()
    assert scores[-1] > scores[0] + 0.05


def test_the_likelihood_that_em_follows_is_the_one_given_the_others() -> None:
    values = np.concatenate([made(50), made(10)])  # the last ten equal the first
    task = two_columns(values)
    kernels = fitted(task, steps=0)
    rows = kernels.centres
    wanted = by_hand(kernels, rows.values, left_out=True)
    found = leave_one_out._improve(kernels, rows.weights, np.arange(rows.rows))
    assert found == pytest.approx(float((wanted * rows.weights).sum() / 60))


def test_a_row_of_weight_two_is_two_rows() -> None:
    values = made(50)
    twice = np.concatenate([values, values[:20]])
    weights = np.where(np.arange(50) < 20, 2.0, 1.0)
    one, other = fitted(two_columns(twice)), fitted(two_columns(values, weights))
    assert isinstance(one.columns[0], NormalKernel)
    assert isinstance(other.columns[0], NormalKernel)
    np.testing.assert_allclose(one.columns[0].sds, other.columns[0].sds)
    np.testing.assert_allclose(one.shares, other.shares)


def test_rows_that_repeat_are_remembered() -> None:
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(300, 5)), 3)
    repeated = np.concatenate([values, values[:100]])
    columns = [
        Column(f"x{i}", "real", 0, scale=scale_of(values[:, i], np.ones(300))) for i in range(5)
    ]
    rest, kernels = (
        fitted(learning_task(columns, Table(rows)), steps=20) for rows in (values, repeated)
    )
    for alone, beside in zip(rest.columns, kernels.columns, strict=True):
        assert isinstance(alone, NormalKernel)
        assert isinstance(beside, NormalKernel)
        assert beside.sds[0] < 0.001  # as wide as the resolution
        assert alone.sds[1] > 0.3
    assert rest.shares[0] < 0.05
    assert kernels.shares[0] == pytest.approx(0.5, abs=0.02)  # of 400 rows, 200 have a copy
    model = model_of(learning_task(columns, Table(repeated)), KernelDensity())
    asked = values[:100].copy()
    asked[:, 4] = np.nan
    filled = model.impute(asked)
    np.testing.assert_allclose(filled["x4"], values[:100, 4], atol=0.05)


def test_missing_cells_are_summed_out() -> None:
    values = made(60)
    values[::7, 0] = np.nan
    values[3::7, 1] = np.nan
    model = model_of(two_columns(values), KernelDensity())
    new = made(5, seed=1)
    both = np.stack([
        model.log_likelihood(np.column_stack([new[:, 0], np.full(5, label)])) for label in range(3)
    ])  # fmt: skip
    new[:, 1] = np.nan
    np.testing.assert_allclose(logsumexp(both, axis=0), model.log_likelihood(new))


def test_a_cell_that_is_missing_in_a_centre_has_the_column_s_distribution() -> None:
    values = made(60)
    values[::7, 0] = np.nan
    task = two_columns(values)
    kernels = fitted(task, steps=0)
    normal, rows = kernels.columns[0], kernels.centres
    logs = np.zeros((2, rows.rows, rows.rows))
    normal.add_logs(logs, slice(0, rows.rows))
    x = rows.column(0)
    lacking = np.isnan(x)
    assert (logs[:, lacking] == 0.0).all()
    [leaf] = normal.whole.parts
    known = LeafColumns.of([normal.column], np.zeros(1, dtype=np.int64))
    own = leaf.log_density(np.array([leaf.row]), x[None, ~lacking], known)[0]
    np.testing.assert_allclose(
        logs[:, ~lacking][:, :, lacking],
        np.broadcast_to(own[:, None], (2, len(own), lacking.sum())),
    )


def test_counts_and_many_labels_have_their_value_or_any() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, size=200)
    values = np.column_stack([
        np.where(rng.random(200) < 0.8, 3 * group, rng.integers(0, 12, size=200)),
        np.where(rng.random(200) < 0.8, 20 * group, rng.integers(0, 80, size=200)),
    ]).astype(float)  # fmt: skip
    scale = scale_of(values[:, 0], np.ones(200))
    columns = [Column("n", "count", 0, scale=scale), Column("label", "categorical", 80)]
    task = learning_task(columns, Table(values))
    kernels = fitted(task, scales=1, steps=20)
    for kernel in kernels.columns:
        assert isinstance(kernel, ValueKernel)
        assert 0.0 < kernel.spreads[0] < 0.6
    model = model_of(task, KernelDensity(scales=1))
    same = model.log_likelihood(np.array([[3.0, 20.0], [6.0, 40.0]]))
    other = model.log_likelihood(np.array([[3.0, 40.0], [6.0, 20.0]]))
    assert (same > other + 1.0).all()


def test_as_many_centres_as_are_asked_for() -> None:
    task = two_columns(made(100))
    kernels = fitted(task, centres=30)
    assert kernels.centres.rows == 30
    everything = {tuple(row) for row in made(100).tolist()}
    assert {tuple(row) for row in kernels.centres.values.tolist()} <= everything


@pytest.mark.parametrize("scales", [1, 3])
def test_one_row_and_one_column_are_enough(scales: int) -> None:
    dataset = mixed_dataset(40, 0.0)
    for i, column in enumerate(dataset.columns):
        table = Table(dataset.train.values[:, [i]])
        model = model_of(learning_task([column], table), KernelDensity(scales=scales))
        assert np.isfinite(model.log_likelihood(table.values)).all()
    first = dataset.train.take(slice(0, 1))
    model = model_of(learning_task(dataset.columns, first), KernelDensity(scales=scales))
    assert np.isfinite(model.log_likelihood(first.values)).all()
