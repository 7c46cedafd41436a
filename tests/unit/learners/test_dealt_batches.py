"""Mini-batches of all rows of a table in partitions: which rows, and the bits of a fit to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.common.savepoints import Piece, UnusableError
from spnc.common.threads import ThreadTeam
from spnc.data.columns import Column
from spnc.data.parted import PartedTable, PartInMemory, stacked
from spnc.data.table import Table
from spnc.graph.nodes import Graph
from spnc.learners.continuous_mixture import dealt_batches, mixture_fit
from spnc.learners.continuous_mixture.dealt_batches import DealtBatches, DealtRows, shares
from spnc.learners.continuous_mixture.decoder import Decoder
from spnc.learners.continuous_mixture.imputation import Imputation
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.objective import Gradient, Objective
from tests.circuits import probability
from tests.learning_tasks import binary, learning_task

SMALL = ContinuousMixture(points=6, latent=2, width=4, steps=9, settling=5, batch_rows=40)


def parted(tables: list[Table], sample: Table | None = None) -> PartedTable:
    """These tables as partitions; the sample is the first unless another is given."""
    rows = sum(table.rows for table in tables)
    total = sum(table.total for table in tables)
    parts = tuple(PartInMemory(table.distinct()) for table in tables)
    return PartedTable(parts, sample or tables[0], rows, total)


def dealt(table: PartedTable, columns: list[Column]) -> tuple[DealtRows, LogLinearTree]:
    """Rows to draw batches from, and a tree without edges, whose cells are equally likely."""
    tree = LogLinearTree.of(columns, [])
    tables = [np.full((1, column.states), 1.0 / column.states) for column in columns]
    return DealtRows(table, Imputation(tree, tables)), tree


class Recording:
    """In place of an objective: records rows and their weights."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self.weights: list[np.ndarray] = []

    def gradient(self, *arguments: Any) -> Gradient:
        """Record the rows of a chunk."""
        self.rows.append(arguments[3])
        self.weights.append(arguments[4])
        return Gradient([], np.zeros((1, 1), np.float32), np.zeros(1, np.float32))


NOWHERE: Any = (None, np.zeros((1, 1), np.float32), np.zeros(1, np.float32))


