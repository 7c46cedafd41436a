"""What spnc relies on in a leaf distribution."""

from __future__ import annotations

from typing import get_args

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.testing.promises import Promise, expect, expect_close, hold

Leaf = type[Distribution]
_LEAVES = 4  # in a table
_ALPHAS = (0.0, 0.1, 2.0)  # pseudo-rows of the prior


def check_leaf(leaf: Leaf, *, seeds: int | None = None) -> None:
    """Check a leaf distribution, given as its class; raise AssertionError if a promise is broken.

    `seeds` limits how many random tables each promise is checked on.
    """
    hold(LEAF_PROMISES, leaf, f"leaf `{getattr(leaf, 'plugin_name', leaf.__name__)}`", seeds)


def random_table(leaf: Leaf, rng: np.random.Generator, states: int) -> Floats:
    """Parameters of a few leaves, valid and otherwise random."""
    start = np.tile(np.asarray(leaf.default(_column(states)), dtype=np.float64), (_LEAVES, 1))
    if is_fixed(leaf):
        codes = rng.integers(states, size=(_LEAVES, 1)).astype(np.float64)
        return codes if leaf.arity == 1 and leaf.is_valid(codes, _columns(states)) else start
    return as_finite(leaf).from_probabilities(rng.dirichlet(np.ones(states), size=_LEAVES), start)


def _column(states: int) -> Column:
    return Column("x", "binary" if states == 2 else "categorical", states)


def _columns(states: int) -> LeafColumns:
    return LeafColumns.of([_column(states)], np.zeros(_LEAVES, dtype=np.int64))


def is_fixed(leaf: Leaf) -> bool:
    """Whether training cannot change a leaf."""
    return leaf.free_parameters(len(leaf.default(_column(2)))) == 0


def _states(leaf: Leaf, rng: np.random.Generator) -> int:
    """A number of states that a column of this leaf may have."""
    return int(rng.integers(2, 6)) if "categorical" in leaf.kinds else 2


def _start(leaf: Leaf, seed: int) -> tuple[np.random.Generator, int, Floats]:
    rng = np.random.default_rng(seed)
    states = _states(leaf, rng)
    return rng, states, random_table(leaf, rng, states)


def the_class_is_complete(leaf: Leaf, seed: int) -> None:
    """Its name, the kinds of column and the number of parameters are declared."""
    del seed
    expect(isinstance(leaf.plugin_name, str), "it is not registered with LEAVES.register")
    known = get_args(ColumnKind)
    expect(leaf.kinds and set(leaf.kinds) <= set(known), f"`kinds` has to name some of {known}")
    for states in (2, 3) if "categorical" in leaf.kinds else (2,):
        width = states if leaf.arity is None else leaf.arity
        row = leaf.default(_column(states))
        expect(
            len(row) == width,
            f"`default` for {states} states has {len(row)} parameters, not {width}",
        )
        table = np.asarray([row], dtype=np.float64)
        expect(
            leaf.is_valid(table, _columns(states)), f"`default` for {states} states is not valid"
        )
        expect(leaf.free_parameters(width) >= 0, "`free_parameters` is negative")


def probabilities_of_all_values_sum_to_one(leaf: Leaf, seed: int) -> None:
    """`log_density` is that of a distribution over 0 … states-1."""
    _, states, table = _start(leaf, seed)
    values = np.tile(np.arange(states, dtype=np.float64), (_LEAVES, 1))
    found = np.exp(leaf.log_density(table, values))
    expect_close(found.sum(axis=1), np.ones(_LEAVES), "the sum over all values")


def densities_are_the_logarithms_of_the_probabilities(leaf: Leaf, seed: int) -> None:
    """`log_density` and `probabilities` agree, on a table that `is_valid` accepts."""
    _, states, table = _start(leaf, seed)
    expect(
        leaf.is_valid(table, _columns(states)), "`is_valid` refuses a table of `from_probabilities`"
    )
    values = np.tile(np.arange(states, dtype=np.float64), (_LEAVES, 1))
    found = as_finite(leaf).probabilities(table, states)
    expect_close(np.exp(leaf.log_density(table, values)), found, "exp of the log density")


def a_missing_value_has_probability_one_and_counts_nothing(leaf: Leaf, seed: int) -> None:
    """NaN cells are marginalised."""
    _, states, table = _start(leaf, seed)
    values = np.full((_LEAVES, 3), np.nan)
    expect((leaf.log_density(table, values) == 0).all(), "log p(missing) is not 0")
    counts = leaf.statistics(values, np.ones((_LEAVES, 3)), table, _columns(states))
    expect((counts == 0).all(), "missing values were counted")


