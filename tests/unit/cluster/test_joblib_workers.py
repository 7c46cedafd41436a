"""Worker processes of joblib that end in the middle of the work are replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from joblib.externals.loky import get_reusable_executor, process_executor

from spnc.cluster.joblib_workers import JoblibWorkers
from spnc.common.workers import Check


@pytest.fixture
def own_processes() -> Iterator[None]:
    """Leave no process to other tests."""
    yield
    get_reusable_executor().shutdown(wait=True)


def grown(item: int, check: Check) -> tuple[int, int]:
    """Return the item and the process, which joblib then takes for one with a memory leak."""
    check()
    process_executor._MEMORY_LEAK_CHECK_DELAY = -1.0
    process_executor._MAX_MEMORY_LEAK_SIZE = -(1 << 60)
    return item, os.getpid()


def test_processes_that_have_grown_are_replaced_without_a_word(own_processes: None) -> None:
    # joblib warns of them in a thread of its own, which a warning that is an error would end.
    found = dict(JoblibWorkers(2).map(grown, range(8)))
    assert {place: item for place, (item, _) in found.items()} == {i: i for i in range(8)}
    assert len({process for _, process in found.values()}) > 2
