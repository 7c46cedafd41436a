"""What spnc relies on in an objective."""

from __future__ import annotations

from typing import Any

from spnc.backends.numpy import NumpyBackend
from spnc.backends.parted import open_engine
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.lower import lower
from spnc.program.program import Parameters
from spnc.program.validity import program_problems
from spnc.testing.circuits import random_circuit, repeated_rows
from spnc.testing.promises import Promise, expect, global_random_state, hold
from spnc.training import FitResult, FitTask, Objective, State

_SEEDS = 5  # fitting takes longer than asking


def check_objective(objective: Objective, *, seeds: int | None = None) -> None:
    """Check an objective with its options; raise AssertionError if a promise is broken.

    It fits small circuits over the columns `x0` to `x4`, of which `seeds` limits the number.
    """
    hold(OBJECTIVE_PROMISES, objective, f"objective `{objective.plugin_name}`", seeds)


def _task(seed: int, **options: Any) -> FitTask:
    program, parameters = lower(
        random_circuit(seed, variables=5, depth=4, numeric=0.4 * (seed % 2))
    )
    train = repeated_rows(seed, program.columns, 40, 0.1)
    valid = repeated_rows(seed + 1, program.columns, 20, 0.1)
    engine = open_engine(NumpyBackend(), program)
    return FitTask(engine, parameters, train, valid, Smoothing.of(0.1), Sink(), seed, **options)


def _fitted(objective: Objective, task: FitTask) -> FitResult | None:
    """Return the fit; None of an objective that leaves the parameters as they are."""
    if not objective.refines:
        return None
    found = objective.refine(task)
    expect(not task.sink.failed, f"it reported {[d.message for d in task.sink.diagnostics]}")
    expect(found is not None, "it returned None without reporting an error")
    return found


def _bits(parameters: Parameters) -> list[bytes]:
    return [array.tobytes() for array in (parameters.weights, *parameters.tables)]


def what_it_keeps_is_valid_and_no_worse(objective: Objective, seed: int) -> None:
    """Weights and leaves are distributions; the start is replaced by nothing worse on valid."""
    task = _task(seed)
    start = _bits(task.start)
    fitted = _fitted(objective, task)
    if fitted is None:
        return
    problems = list(program_problems(task.engine.program, fitted.parameters))
    expect(not problems, f"the parameters are not valid: {problems}")
    expect(_bits(task.start) == start, "it has changed the parameters that it began from")
    numbers = [record.iteration for record in fitted.history]
    expect(numbers == list(range(len(numbers))), f"the history has the iterations {numbers}")
    expect(0 <= fitted.kept_iteration < len(numbers), "`kept_iteration` is not in the history")
    if fitted.kept == "best on valid":
        scores = [record.valid_conditional for record in fitted.history]
        known = [score for score in scores if score is not None]
        expect(len(known) == len(scores), "the history lacks scores of the validation rows")
        kept = known[fitted.kept_iteration]
        expect(kept == max(known), f"it kept {kept}, but {max(known)} was reached")


def the_same_seed_gives_the_same_parameters(objective: Objective, seed: int) -> None:
    """All randomness comes from `task.seed`, and the global random numbers are left alone."""
    before = global_random_state()
    one, two = (_fitted(objective, _task(seed)) for _ in range(2))
    if one is not None and two is not None:
        expect(_bits(one.parameters) == _bits(two.parameters), "two runs with one seed differ")
    expect(global_random_state() == before, "it used numpy's global random numbers")


def a_resumed_fit_ends_with_the_same_parameters(objective: Objective, seed: int) -> None:
    """A state that the monitor was given is enough to go on from, to the same bits."""
    states: list[State] = []
    whole = _fitted(objective, _task(seed, monitor=states.append))
    if whole is not None and states:
        resumed = _fitted(objective, _task(seed, resume=states[len(states) // 2]))
        same = resumed is not None and _bits(resumed.parameters) == _bits(whole.parameters)
        expect(same, "the parameters differ from those of the fit that was not interrupted")


def a_cut_objective_takes_at_most_n_of_the_same_steps(objective: Objective, seed: int) -> None:
    """`cut(n)` ends after n iterations as far as the whole fit was, or is None."""
    whole = _fitted(objective, _task(seed))
    for iterations in (0, 2) if whole is not None else ():
        cut = objective.cut(iterations)
        found = _fitted(cut, _task(seed)) if cut is not None else None
        if found is not None and whole is not None:
            last = found.history[-1].iteration
            expect(last <= iterations, f"cut({iterations}) took {last} iterations")
            scores, same = ([r.objective for r in fit.history] for fit in (found, whole))
            expect(scores == same[: len(scores)], f"cut({iterations}) takes other steps")


OBJECTIVE_PROMISES = tuple(
    Promise(check, _SEEDS)
    for check in (
        what_it_keeps_is_valid_and_no_worse,
        the_same_seed_gives_the_same_parameters,
        a_resumed_fit_ends_with_the_same_parameters,
        a_cut_objective_takes_at_most_n_of_the_same_steps,
    )
)
