"""The benchmark of growth: a circuit goes through all stages; parts are kept, costs are fitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scale
from benchmarks.scaling import extrapolation, overhead
from benchmarks.scaling.edges import Measured, Stage, measured, page

STAGES = {"structure": 1.0, "train": 5.0}


def test_a_circuit_goes_through_all_stages() -> None:
    found = measured(1, "extra-spn")
    assert found.edges > 1_000
    assert [stage.name for stage in found.stages] == [
        "learn", "arrays", "check", "passes", "lower", "plan", "first EM", "next EM",
    ]  # fmt: skip


def test_growth_is_fitted_to_all_sizes() -> None:
    names = ("learn", "plan", "next EM")
    found = [
        Measured(size, tuple(Stage(name, size / 1e6, size / 1e4) for name in names))
        for size in (1_000_000, 10_000_000)
    ]
    shown = page(found)
    assert "seconds grow as edges^1.00; memory grow as edges^1.00" in shown
    assert "10,000,000" in shown


def _part(found: Any) -> dict[str, Any]:
    about = {"date": "2026-01-02", "quick": False, "cores": 2, "load": 0.1, "seconds": 60.0}
    return {**about, "found": found}


def test_parts_stand_beside_those_of_earlier_runs(tmp_path: Path) -> None:
    ways = [
        {"way": name, "bits": bits, "seconds": 10.0, "iterations": 5, "stages": STAGES}
        for name, bits in (("one process, 2 threads", "a"), ("2 workers", "b"))
    ]
    earlier = {"processes": _part({"clicks": ways})}
    (tmp_path / "scale.json").write_text(json.dumps(earlier))
    assert scale.main(["--page-only", "--results", str(tmp_path)]) == 1  # other bits
    shown = (tmp_path / "scale.md").read_text()
    assert "2026-01-02, 2 cores" in shown
    ways[1]["bits"] = "a"
    assert extrapolation.rates(earlier) is None
    (tmp_path / "scale.json").write_text(json.dumps(earlier))
    assert scale.main(["--page-only", "--results", str(tmp_path)]) == 0


def test_costs_are_fitted_to_what_passes_took() -> None:
    found = [
        overhead.Overhead(1, size, parts, parts * (0.004 + 0.03 * size))
        for size in (0.1, 5.0)
        for parts in (16, 64)
    ]
    cost = overhead.costs(found)
    assert cost.partition == pytest.approx(0.004)
    assert cost.megabyte == pytest.approx(0.03)


def test_more_machines_divide_all_but_the_scheduler_and_the_structure() -> None:
    rate = extrapolation.Rates(read=2e-6, pass_=1e-6, structure=100.0, partition=0.01, sum_=0.05)
    alone, eight, many = (one for one in extrapolation.trainings(rate) if one.rows == 1_000_000_000)
    cores, partitions = extrapolation.CORES, 954
    assert alone.iteration == pytest.approx(1e3 / cores)
    assert eight.read == pytest.approx(alone.read / 8)
    assert eight.of_scheduler == many.of_scheduler == pytest.approx(partitions * 0.01)
    rest = many.iteration - many.of_scheduler
    assert rest == pytest.approx((1e3 + partitions * 0.05) / cores / 64)
    assert many.seconds > 100.0 + extrapolation.ITERATIONS * many.of_scheduler
