"""Little work is done in the process that has it, the rest by workers."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.workers import Check, Item, Result, Results, Work, Workers, here_first


class Elsewhere(Workers):
    """Workers that note what they get."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.given: list[object] = []

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Results[Result]:
        own = list(items)
        self.given += own
        for place, item in enumerate(own):
            yield place, work(item, lambda: None)


def double(item: int, check: Check) -> int:
    check()
    return 2 * item


@given(st.lists(st.integers(), max_size=5), st.sampled_from([0.0, 1e-9, 1e9]))
def test_the_results_are_the_same_wherever_they_come_from(
    items: list[int], patience: float
) -> None:
    workers = Elsewhere(patience)
    found = dict(here_first(workers, double, items))
    assert found == {place: 2 * item for place, item in enumerate(items)}
    if patience == 0.0:
        assert workers.given == items
    if patience == 1e9:
        assert workers.given == []


def test_what_is_going_to_take_long_is_handed_over() -> None:
    workers = Elsewhere(0.2)

    def slow(item: int, check: Check) -> int:
        time.sleep(0.05)
        return double(item, check)

    found = dict(here_first(workers, slow, range(10)))
    assert found == {i: 2 * i for i in range(10)}
    assert workers.given == list(range(1, 10))  # the first has shown how long the others take


def test_work_that_takes_long_is_begun_again_elsewhere() -> None:
    workers, begun = Elsewhere(0.01), []

    def endless(item: int, check: Check) -> int:
        begun.append(item)
        while not workers.given:
            check()
        return item

    assert dict(here_first(workers, endless, [7])) == {0: 7}
    assert begun == [7, 7]


def test_a_failure_here_is_a_failure() -> None:
    def failing(item: int, check: Check) -> int:
        raise MemoryError

    workers = Elsewhere(1.0)
    with pytest.raises(MemoryError):
        list(here_first(workers, failing, [1, 2]))
    assert workers.given == []
