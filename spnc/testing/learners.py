"""What spnc relies on in a structure learner."""

from __future__ import annotations

import numpy as np

from spnc import checks
from spnc.data.dataset import Dataset
from spnc.data.parted import partitioned
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum, grow
from spnc.graph.forest import Forest
from spnc.graph.nodes import Builder, Graph
from spnc.learners import Learner
from spnc.leaves.smoothing import Smoothing
from spnc.registry.reads import SOURCES
from spnc.spec.recipe import Component
from spnc.testing.forests import (
    drawing,
    expect_distribution,
    learned,
    learning_task,
    log_likelihood,
    small_dataset,
)
from spnc.testing.promises import Promise, expect, global_random_state, hold

_SEEDS = 6  # learning takes longer than asking


def check_learner(learner: Learner, *, seeds: int | None = None) -> None:
    """Check a learner with its options; raise AssertionError if a promise is broken.

    It is given small tables of binary and categorical columns. `seeds` limits how many.
    """
    hold(LEARNER_PROMISES, learner, f"learner `{learner.plugin_name}`", seeds)


def expect_valid(graph: Graph) -> None:
    """Raise AssertionError unless a graph passes every check of a circuit."""
    sink = Sink()
    checks.check(graph, sink)
    found = [f"{d.code} {d.message}" for d in sink.diagnostics]
    expect(not found, f"the circuit is not valid: {found}")


def it_learns_a_distribution_over_all_columns(learner: Learner, seed: int) -> None:
    """The circuit is valid and normalised, and no training row is impossible."""
    dataset = small_dataset(seed)
    sink = Sink()
    learner.verify(dataset, sink)
    expect(not sink.failed, f"`verify` reported {[d.message for d in sink.diagnostics]}")
    graph = learned(learner, dataset, seed)
    expect_valid(graph)
    expect_distribution(graph, dataset.columns)
    rows = log_likelihood(graph, dataset.train.values)
    expect((rows > -np.inf).all(), "a training row has probability zero, in spite of smoothing")


def the_same_seed_learns_the_same_circuit(learner: Learner, seed: int) -> None:
    """All randomness is that of `task.rng`, and the global random numbers are left alone."""
    before = global_random_state()
    one, two = (learned(learner, small_dataset(seed), seed) for _ in range(2))
    expect(drawing(one) == drawing(two), "two runs with one seed differ")
    expect(global_random_state() == before, "it used numpy's global random numbers")


def it_leaves_the_rows_alone(learner: Learner, seed: int) -> None:
    """The table is shared by all components."""
    dataset = small_dataset(seed)
    task = learning_task(dataset, seed)
    values, weights = task.table.values.copy(), task.table.weights.copy()
    learner.learn(task)
    same = np.array_equal(task.table.values, values, equal_nan=True)
    expect(same and (task.table.weights == weights).all(), "it has changed the table")


def it_learns_beside_other_components(learner: Learner, seed: int) -> None:
    """The builder may hold other components already, whose nodes stay as they are."""
    dataset = small_dataset(seed)
    builder = Builder(dataset.columns)
    roots = []
    for each in range(2):
        before = drawing(builder.graph)
        root = learner.learn(learning_task(dataset, seed + each, builder))
        expect(root is not None, "it returned no root")
        assert root is not None
        roots.append(root)
        kept = set(drawing(builder.graph))
        expect(kept.issuperset(before), "it has changed another component")
    expect_valid(add_top_sum(Forest(builder, tuple(roots))))


def it_learns_from_little(learner: Learner, seed: int) -> None:
    """Few rows, and columns that are constant or missing, are enough."""
    whole = small_dataset(seed, train=12)
    values = whole.train.values.copy()
    values[:, 0], values[:, 1] = 0.0, np.nan
    dataset = Dataset("little", whole.columns, {**whole.splits, "train": Table(values)})
    graph = learned(learner, dataset, seed)
    expect_valid(graph)
    expect_distribution(graph, dataset.columns)


def it_learns_from_a_table_in_partitions(learner: Learner, seed: int) -> None:
    """Of such a table it has a sample, and counts in all rows if it says that it reads them."""
    said = getattr(learner, "reads", ())
    known = not isinstance(said, str) and SOURCES.issuperset(said)
    expect(known, f"`reads` is {said!r}, and not a tuple of {', '.join(sorted(SOURCES))}")
    whole = small_dataset(seed)
    splits = {**whole.splits, "train": partitioned(whole.train, 25, seed, "train")}
    dataset, sink = Dataset("parts", whole.columns, splits), Sink()
    component = Component(learner=learner)
    forest = grow([component], dataset, smoothing=Smoothing.of(0.1), seed=seed, sink=sink)
    expect(not sink.failed, f"it reported {[d.message for d in sink.diagnostics]}")
    graph = add_top_sum(forest)
    expect_valid(graph)
    expect_distribution(graph, dataset.columns)


LEARNER_PROMISES = tuple(
    Promise(check, _SEEDS)
    for check in (
        it_learns_a_distribution_over_all_columns,
        the_same_seed_learns_the_same_circuit,
        it_leaves_the_rows_alone,
        it_learns_beside_other_components,
        it_learns_from_little,
        it_learns_from_a_table_in_partitions,
    )
)
