"""Tries of a search side by side: workers train them, this process keeps what comes back.

A worker compiles as `CompileCache` does, so a forest that several tries share is learned once by
each worker at most, and that takes no longer than waiting for another one to learn it.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from spnc.common.budget import Budget
from spnc.common.deadline import OutOfTimeError
from spnc.common.workers import Check, Workers
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.runs.outcome import Outcome
from spnc.search.in_worker import Checking, cache_for, received, sent
from spnc.search.journal import Journal
from spnc.search.one_try import TryPlan, TryResult, run_try
from spnc.search.trials import Trials
from spnc.spec.recipe_keys import forest_key
from spnc.training.time_limit import TimeLimit


@dataclass(frozen=True, eq=False)
class _Task:
    """A try for a worker."""

    plan: TryPlan
    dataset: Dataset
    search: str  # the same for all tries of a search
    sharing: int  # how many of them have the forest of this one
    ends: float  # when the budget is used up, on `time.time`, which other machines have too
    must_train: bool  # whether it is kept even if there is no time to train it


def run(task: _Task, check: Check) -> TryResult | None:
    """Train a try and score it. Return None if the time was over before there was a model."""
    recipe, budget = task.plan.recipe, Budget(task.ends - time.time())
    cache = cache_for(task.search, recipe, task.dataset, sharing=task.sharing, verified=True)
    try:
        found = run_try(
            cache.dataset,
            cache,
            task.plan,
            Journal(),
            Checking(check),
            deadline=budget.deadline(),
            limit=TimeLimit.of(budget, cache.dataset),
            must_train=task.must_train,
        )
    except OutOfTimeError:
        return None
    return replace(found, state=None, compiled=None)  # large, and not needed elsewhere


def run_side_by_side(
    trials: Trials,
    plans: Sequence[TryPlan],
    workers: Workers,
    budget: Budget,
    finished: Callable[[Outcome], None],
) -> None:
    """Run the tries until the budget is used up; `finished` is called after each.

    Warnings are reported in the order of the plans. Raises `OutOfTimeError` if there is no model.
    """
    trials.journal.at_a_time = workers.count
    sharing = Counter(forest_key(plan.recipe) for plan in plans)
    search, ends, dataset = uuid.uuid4().hex, time.time() + budget.left(), trials.dataset
    _ = dataset.distinct, dataset.digest  # computed here, once, and not by every worker
    if dataset.sums is not None:
        reads = (component.reads for plan in plans for component in plan.recipe.forest)
        dataset.sums.known_for(reads)

    def tasks() -> Iterator[_Task]:
        for plan in plans:
            has_model = trials.best is not None
            if has_model and budget.left() <= 0.0:
                return
            alike = sharing[forest_key(plan.recipe)]
            yield _Task(sent(plan), dataset, search, alike, ends, must_train=not has_model)

    warnings: dict[int, Sink] = {}
    try:
        with closing(workers.map(run, tasks())) as results:
            for place, found in results:
                if found is not None:
                    warnings[found.outcome.number] = found.sink
                    trials.add(received(found, plans[place]), report=False)
                    finished(found.outcome)
    finally:
        for plan in plans:
            trials.report(warnings.get(plan.number, Sink()))
    if trials.best is None:
        raise OutOfTimeError
