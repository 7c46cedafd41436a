"""Work that is shared by threads gives the same results in the same order."""

from __future__ import annotations

import pytest

from spnc.common.threads import VARIABLES, in_threads


@pytest.mark.parametrize("threads", ["1", "3"])
def test_results_come_in_the_order_of_the_items(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[0], threads)
    assert in_threads(lambda x: x * x, range(20)) == [x * x for x in range(20)]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_error_reaches_the_caller(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[0], threads)
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 / x, [1, 0])
