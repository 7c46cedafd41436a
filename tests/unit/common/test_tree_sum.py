"""Sums in a fixed order: one process and many workers add the same terms to the same."""

from __future__ import annotations

import pytest

from spnc.common.tree_sum import TreeSum, additions


def _together(a: str, b: str) -> str:
    return f"({a}{b})"


@pytest.mark.parametrize("parts", range(1, 40))
def test_adding_as_terms_come_is_adding_by_the_list(parts: int) -> None:
    total: TreeSum[str] = TreeSum(_together)
    terms = [f"{number} " for number in range(parts)]
    for term in terms:
        total.append(term)
    for first, second in additions(parts):
        terms[first] = _together(terms[first], terms[second])
    assert total.total() == terms[0]
    assert total.total() == terms[0]  # asking does not change it


def test_neighbours_are_added_first() -> None:
    total: TreeSum[str] = TreeSum(_together)
    for number in range(5):
        total.append(str(number))
    assert total.total() == "(((01)(23))4)"
