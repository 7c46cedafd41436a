"""The tables of the best densities, of links between strong components, and of ways up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import best, strong_links, ways
from benchmarks.paper_figures import DATASETS
from benchmarks.runs import Benchmark, Cell
from spnc.diagnostics import Sink
from spnc.lock import recipe_text
from spnc.spec.read import read_recipe


def record(data: str, system: str, seed: int, test: float, edges: int = 1000) -> dict[str, Any]:
    about = {"data": data, "system": system, "seed": seed, "recipe": ""}
    return {**about, "train": -5.0, "valid": test, "test": test, "edges": edges, "seconds": 60.0}


@pytest.mark.parametrize(
    ("benchmark", "systems"),
    [
        (best.BEST, best.SYSTEMS),
        (strong_links.STRONG_LINKS, strong_links.SYSTEMS),
        (ways.WAYS, ways.SYSTEMS),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("data", DATASETS)
def test_every_cell_has_a_recipe_for_its_data(
    benchmark: Benchmark, systems: dict[str, Any], data: str
) -> None:
    recipes = set()
    for system in systems:
        assert "," not in system  # --systems separates them by commas
        cell, sink = Cell(data, system, 4), Sink()
        recipe = read_recipe(benchmark.spec(cell), sink, benchmark.settings(cell))
        sink.stop()
        assert recipe is not None
        assert recipe.data.source == f"debd:{data}"
        assert recipe.seed == 4
        if benchmark is strong_links.STRONG_LINKS:
            assert recipe.residual.draws is (system not in ("none", "twice the trees"))
        recipes.add(recipe_text(recipe))
    assert len(recipes) == len(systems)


def test_the_mean_is_compared_with_both_goals() -> None:
    text = best.report([record("plants", "own", 0, -12.30), record("plants", "own", 1, -12.40)])
    assert "| Plants | -12.350 (-12.400 … -12.300) | 0, 1 | -12.54 | **+0.190** |" in text
    assert "| -12.26 | -0.090 |" in text
    assert "One recipe for all" not in text


def test_links_are_compared_with_the_same_seed_without_them() -> None:
    plain = [record("jester", "none", s, -52.0 - s) for s in range(3)]
    linked = [record("jester", "informed", s, -52.0 - s + 0.1, 1500) for s in range(3)]
    worse = [record("jester", "greedy-bfs", s, -52.0 - s - 0.1 * s) for s in range(3)]
    text = strong_links.report([*plain, *linked, *worse])
    assert "| none |  |  |  |  | -53.000 |  |" in text
    assert "**+0.1000** ± 0.0000<br>+50% edges" in text
    assert "| -0.1000 ± 0.0577" in text


def test_ways_are_compared_on_the_validation_rows() -> None:
    first = [record("jester", ways.BASE, s, -52.5 - s) for s in range(2)]
    up = [record("jester", "twenty", s, -52.0 - s, 2000) for s in range(2)]
    down = [record("jester", "random roots", s, -53.0 - s) for s in range(2)]
    for each in (*first, *up, *down):
        each["test"] = 0.0
    text = ways.report([*first, *up, *down])
    assert f"| {ways.BASE} | -53.000 |" in text
    assert "| twenty | -52.500 (**+0.500**, 2.0×) |" in text
    assert "| random roots | -53.500 (-0.500, 1.0×) |" in text
