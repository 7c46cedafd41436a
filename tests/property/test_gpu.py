"""The cupy backend: what it computes, in which bits, and, on the stand-in, what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends.cupy import batches
from spnc.backends.cupy.cost import cost, table_bytes
from spnc.backends.cupy.engine import CupyEngine, LoadedTable, chunk_rows
from spnc.backends.cupy.inverse import LIST, MOST_LISTS, dealt, inverse, list_numbers
from spnc.backends.cupy.launches import Limits, cell_work
from spnc.backends.cupy.sweep import Batch
from spnc.backends.cupy.tables import (
    Chunks,
    least_workspace_bytes,
    tables,
    workspace,
    workspace_bytes,
)
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.diagnostics import InputError
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.program.lower import lower
from spnc.program.program import Parameters
from spnc.program.score import Counts
from spnc.registry import BACKENDS
from tests.circuits import hidden_tree, random_circuit, random_columns, random_rows, repeated_rows
from tests.engines import DEVICE, DEVICE_STEPWISE, STAND_IN, STEPWISE, marked, open_engine
from tests.stand_in.cupy_on_host import why_not

SEEDS = st.integers(0, 10**6)
STEP_BY_STEP = {STAND_IN: STEPWISE, DEVICE: DEVICE_STEPWISE}


def ways(*some: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("way", [marked(way) for way in some])


every_way = ways(*STEP_BY_STEP, *STEP_BY_STEP.values())
every_machine = ways(*STEP_BY_STEP)
both_ways_counted = ways(STAND_IN, STEPWISE)  # what reads the stand-in's counters
counted = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def loaded(
    graph: Graph, table: Table, way: str = STAND_IN, **options: Any
) -> tuple[CupyEngine, Parameters, LoadedTable]:
    program, parameters = lower(graph)
    engine = open_engine(way, program, **options)
    assert isinstance(engine, CupyEngine)
    return engine, parameters, engine.load(table)


def only(loaded: LoadedTable) -> Batch:
    """The one batch of a table without wide columns."""
    (batch,) = loaded.batches
    return batch


def pairs(one: Counts, other: Counts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip((one.weights, *one.tables), (other.weights, *other.tables), strict=True)


def close(one: Counts, other: Counts, error: float) -> None:
    for a, b in pairs(one, other):
        assert a == pytest.approx(b, rel=error, abs=error)
    assert one.score.total == pytest.approx(other.score.total, rel=error, abs=error)
    assert one.score.impossible == pytest.approx(other.score.impossible)


def agree(graph: Graph, table: Table, way: str) -> None:
    engine, parameters, batch = loaded(graph, table, way)
    reference = BACKENDS["numpy"]().open(engine.program)
    expected = reference.log_likelihood(parameters, table)
    assert engine.log_likelihood(parameters, batch) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    counts = engine.expected_counts(parameters, batch)
    close(counts, reference.expected_counts(parameters, table), 1e-10)


def bits(counts: Counts) -> list[bytes]:
    return [a.tobytes() for a in (counts.weights, *counts.tables, np.array(counts.score.total))]


@every_way
@settings(max_examples=40)
@given(
    seed=SEEDS,
    extremes=st.booleans(),
    missing=st.sampled_from([0.0, 0.15]),
    numeric=st.sampled_from([0.0, 0.5]),
)
def test_many_rows_agree_with_the_reference(
    way: str, seed: int, extremes: bool, missing: float, numeric: float
) -> None:
    graph = random_circuit(
        seed, variables=9, depth=6, share=0.4, extremes=extremes, numeric=numeric
    )
    agree(graph, repeated_rows(seed, graph.graph["columns"], 400, missing), way)


@every_way
@pytest.mark.parametrize("entries", [200, 1 << 23])
def test_wide_columns_are_taken_in_batches(
    way: str, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every value is different; a device takes a few rows at a time, or all of them."""
    monkeypatch.setattr(batches, "BATCH_ENTRIES", entries)
    graph = random_circuit(3, variables=6, depth=5, share=0.4, numeric=0.6)
    table = Table(random_rows(3, graph.graph["columns"], 150, 0.1))
    _, _, loaded_table = loaded(graph, table, way)
    assert (len(loaded_table.batches) > 1) == (entries == 200)
    agree(graph, table, way)


@every_way
@pytest.mark.parametrize("states", [3, 16])
def test_hidden_trees_agree_with_the_reference(way: str, states: int) -> None:
    columns = random_columns(np.random.default_rng(states), 14, binary_only=True)
    graph = hidden_tree(columns, states, states)
    agree(graph, repeated_rows(states, tuple(columns), 700, 0.05), way)


@every_way
def test_rows_beyond_the_range_of_doubles_are_exact(way: str) -> None:
    count = 1500
    builder = Builder([Column(f"x{i}") for i in range(count)])
    sides = [
        builder.product([builder.leaf(i, Bernoulli(p)) for i in range(count)]) for p in (1e-3, 0.4)
    ]
    builder.sum(sides, [0.25, 0.75])
    rows = np.stack([np.zeros(count), np.ones(count), np.arange(count) % 2.0])
    agree(builder.graph, Table(rows), way)


