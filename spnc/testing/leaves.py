"""What spnc relies on in a leaf distribution."""

from __future__ import annotations

from typing import get_args

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.finite import as_finite
from spnc.leaves.fitting import fit_table
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import as_numeric
from spnc.testing.leaf_cases import LEAVES, Leaf, LeafCase, finite_column, is_fixed
from spnc.testing.leaf_intervals import INTERVAL_PROMISES
from spnc.testing.leaf_questions import QUESTION_PROMISES
from spnc.testing.promises import Promise, expect, expect_close, hold

_ALPHAS = (0.0, 0.1, 2.0)  # pseudo-rows of the prior
_FITTED = 40  # seeds of the promise that fits leaves in all their steps
_STEPS = 4  # of fitting, where no step may lower the objective
# How far from the maximum a leaf may end that is fitted in several steps, in nats per row.
_UNFINISHED = 0.01


def check_leaf(leaf: Leaf, *, seeds: int | None = None) -> None:
    """Check a leaf distribution, given as its class; raise AssertionError if a promise is broken.

    `seeds` limits how many random tables each promise is checked on.
    """
    hold(LEAF_PROMISES, leaf, f"leaf `{getattr(leaf, 'plugin_name', leaf.__name__)}`", seeds)


def the_class_is_complete(leaf: Leaf, seed: int) -> None:
    """Its name, the kinds of column and the number of parameters are declared."""
    del seed
    expect(isinstance(leaf.plugin_name, str), "it is not registered with LEAVES.register")
    known = get_args(ColumnKind)
    expect(leaf.kinds and set(leaf.kinds) <= set(known), f"`kinds` has to name some of {known}")
    expect(leaf.fit_steps >= 1, "`fit_steps` is less than 1")
    finite = set(leaf.kinds) <= {"binary", "categorical"}
    expect(leaf.is_finite == finite, f"`is_finite` does not go with the kinds {leaf.kinds}")
    if finite:
        tried = [finite_column(s) for s in ((2, 3) if "categorical" in leaf.kinds else (2,))]
    else:
        tried = [Column("x", kind, 0) for kind in leaf.kinds]
    for column in tried:
        values = np.array([0.0, 1.0, np.nan, 1.0])
        rows = {"default": leaf.default(column)}
        if not finite:
            rows["start"] = as_numeric(leaf).start(column, values, np.ones(len(values)))
        for name, row in rows.items():
            width = (column.states if finite else len(row)) if leaf.arity is None else leaf.arity
            text = f"`{name}` for a column that is {column}"
            expect(len(row) == width, f"{text} has {len(row)} parameters, not {width}")
            columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
            valid = leaf.is_valid(np.array([row], dtype=np.float64), columns)
            expect(valid, f"{text} is not valid")
            expect(leaf.free_parameters(width) >= 0, "`free_parameters` is negative")


def densities_are_the_logarithms_of_the_probabilities(leaf: Leaf, seed: int) -> None:
    """`log_density` and `probabilities` of a finite leaf agree, and sum to one."""
    if not leaf.is_finite:
        return
    case = LeafCase.of(leaf, seed)
    expect(leaf.is_valid(case.table, case.columns), "`is_valid` refuses a valid table")
    states = case.column.states
    values = np.tile(np.arange(states, dtype=np.float64), (LEAVES, 1))
    found = np.exp(leaf.log_density(case.table, values, case.columns))
    expect_close(found.sum(axis=1), np.ones(LEAVES), "the sum over all values")
    wanted = as_finite(leaf).probabilities(case.table, states)
    expect_close(found, wanted, "exp of the log density")


def a_missing_value_has_probability_one_and_counts_nothing(leaf: Leaf, seed: int) -> None:
    """NaN cells are marginalised, and others beside them are not changed by that."""
    case = LeafCase.of(leaf, seed)
    values = np.full((LEAVES, 3), np.nan)
    logs = leaf.log_density(case.table, values, case.columns)
    expect((logs == 0).all(), "log p(missing) is not 0")
    counts = leaf.statistics(values, np.ones((LEAVES, 3)), case.table, case.columns)
    expect((counts == 0).all(), "missing values were counted")
    mixed = case.some_values(9)
    flows = case.rng.random((LEAVES, 9))
    known = leaf.log_density(case.table, mixed, case.columns)[:, 1:]
    without = leaf.statistics(mixed[:, 1:], flows[:, 1:], case.table, case.columns)
    mixed[:, 0] = np.nan
    again = leaf.log_density(case.table, mixed, case.columns)[:, 1:]
    expect_close(again, known, "densities beside a missing one")
    beside = leaf.statistics(mixed, flows, case.table, case.columns)
    expect_close(beside, without, "statistics beside a missing value", abs=1e-9)


