"""Facts about a run, compared with slow and obvious ways to compute them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.cli import main
from spnc.common.observer import Observer
from spnc.common.sealed import sealed_json
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.debd import fetch
from spnc.data.images import asked_shape, shape_of
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.data.table import Table
from spnc.diagnostics import InputError, Sink
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.registry import BACKENDS
from spnc.reports.facts.gather import Facts, gather
from spnc.reports.facts.reading import read_run
from spnc.reports.facts.rows import _histogram, log_likelihoods, rows_fit, some_rows
from spnc.reports.facts.samples import nearest_rows, samples_fit
from spnc.reports.page import samples
from tests.circuits import (
    all_states,
    random_circuit,
    random_columns,
    random_rows,
)
from tests.pages import opened
from tests.places import SHARED_DATA

# ---- rows ----------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_worst_rows_are_the_lowest_and_their_cells_the_least_probable(seed: int) -> None:
    graph = random_circuit(seed, variables=4)
    model = opened(graph)
    values = random_rows(seed, model.columns, 40, 0.1)
    dataset = Dataset("some", model.columns, {"train": Table(values[:10]), "test": Table(values)})
    found = rows_fit(model, dataset, None, 1000)
    assert found.split == "test"
    every = model.log_likelihood(values)
    distinct = np.unique(np.nan_to_num(values, nan=-1.0), axis=0, return_index=True)[1]
    lowest = np.sort(every[distinct])[: len(found.worst)]
    np.testing.assert_allclose([row.log_likelihood for row in found.worst], lowest)
    for row in found.worst:
        np.testing.assert_array_equal(values[row.number - 1], row.values)
        known = [c.log_probability for c in row.cells if c.log_probability is not None]
        assert known == sorted(known)
        assert all(row.values[c.column] == c.value for c in row.cells)
    assert found.median == pytest.approx(np.median(every))


def test_a_cell_that_only_it_makes_the_row_improbable_is_named_first() -> None:
    builder = Builder([Column(f"x{i}") for i in range(4)])
    sides = [
        builder.product([builder.leaf(v, Bernoulli(p)) for v in range(4)]) for p in (0.02, 0.98)
    ]
    builder.graph.graph["root"] = builder.sum(sides, [0.5, 0.5])
    model = opened(builder.graph)
    rows = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1.0]])
    dataset = Dataset("some", model.columns, {"train": Table(rows)})
    worst = rows_fit(model, dataset, None, 100).worst[0]
    assert worst.number == 3
    assert worst.cells[0].column == 2
    states = all_states(model.columns)
    chances = np.exp(model.log_likelihood(states))
    fits = (states[:, [0, 1, 3]] == 1).all(axis=1)
    own = chances[fits & (states[:, 2] == 0)].sum() / chances[fits].sum()
    assert worst.cells[0].log_probability == pytest.approx(math.log(own))


def test_an_impossible_row_comes_first() -> None:
    builder = Builder([Column("a"), Column("b")])
    builder.graph.graph["root"] = builder.product(
        [builder.leaf(0, Bernoulli(1.0)), builder.leaf(1, Bernoulli(0.5))]
    )
    model = opened(builder.graph)
    dataset = Dataset("some", model.columns, {"train": Table(np.array([[1, 1], [0, 1.0]]))})
    found = rows_fit(model, dataset, None, 100)
    assert found.impossible == 1
    worst = found.worst[0]
    assert (worst.number, worst.log_likelihood) == (2, -math.inf)
    assert (worst.cells[0].column, worst.cells[0].log_probability) == (0, -math.inf)


def test_some_rows_are_the_same_every_time_and_know_where_they_stood() -> None:
    table = Table(np.arange(100.0)[:, None])
    few, places = some_rows(table, 10, "flow")
    assert few.values[:, 0].tolist() == places.tolist() == sorted(places.tolist())
    assert some_rows(table, 10, "flow")[1].tolist() == places.tolist()
    assert some_rows(table, 10, "pairs")[1].tolist() != places.tolist()
    assert some_rows(table, 100, "flow")[0] is table


@given(seed=st.integers(0, 1000))
def test_the_nearest_row_is_the_one_that_counting_finds(seed: int) -> None:
    columns = tuple(random_columns(np.random.default_rng(seed), 5))
    rows, among = (random_rows(seed + k, columns, n, 0.2) for k, n in enumerate((6, 15)))
    distances, nearest = nearest_rows(rows, among)
    for row, distance, place in zip(rows, distances, nearest, strict=True):
        apart = []
        for other in among:
            sum_ = 0.0
            for own, its, column in zip(row, other, among.T, strict=True):
                there = column[~np.isnan(column)]
                if np.isnan(own):
                    sum_ += np.mean(there[:, None] != there) if len(there) else 1.0
                elif np.isnan(its):
                    sum_ += np.mean(there != own) if len(there) else 0.0
                else:
                    sum_ += own != its
            apart.append(sum_)
        assert distance == pytest.approx(min(apart))
        assert distance == pytest.approx(apart[place])


def test_a_row_of_which_little_is_known_is_near_to_none() -> None:
    nan = math.nan
    among = np.array([[nan] * 5 + [1.0], [nan, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1]])
    rows = np.array([[0, 0, 0, 0, 1, 1], [1, 0, 1, 1, 1, 0], [1, 1, 0, 0, 0, 1.0]])
    distances, nearest = nearest_rows(rows, among)
    assert nearest.tolist() == [2, 1, 2]
    assert distances.tolist() == [1, 1, 4]


def test_only_a_row_with_all_its_cells_can_be_copied() -> None:
    builder = Builder([Column(f"x{i}") for i in range(3)])
    builder.graph.graph["root"] = builder.product(
        [builder.leaf(v, Bernoulli(1.0)) for v in range(3)]
    )
    model = opened(builder.graph)
    gaps = Dataset("some", model.columns, {"train": Table(np.array([[math.nan, 1, 1]]))})
    found = samples_fit(model, gaps, seed=1)
    assert (found.copies, found.missing) == (0, True)
    assert "none of the drawn rows is equal" in samples._finding(found)
    rows = np.array([[math.nan, 1, 1], [1, 1, 1]])
    whole = Dataset("some", model.columns, {"train": Table(rows)})
    assert samples_fit(model, whole, seed=1).copies == 32


def test_samples_are_those_of_the_seed_and_compared_with_rows_that_training_did_not_see() -> None:
    graph = random_circuit(4, variables=6)
    model = opened(graph)
    splits = {n: Table(model.sample(30, k).cells) for k, n in enumerate(("train", "valid", "test"))}
    found = samples_fit(model, Dataset("some", model.columns, splits), seed=5)
    np.testing.assert_array_equal(found.values, model.sample(32, 5).cells)
    np.testing.assert_allclose(found.log_likelihoods, log_likelihoods(model, Table(found.values)))
    assert found.real == "test"
    assert len(found.real_distances) == 30


# ---- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        ([f"pixel_{r}_{c}" for r in range(3) for c in range(4)], (3, 4)),
        ([f"{r}x{c}" for r in range(1, 3) for c in range(1, 3)], (2, 2)),
        ([f"pixel{i}" for i in range(9)], (3, 3)),
        ([f"PX-{i}" for i in range(1, 5)], (2, 2)),
        ([f"pixel{i}" for i in range(10)], None),  # no square
        ([f"pixel_{r}_{c}" for r in range(3) for c in range(4)][:-1], None),  # a hole
        ([f"q{r}_{c}" for r in range(3) for c in range(3)], None),  # questions of a survey
        ([f"x{i}" for i in range(64)], None),  # a square number alone says nothing
        (["pixel0"], None),
    ],
)
def test_rows_are_pictures_if_the_names_say_so(names: list[str], shape: object) -> None:
    found = shape_of([Column(name) for name in names])
    assert (None if found is None else (found.height, found.width)) == shape


def test_pixels_stand_where_their_names_say() -> None:
    names = [f"pixel_{r}_{c}" for c in range(2) for r in range(3)]  # column by column
    found = shape_of([Column(name) for name in names])
    assert found is not None
    assert found.places.tolist() == [0, 2, 4, 1, 3, 5]


def test_a_shape_that_does_not_fit_is_refused() -> None:
    sink = Sink()
    assert asked_shape(2, 2, [Column("a")], sink) is None
    assert [d.code for d in sink.diagnostics] == ["E604"]
    found = asked_shape(1, 2, [Column("a"), Column("b")], sink)
    assert found is not None
    assert (found.height, found.width) == (1, 2)


# ---- whole runs ----------------------------------------------------------------------------------

SPEC = """
model: small
data: {source: rows.csv, split: [0.6, 0.2, 0.2], split_seed: 3}
forest:
  - {learner: extra-spn, count: 3, min_instances: 20}