def statistics_are_the_flows_of_every_state(leaf: Leaf, seed: int) -> None:
    """Backends count leaves by state: `statistics` has to give the same."""
    rng, states, table = _start(leaf, seed)
    values = rng.integers(states, size=(_LEAVES, 9)).astype(np.float64)
    flows = rng.random((_LEAVES, 9))
    found = leaf.statistics(values, flows, table, _columns(states))
    wanted = np.stack([(flows * (values == v)).sum(axis=1) for v in range(states)], axis=1)
    expect_close(found, wanted, "the expected counts")


def no_other_parameters_explain_the_counts_better(leaf: Leaf, seed: int) -> None:
    """`estimate` maximises the expected log-likelihood plus `log_prior`."""
    if is_fixed(leaf):
        return
    rng, states, start = _start(leaf, seed)
    alpha = float(rng.choice(_ALPHAS))
    values = rng.integers(states, size=(_LEAVES, 9)).astype(np.float64)
    flows = rng.random((_LEAVES, 9))
    columns = _columns(states)
    counts = leaf.statistics(values, flows, start, columns)
    best = leaf.estimate(counts, alpha, start, columns)
    expect(leaf.is_valid(best, _columns(states)), "`is_valid` refuses a table of `estimate`")

    def objective(table: Floats) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = flows * leaf.log_density(table, values)
        return float(np.where(flows > 0, terms, 0).sum()) + leaf.log_prior(table, alpha, columns)

    reached = objective(best)
    for _ in range(5):
        other = objective(random_table(leaf, rng, states))
        expect(reached >= other - 1e-12, f"{reached!r} is less than {other!r} (alpha {alpha})")


def a_fixed_leaf_stays_whatever_is_counted(leaf: Leaf, seed: int) -> None:
    """A leaf without free parameters is left alone by training, and has no prior."""
    if not is_fixed(leaf):
        return
    rng, states, table = _start(leaf, seed)
    alpha = float(rng.choice(_ALPHAS))
    kept = leaf.estimate(rng.random((_LEAVES, states)), alpha, table, _columns(states))
    expect((kept == table).all(), "its parameters have changed")
    expect(leaf.log_prior(table, alpha, _columns(states)) == 0.0, "its prior is not 0")


def without_counts_and_prior_the_parameters_stay(leaf: Leaf, seed: int) -> None:
    """`estimate` returns `table` where nothing was counted."""
    _, states, table = _start(leaf, seed)
    kept = leaf.estimate(np.zeros((_LEAVES, states)), 0.0, table, _columns(states))
    expect_close(kept, table, "the parameters after no counts")


def probabilities_make_the_same_table_again(leaf: Leaf, seed: int) -> None:
    """`from_probabilities` is the inverse of `probabilities`, and makes valid tables."""
    rng, states, table = _start(leaf, seed)
    finite = as_finite(leaf)
    again = finite.from_probabilities(finite.probabilities(table, states), table)
    expect_close(again, table, "the table from its own probabilities")
    other = finite.from_probabilities(rng.dirichlet(np.ones(states), size=_LEAVES), table)
    expect(
        leaf.is_valid(other, _columns(states)), "`is_valid` refuses a table of `from_probabilities`"
    )


def a_row_of_parameters_makes_the_same_leaf_again(leaf: Leaf, seed: int) -> None:
    """`from_row` and `row` are inverse, and a valid leaf has no problems."""
    _, states, table = _start(leaf, seed)
    for row in (np.asarray(leaf.default(_column(states))), table[0]):
        one = leaf.from_row(row)
        expect(leaf.from_row(np.array(one.row)) == one, "`from_row(row)` is another leaf")
        column = _column(states)
        if column.kind in leaf.kinds:
            found = one.problems(column)
            expect(not found, f"`problems` complains of a valid leaf: {found}")


LEAF_PROMISES = tuple(
    Promise(check)
    for check in (
        the_class_is_complete,
        probabilities_of_all_values_sum_to_one,
        densities_are_the_logarithms_of_the_probabilities,
        a_missing_value_has_probability_one_and_counts_nothing,
        statistics_are_the_flows_of_every_state,
        no_other_parameters_explain_the_counts_better,
        a_fixed_leaf_stays_whatever_is_counted,
        without_counts_and_prior_the_parameters_stay,
        probabilities_make_the_same_table_again,
        a_row_of_parameters_makes_the_same_leaf_again,
    )
)