@every_machine
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_neither_chunks_nor_the_form_of_launches_change_a_bit(way: str, precision: str) -> None:
    columns = random_columns(np.random.default_rng(5), 12, binary_only=True)
    graph = hidden_tree(columns, 4, 5)
    table = Table(random_rows(5, tuple(columns), 900, 0.0)).distinct()
    engine, parameters, batch = loaded(graph, table, way, precision=precision)
    little = workspace_bytes(only(batch).layout, 64, engine.real) / 1e6
    found = []
    for own, memory in ((way, None), (STEP_BY_STEP[way], None), (way, little)):
        engine, parameters, batch = loaded(graph, table, own, precision=precision, memory_mb=memory)
        found.append((len(only(batch).chunks), bits(engine.expected_counts(parameters, batch))))
        assert bits(engine.expected_counts(parameters, batch)) == found[-1][1]
    (one, usual), (also_one, stepwise), (several, chunked) = found
    assert one == also_one == 1
    assert several > 3
    assert usual == stepwise == chunked


@counted
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_chunks_are_as_large_as_the_memory_allows(precision: str) -> None:
    """With the lists of all chunks, which are more the smaller chunks are."""
    columns = random_columns(np.random.default_rng(2), 12, binary_only=True)
    graph = hidden_tree(columns, 3, 2)
    table = Table(random_rows(2, tuple(columns), 3_000, 0.0))
    _, _, batch = loaded(graph, table)
    layout, real = only(batch).layout, np.dtype(precision)

    def needed(size: int) -> int:
        arrays = tables(layout, Chunks(layout.rows, size), only(batch).encoded.weights)
        own = sum(count * kind.itemsize for count, kind in workspace(layout, size, real).values())
        return own + arrays["feed_list_starts"].nbytes

    needs = {size: needed(size) for size in range(32, 3_008 + 1, 32)}
    least = min(needs.values())
    assert least < needs[32]
    assert least == least_workspace_bytes(layout, real)
    for memory in np.linspace(least, max(needs.values()), 50):
        fitting = [size for size, need in needs.items() if need <= memory]
        assert chunk_rows(layout, real, memory) == max(fitting)
    with pytest.raises(InputError, match="E706"):
        chunk_rows(layout, real, least - 1)


@every_machine
@given(seed=SEEDS)
@settings(max_examples=25)
def test_single_precision_is_as_close_as_the_documentation_says(way: str, seed: int) -> None:
    """docs/gpu.md: log-likelihoods to 1e-5, relative or not; counts to 1e-5 of all rows."""
    graph = random_circuit(seed, variables=9, depth=6, share=0.4)
    table = repeated_rows(seed, graph.graph["columns"], 300, 0.1)
    engine, parameters, batch = loaded(graph, table, way, precision="float32")
    reference = BACKENDS["numpy"]().open(engine.program)
    expected = reference.log_likelihood(parameters, table)
    assert engine.log_likelihood(parameters, batch) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    counts = engine.expected_counts(parameters, batch)
    wanted = reference.expected_counts(parameters, table)
    rows = table.weights.sum()
    for a, b in pairs(counts, wanted):
        assert np.abs(a - b).max(initial=0.0) <= 1e-5 * rows


def deep_chain(columns: int) -> Graph:
    """Two ways on at every column: a circuit of about two levels for each."""
    builder = Builder([Column(f"x{i}") for i in range(columns)])
    below = None
    for i in range(columns):
        ends = []
        for p in (0.2, 0.7):
            leaf = builder.leaf(i, Bernoulli(p))
            ends.append(leaf if below is None else builder.product([leaf, below]))
        below = builder.sum(ends, [0.3, 0.7])
    return builder.graph


@counted
@pytest.mark.parametrize("kind", ["all alike", "all different"])
def test_three_hundred_levels_do_not_cost_three_hundred_launches(kind: str) -> None:
    graph = deep_chain(150)
    rng = np.random.default_rng(0)
    rows = np.zeros((40, 150)) if kind == "all alike" else rng.integers(2, size=(40, 150)) * 1.0
    engine, parameters, batch = loaded(graph, Table(rows))
    assert engine.program.layers == 300
    host = engine.device.cupy.host
    host.reset()
    engine.log_likelihood(parameters, batch)
    assert host.launches.total() <= 6
    engine.expected_counts(parameters, batch)
    assert host.launches.total() <= 20
    agree(graph, Table(rows), STAND_IN)


