"""Promises of `spnc.testing` as tests, with seeds that hypothesis chooses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.testing import Promise
from spnc.testing.promises import SEEDS

EXAMPLES = 100  # of a promise that is cheap to check; others have as many as they ask for


def every(promises: tuple[Promise, ...]) -> pytest.MarkDecorator:
    """Parametrise a test by promises."""
    return pytest.mark.parametrize("promise", promises, ids=lambda promise: promise.name)


def keeps(promise: Promise, plugin: Any) -> None:
    """Check a promise for many seeds; the smallest that breaks it is shown."""

    @settings(max_examples=EXAMPLES if promise.seeds == SEEDS else promise.seeds)
    @given(seed=st.integers(0, 10**6))
    def check(seed: int) -> None:
        promise(plugin, seed)

    check()
