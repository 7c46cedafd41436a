"""Partitions stay where they are, as far as the shares of the workers allow."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from spnc.cluster.holders import balanced

WORKERS = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 8), min_size=1)
BEFORE = st.lists(st.none() | st.sampled_from("abcdef"), max_size=40)


@given(BEFORE, WORKERS)
def test_each_worker_holds_its_share(before: list[str | None], threads: dict[str, int]) -> None:
    found = balanced(before, threads)
    assert len(found) == len(before)
    share = len(before) / sum(threads.values())
    for address, count in Counter(found).items():
        assert count < share * threads[address] + 1


@given(BEFORE, WORKERS)
def test_nothing_moves_twice(before: list[str | None], threads: dict[str, int]) -> None:
    found = balanced(before, threads)
    assert balanced([*found], threads) == found


def test_what_a_lost_worker_had_goes_to_the_others_and_back() -> None:
    four = balanced([None] * 4, {"a": 1, "b": 1})
    assert four == ["a", "b", "a", "b"]
    alone = balanced([*four], {"a": 1})
    assert alone == ["a"] * 4
    assert balanced([*alone], {"a": 1, "c": 1}) == ["a", "a", "c", "c"]
    assert balanced([None] * 4, {"a": 3, "b": 1}) == ["a", "a", "a", "b"]
