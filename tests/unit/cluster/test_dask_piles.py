"""Decoders that are fitted on a Dask cluster: the bits of one process, whatever workers die."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.cluster.connection import connected
from spnc.learners.continuous_mixture import dealt_batches
from spnc.model import to_bytes

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

MIXTURE = {"learner": "continuous-mixture", "points": 8, "steps": 8, "settling": 4}
SPEC = {
    "model": "parts",
    "data": {"split": [0.8, 0.1, 0.1], "partition_rows": 150},
    "forest": [{**MIXTURE, "batch_rows": 100}],
    "optimizer": {"max_iterations": 1},
    "backend": "numpy",
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connected("local:2") as found:
        yield found


@pytest.fixture(autouse=True)
def _chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small batches be divided, and blocks be short."""
    monkeypatch.setattr(dealt_batches, "CHUNK_ROWS", 30)
    monkeypatch.setattr(dealt_batches, "CHUNK_PRODUCTS", 0)
    monkeypatch.setattr(dealt_batches, "BLOCK_CELLS", 4 * 100 * 10)


@pytest.fixture(scope="module")
def rows() -> dict[str, np.ndarray]:
    """A sorted table with missing cells."""
    rng = np.random.default_rng(3)
    group = np.sort(rng.integers(3, size=700))
    table = {}
    for column in range(10):
        states = np.where(rng.random(700) < 0.6, group, rng.integers(3, size=700)).astype(float)
        states[rng.random(700) < 0.03] = np.nan
        table[f"c{column}"] = states
    return table


def test_workers_give_the_bits_of_one_process(client: Any, rows: Any) -> None:
    alone = to_bytes(spnc.train(SPEC, data=rows).model)
    assert to_bytes(spnc.train(SPEC, data=rows, client=client).model) == alone
    with connected("local:1") as single:
        assert to_bytes(spnc.train(SPEC, data=rows, client=single).model) == alone


def test_workers_give_the_bits_of_one_process_for_numbers(client: Any, rows: Any) -> None:
    numbers = {f"x{i}": rows[f"c{i}"] + np.linspace(0.0, 1.0, 700).round(2) for i in range(3)}
    mixed = {**rows, **numbers}
    alone = to_bytes(spnc.train(SPEC, data=mixed).model)
    assert to_bytes(spnc.train(SPEC, data=mixed, client=client).model) == alone


def test_partitions_in_files_give_the_same_bits(client: Any, rows: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = zip(*(column.tolist() for column in rows.values()), strict=True)
    text = [",".join("" if x != x else f"s{x:.0f}" for x in line) for line in lines]
    path.write_text("\n".join([",".join(rows), *text]) + "\n")
    spec = {**SPEC, "data": {**SPEC["data"], "source": str(path)}}  # type: ignore[dict-item]
    alone = to_bytes(spnc.train(spec).model)
    assert to_bytes(spnc.train(spec, client=client).model) == alone


def test_a_batch_that_is_not_divided_is_computed_here(
    client: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealt_batches, "CHUNK_ROWS", 100)
    alone = to_bytes(spnc.train(SPEC, data=rows).model)
    assert to_bytes(spnc.train(SPEC, data=rows, client=client).model) == alone


@pytest.mark.parametrize("after", [1, 6])
def test_a_worker_that_is_killed_changes_no_bit(
    client: Any, rows: Any, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    from spnc.cluster.dask_piles import DaskPiles

    alone = to_bytes(spnc.train(SPEC, data=rows).model)
    summed, sums = DaskPiles._summed, []

    def killing(self: DaskPiles, *arguments: Any) -> Any:
        sums.append(1)
        if len(sums) == after:
            os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
        return summed(self, *arguments)

    monkeypatch.setattr(DaskPiles, "_summed", killing)
    assert to_bytes(spnc.train(SPEC, data=rows, client=client).model) == alone
    assert len(sums) > after


def test_components_that_read_all_partitions_are_not_sent_to_workers(
    client: Any, rows: Any
) -> None:
    """Several components: the others are learned by workers meanwhile, and all have their bits."""
    forest = [*SPEC["forest"], {"learner": "extra-spn", "count": 2}, {**MIXTURE, "bootstrap": True}]
    spec = {**SPEC, "forest": forest}
    alone = to_bytes(spnc.train(spec, data=rows).model)
    assert to_bytes(spnc.train(spec, data=rows, n_jobs=2).model) == alone
    assert to_bytes(spnc.train(spec, data=rows, client=client).model) == alone
