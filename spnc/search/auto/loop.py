"""The loop of `--auto`: ask the families, try what promises most per second, until time is up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from spnc.common.observer import Observer, Stage
from spnc.diagnostics import InputError, Sink, Source
from spnc.pipeline import Trained
from spnc.registry import FAMILIES
from spnc.runs.lock import recipe_text
from spnc.runs.outcome import Outcome
from spnc.search.auto import MOST_EDGES, Board, Family, Proposal, Tried, level
from spnc.search.auto.budget import Budget
from spnc.search.auto.costs import Costs, Estimate
from spnc.search.auto.judge import Guard, Judge, OutOfTimeError, last_slope
from spnc.search.auto.start import Start, load_libraries, read_data
from spnc.search.compile_cache import TriesShelf
from spnc.search.journal import Journal
from spnc.search.trials import Trials, best_text
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe
from spnc.training import OUT_OF_TIME

MOST_TRIES = 1_000


def auto(
    start: Start,
    budget: Budget,
    sink: Sink,
    observer: Observer | None = None,
    journal: Journal | None = None,
) -> Trained:
    """The best model on the validation rows that was found within the budget, and its recipe."""
    observer, journal = observer or Observer(), journal or Journal()
    observer.stage(Stage.DATA)
    began = budget.clock()
    read = read_data(start, sink, observer.progress)
    sink.stop()
    assert read is not None
    start, dataset = read
    reading = budget.clock() - began
    base = start.recipe

    journal.read_plan = lambda text: _from_plan(text, base)
    begun = journal.open(base, dataset, sink, lambda outcome: _recipe_of(outcome, base))
    budget.before += begun.seconds
    journal.spent = budget.used
    journal.comment = lambda outcome: _comment(base, outcome)
    journal.establish()
    guard = Guard(observer, budget)
    shelf = TriesShelf(dataset, ())
    trials = Trials(dataset, shelf, journal, sink, guard, budget.clock, tell_all=False)
    trials.take_up(begun)
    load_libraries(base.backend)
    loop = _Loop(start, budget, trials, guard, observer)
    if begun.under_way:
        loop.take(*_from_plan(begun.under_way, base))
    loop.run()
    about = {"choices": {"family": [], "change": []}, "budget": budget.seconds}
    return trials.end(reading, about)


class _Loop:
    """The tries of one run of `--auto`."""

    def __init__(
        self, start: Start, budget: Budget, trials: Trials, guard: Guard, observer: Observer
    ) -> None:
        self.start, self.budget, self.trials = start, budget, trials
        self.guard, self.observer = guard, observer
        tables = trials.dataset.distinct
        looked_at = tables["train"].rows + tables["valid"].rows // 3
        in_the_end = sum(tables[name].rows for name in tables if name not in ("train", "valid"))
        costs = Costs(looked_at, in_the_end)
        self.board = Board(start.recipe, trials.dataset, budget.seconds, costs, budget.clock)
        for outcome in sorted(trials.outcomes, key=lambda o: o.number):
            self._post(outcome)
        families, problems = FAMILIES.usable()
        self.families: list[Family] = [family() for family in families.values()]
        for d in problems:
            trials.sink.warning("W131", f"{d.message}, and is left out", notes=d.notes, help=d.help)
        self.given_up: list[Recipe] = []  # what ran out of time before it could train

    def run(self) -> None:
        """Try on until nothing that is worth it fits into the time."""
        while len(self.board.tried) < MOST_TRIES:
            found = self.choose()
            if found is None:
                return
            proposal, rate = found
            self.take(proposal, rate)

    def choose(self) -> tuple[Proposal, float] | None:
        """The proposal of most gain per second that fits, and the rate of the next best."""
        self.board.left = self.budget.left()
        ranked = sorted(self._fitting(), key=lambda pair: -pair[1])
        if not ranked:
            return None
        others = [rate for proposal, rate in ranked[1:] if not proposal.goes_on]
        return ranked[0][0], max(others, default=0.0)

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
        """What a proposal will take."""
        return self.board.costs.estimate(proposal, self.board.tried)

    def take(self, proposal: Proposal, rate: float) -> None:
        """Try a proposal until it yields less than `rate`, in nats per second."""
        trials, best = self.trials, self.board.best
        number = len(trials.outcomes) + 1
        values = {"family": proposal.family, "change": proposal.what}
        trials.journal.planned(_as_plan(proposal, rate))
        self.observer.attempt(number - 1, None, proposal.what, best_text(trials.best))
        self.observer.spent(self.budget.used(), self.budget.seconds)
        judge = Judge(
            self.budget,
            self.guard,
            self.board,
            rate,
            proposal.goes_on,
            proposal.iterations,
            proposal.edges,
        )
        note = json.dumps({"recipe": recipe_text(proposal.recipe), "axis": proposal.axis})
        same = best is not None and _plain(best.recipe) == _plain(proposal.recipe)
        resume = trials.state if proposal.goes_on and same else None
        self.guard.arm(self.board.reserve if best is not None else None)
        try:
            outcome = trials.run(
                number, proposal.recipe, values, enough=judge.enough, resume=resume, note=note
            )
        except (OutOfTimeError, InputError, MemoryError):
            if best is None:
                raise
            self.given_up.append(_plain(proposal.recipe))  # there is something better to do
            self.board.given_up.add(proposal.axis)
            trials.journal.planned("")
            return
        finally:
            self.guard.disarm()
        self._post(outcome)
        self.observer.tried(number, proposal.what, outcome.valid.average, outcome is trials.best)

    def _post(self, outcome: Outcome) -> None:
        """Put an outcome on the board."""
        board, best = self.board, self.board.best
        about = json.loads(outcome.note)
        recipe = _recipe_in(outcome.note, self.start.recipe)
        board.tried.append(
            Tried(
                outcome,
                recipe,
                str(outcome.values["family"]),
                about["axis"],
                level(outcome) - level(best.outcome) if best is not None else 0.0,
                best.outcome.edges if best is not None else 0,
            )
        )
        if board.best is board.tried[-1]:
            trained = self.trials.trained
            board.can_go_on = self.trials.state is not None
            board.slope = (
                last_slope(trained.fitted.history, outcome.pace, 1 + outcome.iterations // 6)
                if trained is not None
                else 0.0
            )


def _plain(recipe: Recipe) -> Recipe:
    """The recipe as it was proposed, however many iterations it came to: to tell equals."""
    optimizer = recipe.optimizer.cut(0)
    return recipe if optimizer is None else replace(recipe, optimizer=optimizer)


def _known(tried: Tried) -> Recipe:
    """What need not be tried again: the same for fewer iterations, if it was to have just these."""
    ended = tried.outcome.stopped == "max_iterations"
    return tried.recipe if ended else _plain(tried.recipe)


def _as_plan(proposal: Proposal, rate: float) -> str:
    """A proposal as text, from which it can be taken up again."""
    about: dict[str, Any] = {
        "recipe": recipe_text(proposal.recipe),
        "what": proposal.what,
        "axis": proposal.axis,
        "family": proposal.family,
        "edges": proposal.edges,
        "iterations": proposal.iterations,
        "rate": rate,
    }
    return json.dumps(about)


def _from_plan(text: str, base: Recipe) -> tuple[Proposal, float]:
    plan = json.loads(text)
    what, axis, family = (str(plan[name]) for name in ("what", "axis", "family"))
    edges, iterations = float(plan["edges"]), int(plan["iterations"])
    recipe = _recipe_in(text, base)
    proposal = Proposal(recipe, what, axis, 0.0, edges, iterations, family=family)
    return proposal, float(plan["rate"])


def _recipe_in(note: str, base: Recipe) -> Recipe:
    """The recipe in a note, with the data and the backend as the person gave them.

    Raises ValueError if there is none.
    """
    sink = Sink()
    recipe = recipe_from(Source("recipe.yaml", str(json.loads(note)["recipe"])), sink)
    if recipe is None:
        raise ValueError("the recipe of a try cannot be read")
    return replace(recipe, data=base.data, backend=base.backend)


def _recipe_of(outcome: Outcome, base: Recipe) -> Recipe:
    """The recipe that makes the model of a try: where that was left, it says so."""
    recipe = _recipe_in(outcome.note, base)
    if not {"family", "change"} <= outcome.values.keys() or "axis" not in json.loads(outcome.note):
        raise ValueError("a try does not say what it is")
    if outcome.stopped != OUT_OF_TIME:
        return recipe
    optimizer = recipe.optimizer.cut(outcome.iterations)
    assert optimizer is not None
    return replace(recipe, optimizer=optimizer)


def _comment(base: Recipe, outcome: Outcome) -> str:
    """How a recipe came about, for the head of `recipe.yaml`."""
    source = base.data.source or base.data.train
    return (
        f"# Chosen by `spnc train --auto {source}`: try {outcome.number}, "
        f"{outcome.valid.average:.4f} on the validation rows.\n"
    )