def numbered(times: list[list[int]]) -> tuple[PartedTable, list[Column]]:
    """Partitions of rows that are numbered, each as often as `times` says."""
    ends = np.cumsum([0, *(len(some) for some in times)])
    tables = [
        Table(np.arange(first, first + len(some))[:, None].astype(float), np.array(some, float))
        for first, some in zip(ends, times, strict=False)
    ]
    return parted(tables), [Column("a", "categorical", max(2, int(ends[-1])))]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    times=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=4),
    size=st.integers(1, 9),
    block=st.integers(1, 30),
    run=st.integers(1, 7),
)
def test_every_epoch_has_every_row_as_often_as_it_occurs(
    seed: int, times: list[list[int]], size: int, block: int, run: int
) -> None:
    table, columns = numbered(times)
    total = int(table.total)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealt_batches, "BLOCK_CELLS", block)
        patch.setattr(dealt_batches, "RUN_ROWS", run)
        patch.setattr(dealt_batches, "CHUNK_ROWS", 2)
        patch.setattr(dealt_batches, "CHUNK_PRODUCTS", 0)
        rows, tree = dealt(table, columns)
        batches = DealtBatches(rows, tree, 1, size, 100, np.random.default_rng(seed))
        size = min(size, total)
        for _ in range(2):
            seen, objective = np.zeros(total), Recording()
            for _ in range(total // size):
                batches.gradient(objective, *NOWHERE)  # type: ignore[arg-type]
            assert len(objective.rows) == batches.chunks * (total // size)
            for codes, weights in zip(objective.rows, objective.weights, strict=True):
                np.add.at(seen, codes[:, 0], weights * size)
            occurs = np.concatenate(times)
            assert (seen[: len(occurs)] <= occurs + 1e-3).all()
            assert seen.sum() == pytest.approx(total // size * size, abs=1e-3)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(0, 99), st.data())
def test_a_run_gives_its_exact_share_rounded(left: list[int], seed: int, data: Any) -> None:
    total = sum(left)
    if total == 0:
        return
    wanted = data.draw(st.integers(0, total))
    found = shares(left, wanted, np.random.default_rng(seed))
    assert sum(found) == wanted
    for rows, own in zip(left, found, strict=True):
        assert wanted * rows // total <= own <= -(-wanted * rows // total)
        assert own <= rows


def test_a_step_of_a_sorted_table_has_rows_of_all_partitions() -> None:
    """Every batch has each partition's share, but for chance."""
    table, columns = numbered([[1] * 300, [1] * 100, [1] * 200])
    rows, tree = dealt(table, columns)
    batches = DealtBatches(rows, tree, 1, 60, 30, np.random.default_rng(1))
    objective = Recording()
    for _ in range(30):
        batches.gradient(objective, *NOWHERE)  # type: ignore[arg-type]
    drawn = np.array([np.bincount(np.digitize(c[:, 0], [300, 400])) for c in objective.rows])
    assert (drawn.min(axis=0) >= [15, 1, 5]).all()
    np.testing.assert_allclose(drawn.mean(axis=0), [30, 10, 20], atol=2.0)


def problem(seed: int = 0) -> tuple[list[Column], list[Table]]:
    """Columns, and three partitions with missing cells, each of rows of its own kind."""
    rng = np.random.default_rng(seed)
    columns = [Column(f"c{i}", "categorical", 2 + i % 3) for i in range(6)]
    states = np.array([column.states for column in columns])
    tables = []
    for favourite in range(3):
        codes = np.where(rng.random((150, 6)) < 0.7, favourite, rng.integers(4, size=(150, 6)))
        values = (codes % states).astype(float)
        values[rng.random(values.shape) < 0.05] = np.nan
        tables.append(Table(values))
    return columns, tables


def fitted(
    monkeypatch: pytest.MonkeyPatch, *, threads: int = 1, least: int = 12, seed: int = 3
) -> Graph:
    """Return what is learned from all rows of the problem. A chunk has at least `least` rows."""
    columns, tables = problem()
    with monkeypatch.context() as patch:
        patch.setattr(mixture_fit, "thread_count", lambda _: threads)
        patch.setattr(dealt_batches, "CHUNK_ROWS", least)
        patch.setattr(dealt_batches, "CHUNK_PRODUCTS", 0)
        patch.setattr("spnc.learners.continuous_mixture.objective.ROWS_AT_ONCE", 4)
        patch.setattr("spnc.learners.continuous_mixture.objective.POINTS_AT_ONCE", 2)
        task = replace(learning_task(columns, tables[0], seed), all_rows=parted(tables))
        task.builder.graph.graph["root"] = SMALL.learn(task)
    return task.builder.graph


def weights_of(graph: Graph) -> list[float]:
    return [w for _, _, w in graph.edges(data="weight") if w is not None]


def test_the_number_of_threads_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert weights_of(fitted(monkeypatch, threads=1)) == weights_of(fitted(monkeypatch, threads=3))


def test_chunks_add_up_to_the_gradient_of_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, tables = problem()
    tree = LogLinearTree.of(columns, [(0, 1), (1, 2), (1, 3), (3, 4), (0, 5)])
    rng = np.random.default_rng(2)
    decoder = Decoder.random(2, (4, 5), rng.standard_normal(tree.logits).astype(np.float32), rng)
    points = rng.standard_normal((2, 7)).astype(np.float32)
    log_weights = np.log(rng.dirichlet(np.ones(7))).astype(np.float32)
    found = []
    for least in (1000, 30):
        monkeypatch.setattr(dealt_batches, "CHUNK_ROWS", least)
        monkeypatch.setattr(dealt_batches, "CHUNK_PRODUCTS", 0)
        rows, _ = dealt(parted(tables), columns)
        batches = DealtBatches(rows, tree, 7, 150, 2, np.random.default_rng(5))
        assert batches.chunks == (1 if least == 1000 else 5)
        found.append(batches.gradient(Objective(tree, ThreadTeam(1)), decoder, points, log_weights))
    whole, chunks = found
    pairs = zip([*whole.arrays, whole.points], [*chunks.arrays, chunks.points], strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(whole.shares, chunks.shares, rtol=1e-4, atol=1e-6)
    assert float(chunks.shares.sum()) == pytest.approx(1.0, abs=1e-5)


def test_rows_that_are_not_in_the_sample_are_learned() -> None:
    """Half of the rows are of a kind that the sample has none of."""
    rng = np.random.default_rng(4)
    kinds = [(rng.random((400, 8)) < share).astype(float) for share in (0.1, 0.9)]
    tables = [Table(values) for values in kinds]
    learner = ContinuousMixture(points=16, latent=2, width=8, steps=200, settling=40)
    columns, average = binary(8), []
    for rows in (None, parted(tables)):
        task = replace(learning_task(columns, tables[0], 1), all_rows=rows)
        graph = task.builder.graph
        graph.graph["root"] = learner.learn(task)
        distinct = stacked(tables).distinct()
        logs = [np.log(probability(graph, row)) for row in distinct.values]
        average.append(float(np.average(logs, weights=distinct.weights)))
    assert average[1] > average[0] + 1.0


@pytest.mark.parametrize(
    "forged",
    [
        {"left": np.array([1])},
        {"left": np.array([9, 9])},
        {"left": np.array([-1, 2])},
        {"left": np.array([1.0, 2.0])},
        {"epoch": "x"},
        {"epoch": -1},
        {"taken": 99},
        {"taken": None},
    ],
)
def test_a_state_of_other_rows_is_refused(forged: dict[str, Any]) -> None:
    table, columns = numbered([[1, 1], [2, 3]])
    rows, tree = dealt(table, columns)
    batches = DealtBatches(rows, tree, 1, 2, 9, np.random.default_rng(0))
    about, arrays = (dict(part) for part in batches.stored())
    batches.take_up(Piece(about, arrays))
    for name, value in forged.items():
        (arrays if name in arrays else about)[name] = value
    with pytest.raises((LookupError, TypeError, ValueError)) as error:
        batches.take_up(Piece(about, arrays))
    assert not isinstance(error.value, UnusableError)
