"""The pages of best, strong_links, ways and standing, made from records."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import best, standing, strong_links, ways
from benchmarks.common.intervals import interval
from benchmarks.common.markdown import with_part
from benchmarks.common.published import CHECKED, DATASETS
from benchmarks.common.trainings import ROOT, Benchmark, Cell
from spnc.diagnostics import Sink
from spnc.registry import RESIDUALS
from spnc.runs.lock import recipe_text
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
            assert recipe.residual.draws is (system in RESIDUALS and system != "none")
        recipes.add(recipe_text(recipe))
    assert len(recipes) == len(systems)


def test_the_mean_is_compared_with_both_goals() -> None:
    text = best.report([record("plants", "own", 0, -12.30), record("plants", "own", 1, -12.40)])
    shown = interval([-12.30, -12.40]).text(3)
    assert shown.startswith("-12.350 ± 0.6")
    assert f"| Plants | {shown} | 2 | -12.54 | **+0.190** |" in text
    assert "| -12.26 | -0.090 |" in text
    assert "One recipe for all" not in text


def test_links_are_compared_with_the_same_seed_without_them() -> None:
    plain = [record("jester", "none", s, -52.0 - s) for s in range(3)]
    linked = [record("jester", "informed", s, -52.0 - s + 0.1, 1500) for s in range(3)]
    worse = [record("jester", "greedy-bfs", s, -52.0 - s - 0.1 * s) for s in range(3)]
    text = strong_links.report([*plain, *linked, *worse])
    assert "| none |  |  |  |  | -53.000 |  |" in text
    assert "**+0.1000** ± 0.0000<br>+50% edges" in text
    assert "| -0.1000 ± 0.2484" in text  # 4.303 standard errors of 0.0577
    assert "mean over 3 seeds" in " ".join(text.split())


def test_the_interval_is_student_s() -> None:
    three = interval([1.0, 2.0, 3.0])
    assert (three.mean, three.seeds) == (2.0, 3)
    assert three.half_width == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert not three.is_above_zero
    assert interval([2.0, 2.1, 2.2]).is_above_zero


def test_one_seed_has_no_interval() -> None:
    one = interval([2.0])
    assert one.text(2, sign=True) == "+2.00"
    assert not one.is_above_zero


def test_ways_are_compared_on_the_validation_rows() -> None:
    first = [record("jester", ways.BASE, s, -52.5 - s) for s in range(2)]
    up = [record("jester", "twenty trees", s, -52.0 - s, 2000) for s in range(2)]
    down = [record("jester", "random roots", s, -53.0 - s) for s in range(2)]
    for each in (*first, *up, *down):
        each["test"] = 0.0
    text = ways.report([*first, *up, *down])
    assert f"| {ways.BASE} | 0, 1 | -53.000 |" in text
    assert "| twenty trees | 0, 1 | -52.500 (+0.500, 2.0×) |" in text
    assert "| random roots | 0, 1 | -53.500 (-0.500, 1.0×) |" in text


def test_the_generated_parts_of_the_readme_and_of_the_results_are_current() -> None:
    readme = standing.README.read_text(encoding="utf-8")
    assert readme == standing.refreshed(readme)
    assert standing.readme_parts()["standing"] in readme
    page = (ROOT / "benchmarks" / "results" / "standing.md").read_text(encoding="utf-8")
    assert standing.standing_table(standing.standing()) in page


def test_the_docs_show_the_recorded_gains_of_links() -> None:
    results = (ROOT / "benchmarks" / "results" / "strong_links.md").read_text(encoding="utf-8")
    shown = results[results.index("| links |") :]
    assert shown in (ROOT / "docs" / "residual-links.md").read_text(encoding="utf-8")


def test_our_figures_are_marked_where_they_reach_the_best_checked() -> None:
    ours = standing.System("ours", (*CHECKED[:5], -57.0), "ours", "o", "blue")
    others = standing.System("theirs", CHECKED, "theirs", "x")
    line, other = standing.standing_table([ours, others]).splitlines()[2:]
    assert line == (
        "| ours | **-6.000** | **-6.040** | **-12.540** | **-39.770** | **-52.380** | -57.000 |"
    )
    assert "**" not in other


def test_a_generated_part_needs_its_marks() -> None:
    page = with_part("a\n<!-- it -->\n\nold\n<!-- end of it -->\nb\n", "it", "new")
    assert page == "a\n<!-- it -->\n\nnew\n<!-- end of it -->\nb\n"
    with pytest.raises(ValueError, match="has no"):
        with_part("a\nb\n", "it", "new")
