"""Tries of `--auto` side by side: the proposals that promise most, one for each worker.

What is proposed next depends on what came of the tries before, so all of them are awaited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from spnc.common.budget import Budget
from spnc.common.deadline import Deadline, OutOfTimeError
from spnc.common.workers import Check, Workers
from spnc.data.dataset import Dataset
from spnc.diagnostics import InputError
from spnc.search.auto.board import Board
from spnc.search.auto.leaving import LeavingRule
from spnc.search.auto.proposal import FinishedTry, Proposal
from spnc.search.auto.stage_clock import StageClock
from spnc.search.in_worker import Checking, cache_for, received, sent, without_rows
from spnc.search.journal import Journal
from spnc.search.one_try import TryPlan, TryResult, run_try
from spnc.training import State


@dataclass(frozen=True, eq=False)
class Chosen:
    """A proposal that is about to be tried."""

    proposal: Proposal
    plan: TryPlan
    rate: float  # nats per second that the next best proposal promises
    resume: State | None  # where an earlier try of the same recipe was stopped


@dataclass(frozen=True, eq=False)
class _Task:
    """A try for a worker."""

    chosen: Chosen
    board: Board
    dataset: Dataset
    search: str
    seconds: float  # of the whole budget
    ends: float  # when it is used up, on `time.time`, which other machines have too


def run(task: _Task, check: Check) -> TryResult | None:
    """Try a proposal. Return None if it is given up."""
    chosen, board = task.chosen, task.board
    proposal, plan = chosen.proposal, chosen.plan
    budget = Budget(task.seconds, before=task.seconds - (task.ends - time.time()))
    stages = StageClock(Checking(check), budget.used)
    rule = LeavingRule.of(proposal, chosen.rate, budget, stages, board)
    cache = cache_for(task.search, plan.recipe, task.dataset)
    stages.begin()
    try:
        found = run_try(
            cache.dataset,
            cache,
            plan,
            Journal(),
            stages,
            clock=budget.clock,
            enough=rule.enough,
            deadline=Deadline(budget.left, board.reserve),
            resume=chosen.resume,
        )
    except (OutOfTimeError, InputError, MemoryError):
        return None
    return replace(found, compiled=None)  # large, and not needed elsewhere


def run_together(
    all_chosen: Sequence[Chosen],
    board: Board,
    budget: Budget,
    workers: Workers,
    search: str,
    finished: Callable[[Chosen, TryResult | None], None],
) -> None:
    """Try these proposals; `finished` is called after each, with None if it was given up."""
    dataset = board.dataset
    _ = dataset.distinct, dataset.digest  # computed here, once, and not by every worker
    if dataset.sums is not None:
        dataset.sums.of(("pairs",))  # for hidden Chow-Liu trees, which are nearly always tried
    ends, seen = time.time() + budget.left(), _seen(board)
    tasks = (
        _Task(_sent(chosen), seen, dataset, search, budget.seconds, ends) for chosen in all_chosen
    )
    with closing(workers.map(run, tasks)) as results:
        for place, found in results:
            chosen = all_chosen[place]
            finished(chosen, None if found is None else received(found, chosen.plan))


def _sent(chosen: Chosen) -> Chosen:
    """Return what a worker needs to know of a proposal."""
    plan = sent(chosen.plan)
    return replace(chosen, plan=plan, proposal=replace(chosen.proposal, recipe=plan.recipe))


def _seen(board: Board) -> Board:
    """Return what a worker needs to know of the board: the first try and the best."""
    tried = [board.tried[0], *([board.best] if board.best is not None else [])]
    return replace(
        board,
        base=without_rows(board.base),
        tried=[_light(t) for t in tried],
        clock=time.monotonic,
        measured={},
    )


def _light(tried: FinishedTry) -> FinishedTry:
    proposal = replace(tried.proposal, recipe=without_rows(tried.proposal.recipe))
    return replace(tried, proposal=proposal)
