"""Circuits as flat arrays give the same programs as graphs, and are proved valid no more often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc import checks, passes
from spnc.checks.array_proof import is_plainly_valid
from spnc.common.equal_lists import number_lists, number_sets
from spnc.common.ragged_array import RaggedArray
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import grow, put_top_sum
from spnc.graph.circuit_arrays import CircuitArrays, recorded_circuit
from spnc.graph.nodes import Builder, Graph, Leaf, Product, Sum, payloads
from spnc.graph.stored_nodes import stored_nodes
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.smoothing import Smoothing
from spnc.passes import merge
from spnc.passes.on_arrays import merge_products, merge_sums, run_on_arrays
from spnc.program.lower import lower, lower_arrays
from spnc.program.program import Parameters, Program
from spnc.registry import LEARNERS
from spnc.spec.recipe import Component
from tests.circuits import hidden_tree, random_circuit, random_columns
from tests.property.test_checks import CORRUPTIONS

SEEDS = st.integers(0, 10**6)
LISTS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4))


def recorded(graph: Graph) -> Builder:
    """Return a builder that has recorded a graph and has made none of its own."""
    builder, number = Builder(graph.graph["columns"]), {n: i for i, n in enumerate(graph)}
    edges = [(number[a], number[b], d.get("weight")) for a, b, d in graph.edges(data=True)]
    builder.extend(list(payloads(graph).values()), edges)
    builder.declare_root(number[graph.graph["root"]])
    return builder


def graph_of(builder: Builder) -> Builder:
    """Return a copy that has made its graph."""
    made = builder.copy()
    assert len(made.graph) == builder.next_name
    return made


def arrays_of(graph: Graph) -> CircuitArrays:
    found = recorded_circuit(recorded(graph))
    assert found is not None
    return found


def expect_same(one: tuple[Program, Parameters], other: tuple[Program, Parameters]) -> None:
    (program, parameters), (program_too, parameters_too) = one, other
    assert (program.root, program.layers) == (program_too.root, program_too.layers)
    for table, too in zip(program.leaves, program_too.leaves, strict=True):
        assert (table.distribution, table.width, table.first) == (
            too.distribution,
            too.width,
            too.first,
        )
        assert table.variables.tolist() == too.variables.tolist()
        assert table.columns.mean.tolist() == too.columns.mean.tolist()
    for segment, again in zip(program.segments, program_too.segments, strict=True):
        assert (segment.is_sum, segment.first, segment.first_slot) == (
            again.is_sum,
            again.first,
            again.first_slot,
        )
        assert segment.starts.tolist() == again.starts.tolist()
        assert segment.children.tolist() == again.children.tolist()
    assert parameters.weights.tobytes() == parameters_too.weights.tobytes()
    for rows, rows_too in zip(parameters.tables, parameters_too.tables, strict=True):
        assert rows.tobytes() == rows_too.tobytes()


def lowered_both_ways(builder: Builder) -> bool:
    """Expect the same program from arrays and from the graph; whether arrays gave any."""
    circuit, graph = recorded_circuit(builder), builder.graph
    assert circuit is not None
    assert is_plainly_valid(circuit)
    expect_same(lower_arrays(circuit), lower(graph))
    optimised = run_on_arrays(circuit)
    if optimised is not None:
        expect_same(lower_arrays(optimised), lower(passes.run(graph, passes.BEFORE_TRAINING)))
    return optimised is not None


@given(seed=SEEDS, share=st.sampled_from([0.0, 0.2, 0.5]))
def test_random_circuits_give_the_same_program(seed: int, share: float) -> None:
    graph = random_circuit(seed, variables=6, depth=6, share=share)
    lowered_both_ways(recorded(graph))


MERGES = [(merge_sums, merge.merge_sums), (merge_products, merge.merge_products)]


@pytest.mark.parametrize(("on_arrays", "on_graph"), MERGES)
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.3, 0.6]))
def test_nodes_are_merged_in_the_same_order(on_arrays, on_graph, seed: int, share: float) -> None:
    graph = random_circuit(seed, variables=4, depth=7, share=share)
    expect_same(lower_arrays(on_arrays(arrays_of(graph))), lower(on_graph(graph.copy())))


@pytest.mark.parametrize(
    ("learner", "options", "count"),
    [
        ("extra-spn", {"min_instances": 10}, 3),
        ("extra-spn", {"min_instances": 20}, 1),
        ("learn-spn", {"min_instances": 30}, 2),
        ("hclt", {"states": 4}, 2),
        ("chow-liu", {}, 1),
        ("rat-spn", {}, 2),
        ("decision-tree", {}, 2),
        ("continuous-mixture", {"points": 6, "steps": 3, "settling": 0}, 2),
        ("kernel-density", {}, 1),
    ],
)
def test_learners_give_the_same_program(
    learner: str, options: dict[str, object], count: int
) -> None:
    rng = np.random.default_rng(0)
    columns = random_columns(rng, 7, binary_only=True)
    hidden = rng.random((200, 1)) < 0.5
    values = (rng.random((200, 7)) < np.where(hidden, 0.2, 0.7)).astype(float)
    dataset = Dataset("made", tuple(columns), {"train": Table(values)})
    component = Component(learner=LEARNERS[learner](**options), count=count)
    forest = grow([component], dataset, smoothing=Smoothing(), seed=1, sink=Sink())
    builder = forest.builder
    origin, names = (
        builder.recorded[-1].origin,
        range(builder.recorded[-1].first, builder.next_name),
    )
    piece, again = (stored_nodes(b, names, origin) for b in (builder, graph_of(builder)))
    assert piece is not None
    assert again is not None
    assert piece.about == again.about
    for name, array in piece.arrays.items():
        assert array.dtype == again.arrays[name].dtype
        assert array.tobytes() == again.arrays[name].tobytes()
    put_top_sum(forest)
    assert lowered_both_ways(builder)


@given(seed=SEEDS)
def test_a_hidden_tree_gives_the_same_program(seed: int) -> None:
    columns = random_columns(np.random.default_rng(seed), 5, binary_only=True)
    assert lowered_both_ways(recorded(hidden_tree(columns, 3, seed)))


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda f: f.__name__)
@given(seed=SEEDS)
def test_what_is_proved_on_arrays_is_valid(corrupt, seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5)
    corrupt(graph, np.random.default_rng(seed))
    if any(not isinstance(d.get("weight", 0.0), float) for _, _, d in graph.edges(data=True)):
        return  # cannot be recorded
    circuit = recorded_circuit(recorded(graph)) if graph.graph.get("root") in graph else None
    sink = Sink()
    checks.check(graph, sink)
    if circuit is not None and is_plainly_valid(circuit):
        assert sink.diagnostics == []


@pytest.mark.parametrize(("products", "weights"), [(2, [1.0, 0.0]), (1, [0.5, 0.5])])
def test_weights_of_zero_and_equal_products_are_left_to_the_graph(
    products: int, weights: list[float]
) -> None:
    builder = Builder([Column("a"), Column("b")])
    leaves = [Leaf(i % 2, Bernoulli(0.25)) for i in range(2 * products)]
    first = len(leaves)
    below = [(first + i // 2, i % len(leaves), None) for i in range(4)]
    top = [(first + 2, first + i, weight) for i, weight in enumerate(weights)]
    builder.extend([*leaves, Product(), Product(), Sum()], [*below, *top])
    builder.declare_root(first + 2)
    circuit = recorded_circuit(builder)
    assert circuit is not None
    assert is_plainly_valid(circuit)
    assert run_on_arrays(circuit) is None


@given(lists=LISTS)
def test_equal_lists_have_the_same_number(lists: list[list[int]]) -> None:
    members = np.array([m for own in lists for m in own], dtype=np.int64)
    ragged = RaggedArray.of(np.array([len(own) for own in lists], dtype=np.int64), members)
    known: dict[tuple[int, ...], int] = {}
    expected = [known.setdefault(tuple(own), len(known)) for own in lists]
    found = number_lists(ragged)
    assert found.numbers.tolist() == expected
    assert [expected.index(i) for i in range(len(known))] == found.firsts.tolist()


@given(lists=LISTS)
def test_equal_sets_have_the_same_number(lists: list[list[int]]) -> None:
    lists = [list(dict.fromkeys(own)) for own in lists]
    members = np.array([m for own in lists for m in own], dtype=np.int64)
    ragged = RaggedArray.of(np.array([len(own) for own in lists], dtype=np.int64), members)
    known: dict[frozenset[int], int] = {}
    expected = [known.setdefault(frozenset(own), len(known)) for own in lists]
    assert number_sets(ragged).numbers.tolist() == expected


def test_lists_with_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnc.common.equal_lists._spread", lambda numbers: 0 * numbers)
    ragged = RaggedArray.of(np.array([2, 2, 1, 2]), np.array([3, 4, 4, 3, 3, 3, 4]))
    assert number_lists(ragged).numbers.tolist() == [0, 1, 2, 0]
    assert number_sets(ragged).numbers.tolist() == [0, 0, 1, 0]
