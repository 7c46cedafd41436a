"""What spnc relies on in a stopping rule."""

from __future__ import annotations

import numpy as np

from spnc.testing.promises import Promise, expect, hold
from spnc.training import StopRule


def check_stop(rule: StopRule, *, seeds: int | None = None) -> None:
    """Check a stopping rule with its options; raise AssertionError if a promise is broken."""
    hold(STOP_PROMISES, rule, f"stopping rule `{rule.plugin_name}`", seeds)


def it_decides_by_the_history_alone(rule: StopRule, seed: int) -> None:
    """It returns a truth value for a history of any length, twice the same, and changes nothing."""
    rng = np.random.default_rng(seed)
    history = (-10.0 + np.cumsum(rng.random(40) / np.arange(1, 41) ** 2)).tolist()
    for length in range(1, len(history) + 1):
        given = history[:length]
        found = rule.should_stop(given)
        kind = type(found).__name__
        expect(isinstance(found, bool), f"it returned a {kind} after {length} iterations")
        expect(given == history[:length], "it has changed the history")
        expect(rule.should_stop(given) == found, f"it is undecided after {length} iterations")


STOP_PROMISES = (Promise(it_decides_by_the_history_alone),)
