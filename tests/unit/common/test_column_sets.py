"""Sets of columns: wide ones against sets of Python, and what they cost."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import spnc
from spnc import checks
from spnc.common import column_sets
from spnc.common.column_sets import ColumnOrder, WideSet, complement, members, union_and_overlap
from spnc.data.columns import Column
from spnc.diagnostics import Sink, render
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.program.lower import lower
from spnc.program.validity import program_problems

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
WIDTH = 1500
FEW = 1000  # columns up to which circuits are narrow here


def some_sets(seed: int) -> tuple[ColumnOrder, list[set[int]]]:
    """An order, and sets with few runs and with many: intervals, samples, and parts of both."""
    rng = random.Random(seed)
    order = ColumnOrder(np.array(rng.sample(range(WIDTH), WIDTH)))
    columns = order.columns.tolist()
    found: list[set[int]] = [set(), set(columns)]
    for size in (1, 2, 5, 30, 400, 1200):
        start = rng.randrange(WIDTH - size)
        found += [set(columns[start : start + size]), set(rng.sample(range(WIDTH), size))]
    found += [set(columns[:700]) | {columns[900]}, set(columns[::2])]
    return order, found


def wide(order: ColumnOrder, columns: set[int]) -> WideSet:
    return order.of_mask(sum(1 << int(order.place[c]) for c in columns))


@pytest.mark.parametrize("seed", range(5))
def test_wide_sets_are_sets(seed: int) -> None:
    order, given = some_sets(seed)
    made = [wide(order, columns) for columns in given]
    assert {type(one.content) for one in made} == {bytes, int}
    for a, x in zip(given, made, strict=True):
        assert members(x) == sorted(a)
        assert (bool(x), x.bit_count()) == (bool(a), len(a))
        assert set(members(complement(x, WIDTH))) == set(range(WIDTH)) - a
        for b, y in zip(given, made, strict=True):
            assert set(members(x & y)) == a & b
            assert set(members(x | y)) == a | b
            assert set(members(x ^ y)) == a ^ b
            assert (x == y) == (a == b)
            assert (x < y) + (y < x) + (x == y) == 1
            assert x | y == y | x == wide(order, a | b)
            assert hash(x & y) == hash(wide(order, a & b))


@pytest.mark.parametrize("seed", range(20))
def test_the_overlap_is_what_several_sets_have(seed: int) -> None:
    rng = random.Random(seed)
    order, given = some_sets(seed)
    chosen = [rng.choice(given) for _ in range(rng.randint(1, 6))]
    union, overlap = union_and_overlap([wide(order, columns) for columns in chosen])
    everything = [column for columns in chosen for column in columns]
    assert set(members(union)) == set(everything)
    assert set(members(overlap)) == {c for c in set(everything) if everything.count(c) > 1}


def test_single_columns_put_together_are_one_run() -> None:
    order, _ = some_sets(0)
    singles = [order.single(column) for column in range(WIDTH)]
    union, overlap = union_and_overlap(singles)
    assert union == wide(order, set(range(WIDTH)))
    assert not overlap


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*/circuits/*.spn")), ids=lambda path: str(path.name)
)
def test_findings_do_not_depend_on_the_kind_of_sets(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = render(spnc.check(path))
    monkeypatch.setattr(column_sets, "NARROW", 0)
    assert render(spnc.check(path)) == usual


def flat(builder: Builder, order: list[int]) -> int:
    return builder.product([builder.leaf(i, Bernoulli(p=0.5)) for i in order])


def chain(builder: Builder, order: list[int]) -> int:
    top, *others = (builder.leaf(i, Bernoulli(p=0.5)) for i in order)
    for leaf in others:
        top = builder.product([leaf, top])
    return top


def mixture(shape: str, width: int) -> Graph:
    """Two components over many columns, which divide them in different orders."""
    builder = Builder(tuple(Column(f"c{i}") for i in range(width)))
    orders = [list(range(width)), random.Random(0).sample(range(width), width)]
    roots = [{"flat": flat, "chain": chain}[shape](builder, order) for order in orders]
    builder.graph.graph["root"] = builder.sum(roots, [0.5, 0.5])
    return builder.graph


@pytest.mark.parametrize(("shape", "width", "less"), [("flat", 12_000, 5e6), ("chain", 4000, 2e6)])
def test_memory_does_not_grow_with_columns_squared(
    shape: str, width: int, less: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ints, the scopes of 12,000 leaves take 9 MB, those of a chain of 4,000 products 2 MB."""
    graph, sink = mixture(shape, width), Sink()
    program, parameters = lower(graph)
    peaks = {}
    for narrow in (FEW, width):
        monkeypatch.setattr(column_sets, "NARROW", narrow)
        tracemalloc.start()
        checks.check(graph, sink)
        assert list(program_problems(program, parameters)) == []
        peaks[narrow] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert not sink.failed
    assert peaks[FEW] < peaks[width] - less


def test_a_wide_product_with_a_column_twice_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(column_sets, "NARROW", FEW)
    builder = Builder(tuple(Column(f"c{i}") for i in range(2 * FEW)))
    builder.graph.graph["root"] = flat(builder, [*range(2 * FEW), 17])
    sink = Sink()
    checks.check(builder.graph, sink)
    (found,) = sink.diagnostics
    assert found.code == "E204"
    assert "both contain: c17" in render([found])
