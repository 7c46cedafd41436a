"""The parts of the compiled engine: projections, dense blocks, threads, compilation."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import event

from spnc.backends.numba import first_use, upper_bounds
from spnc.backends.numba.dense import dense_blocks
from spnc.backends.numba.engine import CpuEngine
from spnc.backends.planning.compiling import CompileCounter, _sealed
from spnc.backends.planning.encoding import encode
from spnc.backends.planning.program_index import ProgramIndex
from spnc.backends.planning.projections import first_rows, pack, project
from spnc.common.ragged_array import RaggedArray
from spnc.common.threads import shares, thread_count
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.indicator import Indicator
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from tests.circuits import (
    all_states,
    hidden_tree,
    random_circuit,
    random_columns,
    random_rows,
    repeated_rows,
)
from tests.places import ROOT

SEEDS = st.integers(0, 10**6)


def codes_of(seed: int, columns: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    states = rng.integers(1, 5, size=columns)
    return (rng.integers(0, 10**6, (columns, rows)) % states[:, None]).astype(np.uint16), states


@given(seed=SEEDS, data=st.data())
def test_projections_are_numbered_by_first_appearance(seed: int, data: st.DataObject) -> None:
    codes, states = codes_of(seed, 6, 40)
    columns = np.array(sorted(data.draw(st.sets(st.integers(0, 5), min_size=1))))
    rows = np.array(data.draw(st.lists(st.integers(0, 39), min_size=1, unique=True)), np.uint32)
    keys = [tuple(codes[columns, r].tolist()) for r in rows]
    expected = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    ids = np.empty(len(rows), dtype=np.uint16)
    assert project(codes, states, columns, rows, len(rows), ids) == len(expected)
    assert ids.tolist() == [expected[key] for key in keys]
    first = first_rows(ids, len(expected), rows)
    assert [tuple(codes[columns, r].tolist()) for r in first] == list(expected)
    if len(expected) > 1:
        assert project(codes, states, columns, rows, len(expected) - 1, ids) == -1


@given(seed=SEEDS, limit=st.integers(1, 30))
def test_packed_groups_stay_below_the_limit_and_cannot_be_joined(seed: int, limit: int) -> None:
    codes, states = codes_of(seed, 8, 60)
    rows = np.arange(60, dtype=np.uint32)
    groups = pack(codes, states, np.arange(9), np.arange(8), rows, limit)
    assert groups[0] == 0
    assert set(np.diff(groups)) <= {0, 1}

    def distinct(columns: np.ndarray) -> int:
        return len({tuple(codes[columns, r].tolist()) for r in rows})

    for g in range(groups[-1] + 1):
        own = np.flatnonzero(groups == g)
        assert len(own) == 1 or distinct(own) <= limit
        if g < groups[-1]:
            assert distinct(np.append(own, own[-1] + 1)) > limit


def test_sums_that_share_all_children_are_a_block() -> None:
    shared, other = np.arange(32), np.arange(1, 33)
    lists = [shared, shared[::-1]] * 4 + [other] * 7
    below = RaggedArray.of(np.full(15, 32), np.concatenate(lists))
    (block,) = dense_blocks(np.arange(40, 55), below)
    assert block.sums.tolist() == list(range(40, 48))
    assert block.children.tolist() == shared.tolist()
    for own, places in zip(lists, block.places, strict=False):
        assert (own[places] == shared).all()


def test_missing_values_are_a_state_of_their_own() -> None:
    columns = (Column("a"), Column("b", "categorical", 3))
    builder = Builder(columns)
    builder.product(
        [builder.leaf(0, Bernoulli(0.5)), builder.leaf(1, Categorical((0.2, 0.3, 0.5)))]
    )
    index = ProgramIndex(lower(builder.graph)[0])
    codes = encode(index, Table(np.array([[0.0, np.nan], [1.0, 2.0]]))).codes
    assert codes.tolist() == [[0, 1], [3, 2]]


def test_a_column_of_very_many_states_is_computed_row_by_row() -> None:
    states = 70_000
    builder = Builder((Column("a", "categorical", states),))
    weights = np.arange(1.0, states + 1)
    weights /= weights.sum()
    builder.leaf(0, Categorical(tuple(weights.tolist())))
    program, parameters = lower(builder.graph)
    engine: CpuEngine = BACKENDS["numba"](plan_rows=0).open(program)
    batch = engine.load(Table(np.array([[0.0], [69_999.0], [np.nan]])))
    assert batch.executor is None
    expected = [np.log(weights[0]), np.log(weights[-1]), 0.0]
    assert engine.log_likelihood(parameters, batch) == pytest.approx(expected)


@pytest.mark.parametrize(("tiny", "twice"), [(0.3, False), (1e-200, True)])
def test_zeros_of_indicators_lose_nothing_but_small_numbers_do(
    monkeypatch: pytest.MonkeyPatch, tiny: float, twice: bool
) -> None:
    columns = tuple(Column(f"c{i}") for i in range(3))
    builder = Builder(columns)
    parts = [
        builder.product(
            [builder.leaf(0, Indicator(state)), *(builder.leaf(c, Bernoulli(p)) for c in (1, 2))]
        )
        for state, p in ((0.0, tiny), (1.0, 0.6))
    ]
    builder.sum(parts, [0.5, 0.5])
    program, parameters = lower(builder.graph)
    table = Table(np.vstack([all_states(columns)[:-1]] * 8))
    calls = []
    computed = upper_bounds.rows_upper_bound

    def from_above(*arguments: Any) -> None:
        calls.append(arguments)
        computed(*arguments)

    monkeypatch.setattr(upper_bounds, "rows_upper_bound", from_above)
    engine: CpuEngine = BACKENDS["numba"](plan_rows=0).open(program)
    found = engine.log_likelihood(parameters, engine.load(table))
    assert bool(calls) == twice
    numpy = BACKENDS["numpy"]().open(program)
    assert found == pytest.approx(numpy.log_likelihood(parameters, numpy.load(table)))


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_shares_cover_everything_in_order(parts: int) -> None:
    up_to = np.concatenate([[0], np.cumsum([5, 1, 1, 1, 50, 1])])
    found = shares(up_to, parts)
    assert len(found) == parts + 1
    assert (found[0], found[-1]) == (0, 6)
    assert found == sorted(found)


def test_the_usual_variables_say_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert thread_count(None) == 3
    monkeypatch.setenv("NUMBA_NUM_THREADS", "5")
    assert thread_count(None) == 5
    assert thread_count(7) == 7
    for nonsense in ("", "0", "many"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", nonsense)
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert thread_count(None) >= 1


def test_an_empty_table_has_no_score_and_no_counts() -> None:
    graph = random_circuit(1)
    program, parameters = lower(graph)
    engine: Any = BACKENDS["numba"](plan_rows=0).open(program)
    batch = engine.load(Table(np.zeros((0, len(graph.graph["columns"])))))
    assert engine.log_likelihood(parameters, batch).shape == (0,)
    assert engine.expected_counts(parameters, batch).weights.sum() == 0.0


def test_kernels_that_are_compiled_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int | None]] = []

    def compiling(dense: bool, numbers: bool, report: Callable[[int], None]) -> None:
        assert not dense
        assert not numbers
        listener = CompileCounter(report)
        for module in (
            "spnc.backends.numba.kernels",
            "numba.np.linalg",
            "spnc.backends.numba.upper_bounds",
        ):
            function = SimpleNamespace(__module__=module)
            listener.on_start(
                SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})
            )

    monkeypatch.setattr(first_use, "compile_kernels", compiling)
    program, _ = lower(random_circuit(1))
    BACKENDS["numba"]().prepare(program, lambda *progress: told.append(progress))
    assert [done for _, done, _ in told] == [1, 2]
    assert all("compiling" in label for label, _, _ in told)


def test_a_second_use_compiles_nothing() -> None:
    """What the first use leaves out would be compiled in the midst of a training."""
    compiled: list[int] = []
    first_use.compile_kernels(True, True, lambda _: None)
    rng = np.random.default_rng(0)
    with event.install_listener("numba:compile", CompileCounter(compiled.append)):
        for graph in (
            random_circuit(3, variables=12, depth=8, share=0.4, extremes=True),
            random_circuit(3, variables=12, depth=8, share=0.4, extremes=True, numeric=0.5),
            hidden_tree(random_columns(rng, 12, binary_only=True), 16, 1),
        ):
            own = graph.graph["columns"]
            for table in (
                repeated_rows(1, own, 900, 0.1),
                repeated_rows(1, own, 20, 0.0),
                Table(random_rows(1, own, 90, 0.1)),
            ):
                for plan_rows in (0, 10**9):
                    program, parameters = lower(graph)
                    engine: CpuEngine = BACKENDS["numba"](plan_rows=plan_rows).open(program)
                    batch = engine.load(table)
                    engine.log_likelihood(parameters, batch)
                    engine.expected_counts(parameters, batch)
    assert compiled == []


def test_kernels_just_compiled_and_kernels_read_from_disk_give_the_same_bits(
    tmp_path: Path,
) -> None:
    script = (
        "import hashlib, spnc\n"
        "run = spnc.train('specs/quickstart.yaml', ['optimizer.max_iterations=3'])\n"
        "print(hashlib.sha256(run.fitted.parameters.weights.tobytes()).hexdigest())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    found = [
        subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbi"))
    assert found[0] == found[1]


def test_a_cache_that_cannot_be_used_is_written_anew(tmp_path: Path) -> None:
    source = tmp_path / "twice.py"
    source.write_text(
        "from spnc.backends.planning.compiling import kernel\n\n"
        "@kernel\ndef twice(x):\n    return 2 * x\n"
    )
    script = "import twice; print(twice.twice(21), sum(twice.twice.stats.cache_hits.values()))"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    environment.pop("NUMBA_CACHE_DIR", None)

    def run() -> list[str]:
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert run() == ["42", "0"]
    assert run() == ["42", "1"]
    (index,), (data,) = tmp_path.rglob("*.nbi"), tmp_path.rglob("*.nbc")
    moved = b"cspnc.no_such_module\nLinks\n."  # a pickle of a type that was moved since
    index.write_bytes(pickle.dumps(numba.__version__, protocol=-1) + _sealed(moved))
    assert run() == ["42", "0"]
    content = data.read_bytes()
    middle = len(content) // 2
    changed = bytes([content[middle] ^ 1])  # of machine code, perhaps
    for file, damaged in (
        (index, index.read_bytes()[:-1]),
        (index, b"\xff" + index.read_bytes()[1:]),  # before what numba seals: its version
        (data, content[:middle]),
        (data, content[:middle] + changed + content[middle + 1 :]),
    ):
        file.write_bytes(damaged)
        assert run() == ["42", "0"]
    assert run() == ["42", "1"]
