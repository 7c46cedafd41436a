"""The benchmark of growth with edges takes a circuit through all stages."""

from __future__ import annotations

from benchmarks.scaling.edges import Measured, Stage, measured, page


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