@both_ways_counted
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("memory_mb", [None, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_the_model_of_cost_says_what_the_host_counts(
    way: str, precision: str, memory_mb: float | None, seed: int
) -> None:
    graph = random_circuit(seed, variables=10, depth=6, share=0.4)
    table = repeated_rows(seed, graph.graph["columns"], 600, 0.1)
    engine, parameters, batch = loaded(graph, table, way, precision=precision, memory_mb=memory_mb)
    engine.log_likelihood(parameters, batch)  # compiles
    real = np.dtype(precision)
    expected = cost(only(batch).layout, only(batch).chunks, real, engine.limits)
    host = engine.device.cupy.host
    for work, ask in (
        (expected.values, engine.log_likelihood),
        (expected.counts, engine.expected_counts),
    ):
        host.reset()
        ask(parameters, batch)
        assert host.launches.total() == work.launches
        assert host.bytes_read.total() == work.read
        assert host.bytes_written.total() == work.written
        assert host.flops.total() == work.operations
    arrays = len(only(batch).tables) + 10  # each is rounded up to 512 bytes
    kept = table_bytes(only(batch).layout, only(batch).chunks, only(batch).encoded.weights)
    assert host.peak == pytest.approx(kept + expected.workspace, abs=512 * arrays)


@every_machine
def test_wide_and_thin_steps_take_turns(way: str) -> None:
    """What is wide is a launch of its own; the thin steps between two of them are one."""
    columns = random_columns(np.random.default_rng(1), 12, binary_only=True)
    graph = hidden_tree(columns, 6, 1)
    table = repeated_rows(1, tuple(columns), 500, 0.0)
    engine, parameters, batch = loaded(graph, table, way)
    usual = bits(engine.expected_counts(parameters, batch))
    work = cell_work(only(batch).layout)[1:]
    engine.limits = Limits(cells=int(np.median(work)), rows=3_000, many_rows=10**9)
    mixed = engine.load(table)
    assert {launch.alone for launch in only(mixed).cell_launches} == {False, True}
    assert bits(engine.expected_counts(parameters, mixed)) == usual


@counted
def test_few_entries_with_many_edges_are_wide() -> None:
    """64 sums over 64 children: few entries, and too much for one block of threads."""
    columns = random_columns(np.random.default_rng(1), 3, binary_only=True)
    graph = hidden_tree(columns, 64, 1)
    _, _, batch = loaded(graph, repeated_rows(1, tuple(columns), 500, 0.0))
    layout = only(batch).layout
    assert np.diff(layout.offsets[layout.steps[: layout.cell_steps + 1]]).max() < 1_000
    for launch in only(batch).cell_launches:
        assert launch.alone == layout.step_is_sum[launch.first]
    assert any(launch.alone for launch in only(batch).cell_launches)


@pytest.mark.parametrize("size", [3, 700, 65_535])
def test_entries_that_lead_to_a_number_are_dealt_out_to_lists(size: int) -> None:
    """Few numbers are frequent, as in sparse rows; those of 65,535 need more than 65,536 lists."""
    rng = np.random.default_rng(size)
    frequent = (size * rng.random(140_000) ** 8).astype(np.uint16)
    numbers = rng.permutation(np.concatenate([np.arange(size), frequent])).astype(np.uint16)
    firsts = dealt(numbers, size)
    lists, counts = np.diff(firsts), np.bincount(numbers, minlength=size)
    assert ((lists == MOST_LISTS) | (counts // lists < 2 * LIST)).all()
    assert ((lists == 1) | (counts // lists >= LIST)).all()
    own = list_numbers(numbers, firsts)
    owners = np.repeat(np.arange(size), lists)
    for first in range(0, len(numbers), 1 << 16):
        part = slice(first, first + (1 << 16))
        found = inverse(own[part], int(firsts[-1]))
        lengths = np.diff(found.starts)
        assert lengths.max() <= 1.4 * max(2 * LIST, (1 << 16) / MOST_LISTS)
        assert (numbers[part][found.order] == np.repeat(owners, lengths)).all()
        places = np.repeat(np.arange(len(lengths)), lengths)
        assert (np.diff(found.order.astype(int)) > 0)[np.diff(places) == 0].all()
        assert sorted(found.order) == list(range(len(numbers[part])))
    assert (len(owners) > 1 << 16) == (size == 65_535)


@every_machine
def test_impossible_rows_have_no_flow(way: str) -> None:
    builder = Builder([Column("a"), Column("b")])
    leaves = [builder.leaf(i, Bernoulli(p)) for i, p in ((0, 1.0), (1, 0.5), (0, 1.0), (1, 0.9))]
    pair = [builder.product(leaves[:2]), builder.product(leaves[2:])]
    builder.sum(pair, [0.5, 0.5])
    table = Table(np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), np.array([2.0, 1.0, 1.0]))
    engine, parameters, batch = loaded(builder.graph, table, way)
    assert engine.log_likelihood(parameters, batch)[0] == -np.inf
    counts = engine.expected_counts(parameters, batch)
    assert counts.score.impossible == 2.0
    assert counts.weights.sum() == pytest.approx(2.0)


@every_machine
def test_parameters_change_between_passes_and_leave_nothing_behind(way: str) -> None:
    graph = random_circuit(3, variables=6, depth=5, share=0.4)
    table = repeated_rows(3, graph.graph["columns"], 200, 0.0)
    engine, parameters, batch = loaded(graph, table, way)
    before = bits(engine.expected_counts(parameters, batch))
    weights = np.ones(len(parameters.weights))
    starts = engine.program.weight_starts
    if len(starts) > 1:
        weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), np.diff(starts))
    engine.expected_counts(replace(parameters, weights=weights), batch)
    assert bits(engine.expected_counts(parameters, batch)) == before
