"""Residual strategies, optimisers, objectives and stopping rules keep their promises."""

from __future__ import annotations

from typing import Any

import pytest

from spnc.registry import OBJECTIVES, OPTIMIZERS, RESIDUALS, STOPS
from spnc.testing import (
    OBJECTIVE_PROMISES,
    OPTIMIZER_PROMISES,
    RESIDUAL_PROMISES,
    STOP_PROMISES,
    Promise,
)
from tests.contract.promising import every


@pytest.mark.parametrize("name", list(RESIDUALS))
@every(RESIDUAL_PROMISES)
def test_a_residual_strategy_keeps_its_promises(name: str, promise: Promise) -> None:
    for seed in range(promise.seeds):
        promise(RESIDUALS[name](), seed)


@pytest.mark.parametrize("name", list(OPTIMIZERS))
@every(OPTIMIZER_PROMISES)
def test_an_optimiser_keeps_its_promises(name: str, promise: Promise) -> None:
    for seed in range(promise.seeds):
        promise(OPTIMIZERS[name](), seed)


# The options that an objective cannot do without.
NEEDED: dict[str, dict[str, Any]] = {"conditional": {"target": ("x0",), "max_iterations": 6}}


@pytest.mark.parametrize("name", list(OBJECTIVES))
@every(OBJECTIVE_PROMISES)
def test_an_objective_keeps_its_promises(name: str, promise: Promise) -> None:
    for seed in range(promise.seeds):
        promise(OBJECTIVES[name](**NEEDED.get(name, {})), seed)


@pytest.mark.parametrize("name", list(STOPS))
@every(STOP_PROMISES)
def test_a_stopping_rule_keeps_its_promises(name: str, promise: Promise) -> None:
    for seed in range(promise.seeds):
        promise(STOPS[name](), seed)