optimizer: {max_iterations: 6}
backend: numpy
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on a file of rows that are all different, so that each can be found again."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    values = (rng.random((200, 9)) < 0.4).astype(int)
    values = np.unique(values, axis=0)
    rng.shuffle(values)
    lines = [",".join(f"c{i}" for i in range(9)), *(",".join(map(str, r)) for r in values)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "small.yaml").write_text(SPEC)
    assert main(["train", "small.yaml", "--out", "run", "--quiet"]) == 0
    return tmp_path / "run"


def gathered(run: Path, **more: bool) -> Facts:
    sink = Sink()
    found = read_run(run, sink, Observer(), **more)
    sink.stop()
    assert found is not None
    found.model.backend = BACKENDS["numpy"]()
    return gather(found, None, Observer())


def test_rows_are_numbered_as_in_the_file_that_was_split(run: Path) -> None:
    facts = gathered(run)
    lines = (run.parent / "rows.csv").read_text().splitlines()[1:]
    assert facts.rows is not None
    assert facts.rows.numbered_in == "rows.csv"
    for row in facts.rows.worst:
        assert lines[row.number - 1] == ",".join(str(int(v)) for v in row.values)


def test_the_facts_of_a_run_are_those_of_its_metrics(run: Path) -> None:
    facts = gathered(run)
    dataset, model = facts.run.dataset, facts.run.model
    assert dataset is not None
    for name, split in facts.run.metrics["splits"].items():
        average = model.log_likelihood(dataset.splits[name].values).mean()
        assert average == pytest.approx(split["avg_ll"])
    assert facts.circuit.components == 3
    assert facts.circuit.rows == facts.circuit.all_rows == dataset.train.rows


