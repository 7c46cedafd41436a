"""What spnc relies on in an optimiser."""

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
from spnc.training import FitResult, FitTask, Optimizer, State

_SEEDS = 5  # fitting takes longer than asking
_ITERATIONS = 6


def check_optimizer(optimizer: Optimizer, *, seeds: int | None = None) -> None:
    """Check an optimiser with its options; raise AssertionError if a promise is broken.

    It fits small circuits, of which `seeds` limits the number.
    """
    hold(OPTIMIZER_PROMISES, optimizer, f"optimizer `{optimizer.plugin_name}`", seeds)


def _task(seed: int, **options: Any) -> FitTask:
    """A small circuit to be fitted to rows that it does not yet explain well."""
    program, parameters = lower(
        random_circuit(seed, variables=5, depth=4, numeric=0.4 * (seed % 2))
    )
    train = repeated_rows(seed, program.columns, 40, 0.1)
    valid = repeated_rows(seed + 1, program.columns, 20, 0.1)
    engine = open_engine(NumpyBackend(), program)
    return FitTask(engine, parameters, train, valid, Smoothing.of(0.1), Sink(), seed, **options)


def _fitted(optimizer: Optimizer, task: FitTask) -> FitResult:
    found = optimizer.fit(task)
    expect(not task.sink.failed, f"it reported {[d.message for d in task.sink.diagnostics]}")
    expect(found is not None, "it returned None without reporting an error")
    assert found is not None
    return found


def _short(optimizer: Optimizer) -> Optimizer:
    """The same optimiser for a few iterations, if it can be cut."""
    return optimizer.cut(_ITERATIONS) or optimizer


def _bits(parameters: Parameters) -> list[bytes]:
    return [array.tobytes() for array in (parameters.weights, *parameters.tables)]


def what_it_keeps_is_valid_and_no_worse(optimizer: Optimizer, seed: int) -> None:
    """Weights and leaves are distributions; the best on the validation rows is kept."""
    task = _task(seed)
    start = _bits(task.start)
    fitted = _fitted(_short(optimizer), task)
    problems = list(program_problems(task.engine.program, fitted.parameters))
    expect(not problems, f"the parameters are not valid: {problems}")
    expect(_bits(task.start) == start, "it has changed the parameters that it began from")
    history = fitted.history
    numbers = [record.iteration for record in history]
    expect(numbers == list(range(len(history))), f"the history has the iterations {numbers}")
    expect(0 <= fitted.kept_iteration < len(history), "`kept_iteration` is not in the history")
    if fitted.kept == "best on valid":
        scores = [record.valid for record in history if record.valid is not None]
        kept = history[fitted.kept_iteration].valid
        expect(kept == max(scores), f"it kept {kept}, but {max(scores)} was reached")


def the_same_seed_gives_the_same_parameters(optimizer: Optimizer, seed: int) -> None:
    """All randomness comes from `task.seed`, and the global random numbers are left alone."""
    before = global_random_state()
    one, two = (_fitted(_short(optimizer), _task(seed)) for _ in range(2))
    expect(_bits(one.parameters) == _bits(two.parameters), "two runs with one seed differ")
    expect(global_random_state() == before, "it used numpy's global random numbers")


def a_cut_optimizer_takes_at_most_n_steps(optimizer: Optimizer, seed: int) -> None:
    """`cut(n)` ends after n iterations, or is None for an optimiser that cannot be cut."""
    for iterations in (0, 2):
        cut = optimizer.cut(iterations)
        if cut is not None:
            last = _fitted(cut, _task(seed)).history[-1].iteration
            expect(last <= iterations, f"cut({iterations}) took {last} iterations")


def a_resumed_fit_ends_with_the_same_parameters(optimizer: Optimizer, seed: int) -> None:
    """A state that the monitor was given is enough to go on from, to the same bits."""
    states: list[State] = []
    whole = _fitted(_short(optimizer), _task(seed, monitor=states.append))
    if states:
        resumed = _fitted(_short(optimizer), _task(seed, resume=states[len(states) // 2]))
        same = _bits(resumed.parameters) == _bits(whole.parameters)
        expect(same, "the parameters differ from those of the fit that was not interrupted")


OPTIMIZER_PROMISES = tuple(
    Promise(check, _SEEDS)
    for check in (
        what_it_keeps_is_valid_and_no_worse,
        the_same_seed_gives_the_same_parameters,
        a_cut_optimizer_takes_at_most_n_steps,
        a_resumed_fit_ends_with_the_same_parameters,
    )
)