def statistics_are_the_flows_of_every_state(leaf: Leaf, seed: int) -> None:
    """Backends count finite leaves by state: `statistics` has to give the same."""
    if not leaf.is_finite:
        return
    case = LeafCase.of(leaf, seed)
    values, flows = case.some_values(9), case.rng.random((LEAVES, 9))
    found = leaf.statistics(values, flows, case.table, case.columns)
    every = range(case.column.states)
    wanted = np.stack([(flows * (values == v)).sum(axis=1) for v in every], axis=1)
    expect_close(found, wanted, "the expected counts")


def statistics_are_sums_over_rows(leaf: Leaf, seed: int) -> None:
    """Parts of the rows can be counted apart, and values that all leaves share only once."""
    case = LeafCase.of(leaf, seed)
    values, flows = case.some_values(12, rows=1), case.rng.random((LEAVES, 12))
    every = np.tile(values, (LEAVES, 1))

    def counted(own: Floats, part: slice) -> Floats:
        return leaf.statistics(own[:, part], flows[:, part], case.table, case.columns)

    found = counted(every, slice(None))
    width = leaf.statistic_count(case.table.shape[1], case.column.states)
    expect(found.shape == (LEAVES, width), f"`statistic_count` is {width}, not {found.shape[1]}")
    parts = counted(every, slice(0, 5)) + counted(every, slice(5, None))
    expect_close(parts, found, "the sum of two parts", abs=1e-9)
    expect_close(counted(values, slice(None)), found, "the statistics of shared values", abs=1e-9)
    shared = leaf.log_density(case.table, values, case.columns)
    own = leaf.log_density(case.table, every, case.columns)
    expect_close(shared, own, "the log density of shared values")


class _Objective:
    """What training maximises: a weighted log-likelihood plus the log prior."""

    def __init__(self, case: LeafCase) -> None:
        self.case = case
        self.alpha = float(case.rng.choice(_ALPHAS))
        self.values, self.flows = case.some_values(9), case.rng.random((LEAVES, 9))

    def __call__(self, table: Floats) -> float:
        leaf = self.case.leaf
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = leaf.log_density(table, self.values, self.case.columns)
            terms = self.flows * logs
        prior = leaf.log_prior(table, self.alpha, self.case.columns)
        return float(np.where(self.flows > 0, terms, 0).sum()) + prior

    def fitted(self, start: Floats) -> Floats:
        case = self.case
        return fit_table(case.leaf, start, case.columns, self.values, self.flows, self.alpha)

    def step(self, table: Floats) -> Floats:
        leaf, columns = self.case.leaf, self.case.columns
        counts = leaf.statistics(self.values, self.flows, table, columns)
        return leaf.estimate(counts, self.alpha, table, columns)


def no_other_parameters_explain_the_counts_better(leaf: Leaf, seed: int) -> None:
    """`estimate` maximises the expected log-likelihood plus `log_prior`.

    Other tables are random ones, and some between them and the best. A leaf that takes several
    steps to fit may be a little below the maximum.
    """
    if is_fixed(leaf):
        return
    case = LeafCase.of(leaf, seed)
    objective = _Objective(case)
    best = objective.fitted(case.table)
    expect(leaf.is_valid(best, case.columns), "`is_valid` refuses a table of `estimate`")
    reached = objective(best)
    slack = 1e-12 * max(1.0, abs(reached)) if leaf.is_finite else 1e-9 * max(1.0, abs(reached))
    if leaf.fit_steps > 1:
        slack += _UNFINISHED * (objective.flows.sum() + objective.alpha * LEAVES)
    for _ in range(5):
        far = case.other_table()
        for share in (1.0, 0.1, 0.001):
            table = best + share * (far - best)
            if any(leaf.from_row(row).problems(case.column) for row in table):
                continue
            other = objective(table)
            told = f"{reached!r} is less than {other!r} (alpha {objective.alpha}): {table}"
            expect(reached >= other - slack, told)