def test_without_data_what_needs_none_is_still_told(run: Path) -> None:
    facts = gathered(run, with_data=False)
    assert (facts.columns, facts.pairs, facts.rows, facts.samples) == (None,) * 4
    assert facts.circuit.layers
    assert facts.run.no_data is not None


def test_data_that_is_lost_is_a_warning_and_other_data_an_error(run: Path) -> None:
    file = run.parent / "rows.csv"
    text = file.read_text()
    file.unlink()
    sink = Sink()
    found = read_run(run, sink, Observer())
    assert found is not None
    assert found.dataset is None
    assert [d.code for d in sink.diagnostics] == ["W601"]
    file.write_text(text.replace("\n0", "\n1", 1))
    sink = Sink()
    assert read_run(run, sink, Observer()) is None
    assert [d.code for d in sink.diagnostics] == ["E405"]
    assert "--no-data" in (sink.diagnostics[0].help or "")  # and nothing about training
    assert "train" not in (sink.diagnostics[0].help or "")
    with pytest.raises(InputError):
        sink.stop()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"model": 3}', '{"splits": {"train": {}}}', "[" * 100_000, "\0"],
)
def test_metrics_that_were_changed_are_reported(run: Path, text: str) -> None:
    (run / "metrics.json").write_text(text)
    sink = Sink()
    assert read_run(run, sink, Observer()) is None
    assert [d.code for d in sink.diagnostics] == ["E603"]


def test_a_run_without_its_curve_is_not_finished_even_if_a_checkpoint_is_there(run: Path) -> None:
    (run / "history.csv").unlink()
    sink = Sink()
    assert read_run(run, sink, Observer()) is None
    assert "has lost `history.csv`" in sink.diagnostics[0].message
    assert "--resume" not in (sink.diagnostics[0].help or "")
    (run / "checkpoint.safetensors").write_bytes(b"")
    sink = Sink()
    assert read_run(run, sink, Observer()) is None
    assert "is not finished" in sink.diagnostics[0].message
    assert "--resume`; `spnc plot history" in (sink.diagnostics[0].help or "")


