"""Residual strategies, optimisers and stopping rules keep the promises of `spnc.testing`."""

from __future__ import annotations

import pytest

from spnc.registry import OPTIMIZERS, RESIDUALS, STOPS
from spnc.testing import OPTIMIZER_PROMISES, RESIDUAL_PROMISES, STOP_PROMISES, Promise
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


@pytest.mark.parametrize("name", list(STOPS))
@every(STOP_PROMISES)
def test_a_stopping_rule_keeps_its_promises(name: str, promise: Promise) -> None:
    for seed in range(promise.seeds):
        promise(STOPS[name](), seed)