def no_step_lowers_the_objective(leaf: Leaf, seed: int) -> None:
    """Each step from statistics to an estimate raises the objective, or leaves it as it is."""
    case = LeafCase.of(leaf, seed)
    objective = _Objective(case)
    table = case.table
    before = objective(table)
    for step in range(_STEPS):
        table = objective.step(table)
        after = objective(table)
        told = f"step {step} lowers the objective from {before!r} to {after!r}"
        expect(after >= before - 1e-9 * max(1.0, abs(before)), told)
        before = after


def a_fixed_leaf_stays_whatever_is_counted(leaf: Leaf, seed: int) -> None:
    """A leaf without free parameters is left alone by training, and has no prior."""
    if not is_fixed(leaf):
        return
    case = LeafCase.of(leaf, seed)
    alpha = float(case.rng.choice(_ALPHAS))
    width = leaf.statistic_count(case.table.shape[1], case.column.states)
    kept = leaf.estimate(case.rng.random((LEAVES, width)), alpha, case.table, case.columns)
    expect((kept == case.table).all(), "its parameters have changed")
    expect(leaf.log_prior(case.table, alpha, case.columns) == 0.0, "its prior is not 0")


def without_counts_and_prior_the_parameters_stay(leaf: Leaf, seed: int) -> None:
    """`estimate` returns `table` where nothing was counted."""
    case = LeafCase.of(leaf, seed)
    width = leaf.statistic_count(case.table.shape[1], case.column.states)
    kept = leaf.estimate(np.zeros((LEAVES, width)), 0.0, case.table, case.columns)
    expect_close(kept, case.table, "the parameters after no counts")


def a_little_weight_is_enough(leaf: Leaf, seed: int) -> None:
    """Without a prior, only the proportions of the flows matter, however small they are."""
    if is_fixed(leaf):
        return
    case = LeafCase.of(leaf, seed)
    values, flows = case.some_values(9), case.rng.random((LEAVES, 9))
    counts = leaf.statistics(values, flows, case.table, case.columns)
    small = leaf.statistics(values, flows * 1e-12, case.table, case.columns)
    wanted = leaf.estimate(counts, 0.0, case.table, case.columns)
    found = leaf.estimate(small, 0.0, case.table, case.columns)
    expect_close(found, wanted, "the estimate from small flows", rel=1e-4, abs=1e-9)


def probabilities_make_the_same_table_again(leaf: Leaf, seed: int) -> None:
    """`from_probabilities` is the inverse of `probabilities`, and makes valid tables."""
    if not leaf.is_finite:
        return
    case = LeafCase.of(leaf, seed)
    finite, states = as_finite(leaf), case.column.states
    again = finite.from_probabilities(finite.probabilities(case.table, states), case.table)
    expect_close(again, case.table, "the table from its own probabilities")
    other = finite.from_probabilities(case.rng.dirichlet(np.ones(states), size=LEAVES), case.table)
    expect(leaf.is_valid(other, case.columns), "`is_valid` refuses a table of `from_probabilities`")


def a_row_of_parameters_makes_the_same_leaf_again(leaf: Leaf, seed: int) -> None:
    """`from_row` and `row` are inverse, and a valid leaf has no problems."""
    case = LeafCase.of(leaf, seed)
    for row in (np.asarray(leaf.default(case.column)), *case.table):
        one = leaf.from_row(row)
        expect((np.array(one.row) == row).all(), "`from_row(row).row` is another row")
        expect(leaf.from_row(np.array(one.row)) == one, "`from_row(row)` is another leaf")
        if case.column.kind in leaf.kinds:
            found = one.problems(case.column)
            expect(not found, f"`problems` complains of a valid leaf: {found}")


LEAF_PROMISES = (
    *(
        Promise(check)
        for check in (
            the_class_is_complete,
            densities_are_the_logarithms_of_the_probabilities,
            a_missing_value_has_probability_one_and_counts_nothing,
            statistics_are_the_flows_of_every_state,
            statistics_are_sums_over_rows,
            no_step_lowers_the_objective,
            a_fixed_leaf_stays_whatever_is_counted,
            without_counts_and_prior_the_parameters_stay,
            a_little_weight_is_enough,
            probabilities_make_the_same_table_again,
            a_row_of_parameters_makes_the_same_leaf_again,
        )
    ),
    Promise(no_other_parameters_explain_the_counts_better, _FITTED),
    *QUESTION_PROMISES,
    *INTERVAL_PROMISES,
)