def test_how_to_go_on_is_what_a_shell_understands(run: Path) -> None:
    moved = run.rename(run.parent / "my run")
    (moved / "model.spnc").unlink()
    sink = Sink()
    assert read_run(moved, sink, Observer()) is None
    assert sink.diagnostics[0].help == (  # without a checkpoint, nothing shows how far it is
        f"continue with `spnc train '{moved}/recipe.lock.yaml' --out '{moved}' --resume`"
    )
    words = ["--auto", "a table.csv", "--budget", "1min"]
    (moved / "search.json").write_bytes(sealed_json({"command": words}))
    sink = Sink()
    assert read_run(moved, sink, Observer()) is None
    assert sink.diagnostics[0].help == (
        f"continue with `spnc train --auto 'a table.csv' --budget 1min --out '{moved}' --resume`"
    )


def test_numbers_count_in_the_split_where_the_source_has_its_own() -> None:
    model = opened(random_circuit(1, variables=3))
    splits = {
        n: Table(random_rows(k, model.columns, 5, 0.0)) for k, n in enumerate(("train", "valid"))
    }
    found = rows_fit(model, Dataset("x", model.columns, splits), DataOptions(source="x"), 100)
    assert (found.split, found.numbered_in) == ("valid", "the validation rows")


def test_a_split_that_had_no_effect_gives_no_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    own = {n: rng.integers(2, size=(k, 3)) for n, k in (("train", 8), ("valid", 1), ("test", 1))}
    np.savez(tmp_path / "own.npz", **own)
    options = DataOptions(source=str(tmp_path / "own.npz"), split=(0.8, 0.1, 0.1))
    dataset = load(options, Sink())
    assert dataset is not None
    assert not dataset.cut
    builder = Builder(list(dataset.columns))
    leaves = [builder.leaf(v, Bernoulli(0.4)) for v in range(3)]
    builder.graph.graph["root"] = builder.product(leaves)
    found = rows_fit(opened(builder.graph), dataset, options, 100)
    assert (found.numbered_in, found.worst[0].number) == ("the test rows", 1)


@given(seed=st.integers(0, 1000), rows=st.integers(2, 900))
def test_of_few_rows_none_lies_outside_the_histogram(seed: int, rows: int) -> None:
    scores = np.random.default_rng(seed).normal(-20.0, 5.0, size=rows)
    edges, densities = _histogram({"test": scores})
    assert (edges[0], edges[-1]) == (scores.min(), scores.max())
    assert densities["test"].sum() * (edges[1] - edges[0]) == pytest.approx(1.0)


@pytest.mark.skipif(
    not (SHARED_DATA / "debd").is_dir(), reason="the DEBD datasets are not on this machine"
)
def test_on_nltcs_the_worst_rows_are_lines_of_its_test_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPNC_DATA", str(SHARED_DATA))
    spec = SPEC.replace("rows.csv, split: [0.6, 0.2, 0.2], split_seed: 3", "debd:nltcs")
    (tmp_path / "nltcs.yaml").write_text(spec.replace("min_instances: 20", "min_instances: 500"))
    run = tmp_path / "run"
    assert main(["train", str(tmp_path / "nltcs.yaml"), "--out", str(run), "--quiet"]) == 0
    facts = gathered(run)
    assert facts.rows is not None
    assert facts.columns is not None
    assert facts.rows.numbered_in == "the test rows"
    sink = Sink()
    contents = fetch("nltcs", sink, offline=True)
    assert contents is not None
    lines = contents["test"].decode().splitlines()
    for row in facts.rows.worst:
        assert lines[row.number - 1] == ",".join(str(int(v)) for v in row.values)
        assert sum(line == lines[row.number - 1] for line in lines) == row.times
    # EM on all rows ends with the marginals of the training rows, but for the prior.
    assert all(c.observed["train"].divergence < 1e-3 for c in facts.columns.columns)
    assert facts.run.metrics["splits"]["test"]["avg_ll"] > facts.columns.independent["test"] + 2
