"""The loop of `--auto`: ask the families, try what promises most per second, until time is up."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace

from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, Deadline, OutOfTimeError
from spnc.common.observer import Observer
from spnc.common.workers import SERIAL, Workers
from spnc.diagnostics import InputError, Sink
from spnc.registry import FAMILIES
from spnc.runs.limit_metrics import LimitMetrics
from spnc.runs.lost_cluster import is_lost_cluster
from spnc.runs.outcome import Outcome
from spnc.search.auto.board import MOST_EDGES, Board, Family
from spnc.search.auto.costs import Costs, Estimate
from spnc.search.auto.leaving import LeavingRule, last_slope
from spnc.search.auto.proposal import FinishedTry, Proposal, ProposalReader, level
from spnc.search.auto.stage_clock import StageClock
from spnc.search.auto.start import Start, load_libraries, read_data
from spnc.search.auto.together import Chosen, run_together
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Journal
from spnc.search.one_try import TryPlan, TryResult
from spnc.search.trials import Trials, best_text
from spnc.spec.limits import Limits
from spnc.spec.recipe import Recipe
from spnc.trained import Trained

MOST_TRIES = 1_000
# Rules of thumb; no measurement of them is recorded.
SCORED_ROWS = 3  # rows that are only scored are taken to cost as much as one row to train on
SLOPE_PART = 6  # the final slope of a try is measured over the last sixth of its iterations


def auto(
    start: Start,
    budget: Budget,
    sink: Sink,
    observer: Observer | None = None,
    journal: Journal | None = None,
    limits: Limits | None = None,
    workers: Workers = SERIAL,
) -> Trained:
    """Return the best model on the validation rows that was found within the budget.

    With several `workers`, as many tries are run at a time. `limits` is what the metrics tell
    about; whoever calls watches the memory.
    """
    observer, journal = observer or Observer(), journal or Journal()
    began = budget.clock()
    start, dataset = read_data(start, sink, observer, journal.read_data)
    reading = budget.clock() - began

    begun = journal.open(start.recipe, dataset, sink, ProposalReader(start.recipe))
    journal.establish()
    stages = StageClock(observer, budget.used)
    cache = CompileCache(dataset, savepoints=journal.savepoints)
    trials = Trials(dataset, cache, journal, sink, stages, budget.clock, report_all=False)
    trials.take_up(begun)
    load_libraries(start.recipe.backend)
    loop = _Loop(start, budget, trials, stages, workers)
    if begun.under_way is not None:
        loop.take(*begun.under_way)
    loop.run()
    kept_to = LimitMetrics.of(limits, budget, None)
    return trials.end(reading, {"family": [], "change": []}, budget=budget, limits=kept_to)


class _Loop:
    """The tries of one run of `--auto`."""

    def __init__(
        self,
        start: Start,
        budget: Budget,
        trials: Trials,
        stages: StageClock,
        workers: Workers = SERIAL,
    ) -> None:
        self.start, self.budget, self.trials, self.stages = start, budget, trials, stages
        self.workers, self.name = workers, uuid.uuid4().hex
        tables = trials.dataset.distinct
        looked_at = tables["train"].rows + tables["valid"].rows // SCORED_ROWS
        in_the_end = sum(tables[name].rows for name in tables if name not in ("train", "valid"))
        costs = Costs(looked_at, in_the_end)
        self.board = Board(start.recipe, trials.dataset, budget.seconds, costs, budget.clock)
        for outcome in sorted(trials.outcomes, key=lambda o: o.number):
            self._post(Proposal.from_json(outcome.note, start.recipe), outcome)
        families, problems = FAMILIES.usable()
        self.families: list[Family] = [family() for family in families.values()]
        for d in problems:
            trials.sink.warning("W131", f"{d.message}, and is left out", notes=d.notes, help=d.help)
        self.given_up: list[Recipe] = []  # those that ran out of time before they could train

    def run(self) -> None:
        """Try until nothing that is worth it fits into the time."""
        while len(self.board.tried) < MOST_TRIES:
            # Without a model to fall back on, there is one try at a time.
            most = self.workers.count if self.board.tried else 1
            proposals, rate = self.choose(most)
            if not proposals:
                return
            if len(proposals) == 1:
                self.take(proposals[0], rate)
            else:
                self.take_together(proposals, rate)

    def choose(self, most: int = 1) -> tuple[list[Proposal], float]:
        """Return the fitting proposals of most gain per second, and the rate of the next best.

        Of those that vary the same thing, the one that promises most is taken.
        """
        self.board.left = self.budget.left()
        ranked = sorted(self._fitting(), key=lambda pair: -pair[1])
        chosen: dict[str, Proposal] = {}
        others = []
        for proposal, rate in ranked:
            if len(chosen) < most and proposal.axis not in chosen:
                chosen[proposal.axis] = proposal
            elif not proposal.goes_on:
                others.append(rate)
        return list(chosen.values()), max(others, default=0.0)

    def _fitting(self) -> Iterator[tuple[Proposal, float]]:
        first = not self.board.tried
        known = [_known(t) for t in self.board.tried] + self.given_up
        for family in self.families:
            for proposal in self._proposals(family):
                recipe = self.start.pinned(proposal.recipe)
                if recipe is None or proposal.gain <= 0.0:
                    continue
                if not proposal.goes_on and (recipe in known or _plain(recipe) in known):
                    continue
                if proposal.edges > MOST_EDGES and not first:
                    continue
                name = proposal.family or family.plugin_name
                proposal = replace(proposal, recipe=recipe, family=name)
                estimate = self.estimate(proposal)
                if first or estimate.least <= self.budget.left() - self.board.reserve:
                    yield proposal, proposal.gain / max(estimate.total, 1e-3)

    def _proposals(self, family: Family) -> list[Proposal]:
        try:
            return list(family.propose(self.board))
        except MemoryError:  # as it measured how fast it is
            return []

    def estimate(self, proposal: Proposal) -> Estimate:
        """Return what a proposal will cost."""
        return self.board.costs.estimate(proposal, self.board.tried)

    def take(self, proposal: Proposal, rate: float) -> None:
        """Try a proposal until it yields less than `rate`, in nats per second."""
        trials, best = self.trials, self.board.best
        chosen = self._chosen(proposal, rate, self._next_number())
        trials.journal.planned({**proposal.to_json(), "rate": rate})
        self.stages.attempt(chosen.plan.number - 1, None, proposal.what, best_text(trials.best))
        self.stages.spent(self.budget.used(), self.budget.seconds)
        rule = LeavingRule.of(proposal, rate, self.budget, self.stages, self.board)
        # Without a model to fall back on, there is no deadline.
        deadline = Deadline(self.budget.left, self.board.reserve) if best is not None else NEVER
        self.stages.begin()
        try:
            outcome = trials.run(
                chosen.plan, enough=rule.enough, deadline=deadline, resume=chosen.resume
            )
        except (OutOfTimeError, InputError, MemoryError) as error:
            if best is None or is_lost_cluster(error):
                raise
            self._give_up(proposal)
            trials.journal.planned(None)
            return
        self._finish(proposal, outcome)

    def take_together(self, proposals: list[Proposal], rate: float) -> None:
        """Try proposals side by side, each until it yields less than `rate`."""
        trials, number = self.trials, self._next_number()
        chosen = [self._chosen(each, rate, number + i) for i, each in enumerate(proposals)]
        trials.journal.planned(None)
        trials.journal.at_a_time = self.workers.count
        what = "; ".join(proposal.what for proposal in proposals)
        self.stages.attempt(number - 1, None, what, best_text(trials.best))

        waiting = list(chosen)

        def finished(each: Chosen, found: TryResult | None) -> None:
            waiting.remove(each)
            self.stages.spent(self.budget.used(), self.budget.seconds)
            if found is None:
                self._give_up(each.proposal)
                return
            trials.add(found, report=trials.report_all)
            self._finish(each.proposal, found.outcome)

        try:
            run_together(chosen, self.board, self.budget, self.workers, self.name, finished)
        except MemoryError:
            for each in waiting:
                self._give_up(each.proposal)
        trials.journal.at_a_time = 1

    def _next_number(self) -> int:
        return 1 + max((outcome.number for outcome in self.trials.outcomes), default=0)

    def _chosen(self, proposal: Proposal, rate: float, number: int) -> Chosen:
        best = self.board.best
        same = best is not None and _plain(best.recipe) == _plain(proposal.recipe)
        resume = self.trials.state if proposal.goes_on and same else None
        values = {"family": proposal.family, "change": proposal.what}
        plan = TryPlan(number, proposal.recipe, values, proposal.to_json())
        return Chosen(proposal, plan, rate, resume)

    def _give_up(self, proposal: Proposal) -> None:
        self.given_up.append(_plain(proposal.recipe))
        self.board.given_up.add(proposal.axis)

    def _finish(self, proposal: Proposal, outcome: Outcome) -> None:
        self._post(proposal, outcome)
        is_best = outcome is self.trials.best
        self.stages.tried(outcome.number, proposal.what, outcome.valid.average, is_best)

    def _post(self, proposal: Proposal, outcome: Outcome) -> None:
        """Put an outcome on the board."""
        board, best = self.board, self.board.best
        gained = level(outcome) - level(best.outcome) if best is not None else 0.0
        edges = best.outcome.edges if best is not None else 0
        board.tried.append(FinishedTry(proposal, outcome, gained, edges))
        if board.best is board.tried[-1]:
            trained = self.trials.trained
            board.can_go_on = self.trials.state is not None
            board.slope = 0.0
            if trained is not None:
                window = 1 + outcome.iterations // SLOPE_PART
                board.slope = last_slope(trained.fitted.history, outcome.pace, window)


def _plain(recipe: Recipe) -> Recipe:
    """Return the recipe without its number of iterations, to compare it with others."""
    optimizer = recipe.optimizer.cut(0)
    return recipe if optimizer is None else replace(recipe, optimizer=optimizer)


def _known(tried: FinishedTry) -> Recipe:
    """Return what need not be tried again: of a try that ran to its end, with its iterations."""
    ended = tried.outcome.stopped == "max_iterations"
    return tried.recipe if ended else _plain(tried.recipe)


def comment(start: Start, outcome: Outcome) -> str:
    """Return how a recipe came about, for the head of `recipe.yaml`."""
    source = start.recipe.data.source or start.recipe.data.train
    return (
        f"# Chosen by `spnc train --auto {source}`: try {outcome.number}, "
        f"{outcome.valid.average:.4f} on the validation rows.\n"
    )
