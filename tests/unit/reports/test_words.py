"""The sentences on the page about a run are true and claim no more than is known."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spnc.common.observer import Observer
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.reports.facts.columns import ColumnFit, columns_fit
from spnc.reports.facts.gather import Facts, gather
from spnc.reports.facts.pairs import Pair, Pairs
from spnc.reports.facts.reading import read_run
from spnc.reports.facts.rows import RowsFit
from spnc.reports.page import columns, curves, origin, pairs, rows, summary, tries
from spnc.reports.page.html import joined, number, shortened
from spnc.runs.fit_metrics import FitMetrics, ObjectiveMetrics, PruneMetrics
from spnc.runs.metrics import SearchMetrics, TryMetrics
from tests.pages import trained

SPEC = """
model: small
data: {source: rows.csv, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 20}
optimizer: {max_iterations: 4}
backend: numpy
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """A run without a search."""
    cells = np.random.default_rng(0).integers(2, size=(60, 4))
    lines = ["a,b,c,d", *(",".join(map(str, row)) for row in cells)]
    run = trained(tmp_path_factory.mktemp("small"), SPEC, "\n".join(lines) + "\n")
    sink = Sink()
    found = read_run(run, sink, Observer())
    sink.stop()
    assert found is not None
    return gather(found, None, Observer())


def with_metrics(facts: Facts, **more: Any) -> Facts:
    return replace(facts, run=replace(facts.run, metrics=replace(facts.run.metrics, **more)))


def searched_for(*some: TryMetrics) -> SearchMetrics:
    return SearchMetrics({"smoothing": []}, 1, 1.0, some)


def with_history(facts: Facts, train: list[float], valid: list[float], kept: int) -> Facts:
    history = replace(
        facts.run.history,
        iterations=tuple(range(len(train))),
        train=tuple(train),
        valid=tuple(valid),
        kept=kept,
    )
    return replace(facts, run=replace(facts.run, history=history))


# ---- tries ---------------------------------------------------------------------------------------


def tried(number: int, valid: float | None, impossible: int, chosen: bool = False) -> TryMetrics:
    values = {"smoothing": number / 10}
    return TryMetrics(number, values, valid, impossible, valid, 0, 10, 3, 0.1, chosen)


def told(facts: Facts, *some: TryMetrics) -> tuple[str, str]:
    """What is found about tries, and the section."""
    found = tries.section(with_metrics(facts, search=searched_for(*some)))
    assert found is not None
    return found.finding, found.body


def order_of(body: str) -> list[str]:
    """The tries of the table, from above."""
    return re.findall(r'<th[^>]* scope="row"[^>]*>(\d+)<', body)


def test_a_try_that_makes_rows_impossible_is_no_better_for_it(facts: Facts) -> None:
    some = [tried(1, -2.0, 9), tried(2, -5.0, 0, chosen=True), tried(3, -1.0, 20)]
    finding, body = told(facts, *some)
    assert "−" not in finding
    assert "the others have more impossible validation rows" in finding
    assert "impossible valid rows" in body
    assert order_of(body) == ["2", "1", "3"]
    finding, body = told(facts, *some, tried(4, -5.5, 0))
    assert "0.5000 nats ahead of the next on validation rows among tries with no more" in finding
    assert order_of(body) == ["2", "4", "1", "3"]


def test_a_search_without_impossible_rows_says_nothing_of_them(facts: Facts) -> None:
    finding, body = told(facts, tried(1, -2.0, 0), tried(2, -1.5, 0, chosen=True))
    assert "0.5000 nats ahead of the next on validation rows" in finding
    assert "impossible" not in body


def test_one_try_is_the_only_one(facts: Facts) -> None:
    assert told(facts, tried(1, -2.0, 0, chosen=True))[0].startswith("The only try was chosen")


# ---- origin --------------------------------------------------------------------------------------


def test_after_a_search_no_time_is_promised(facts: Facts) -> None:
    assert " in " in origin.section(facts).finding.split("from the same data")[1]
    searched = origin.section(with_metrics(facts, search=searched_for(tried(1, -2.0, 0, True))))
    assert searched.finding.endswith("from the same data, without the search.")
    assert "Times of the chosen try" in searched.body


# ---- curves --------------------------------------------------------------------------------------


def test_what_fell_did_not_rise(facts: Facts) -> None:
    last = with_metrics(facts, optimizer=replace(facts.run.metrics.optimizer, kept="last"))
    fell = with_history(last, [-3.22, -8.0, -16.41], [], 2)
    assert "fell from −3.22 to −16.41" in curves.section(fell).finding
    rose = with_history(last, [-8.0, -4.0, -3.0], [], 2)
    assert "rose from −8.00 to −3.00" in curves.section(rose).finding


def test_validation_that_never_improved_did_not_stop_improving(facts: Facts) -> None:
    never = with_history(facts, [-3.0, -2.9, -2.8], [-3.0, -3.1, -3.2], 0)
    assert "never improved on its start in 2 iterations" in curves.section(never).finding
    stopped = with_history(facts, [-3.0, -2.9, -2.8], [-3.0, -2.9, -3.2], 1)
    assert "stopped improving at iteration 1 of 2" in curves.section(stopped).finding


@pytest.mark.parametrize(("after", "why"), [(-3.5, "did worse"), (-2.5, "made rows impossible")])
def test_pruning_is_taken_back_for_a_reason(facts: Facts, after: float, why: str) -> None:
    fits = tuple(FitMetrics(1, "patience", "last", 1, v, v) for v in (-3.0, after))
    prune = PruneMetrics(0.01, 9, 5, "whole", fits)
    assert f"{why} and was undone" in curves.section(with_metrics(facts, prune=prune)).finding


# ---- columns -------------------------------------------------------------------------------------


def column_of(counts: list[int], model: list[float]) -> ColumnFit:
    values = np.repeat(np.arange(len(counts)), counts).astype(float)[:, None]
    own = Column("many", "categorical", len(counts))
    return columns_fit([own], [np.array(model)], {"test": Table(values)}).columns[0]


def test_the_state_that_is_named_is_the_reason_for_the_divergence() -> None:
    # State 0 is further off in points, state 2 in nats.
    assert columns.furthest(column_of([40, 50, 10], [0.55, 0.44999, 0.00001]), "test") == 2
    # What the model rules out is infinitely far off, however rare it is.
    assert columns.furthest(column_of([300, 698, 2, 0], [0.7, 0.3, 0.0, 0.0]), "test") == 2
    assert columns.furthest(column_of([3, 7], [0.5, 0.5]), "test") == 1


def test_of_many_states_the_most_frequent_are_drawn() -> None:
    counts, model = [1] * 30 + [50], [0.02] * 30 + [0.4]
    model[29] = 0.3
    picture = columns._picture(column_of(counts, (np.array(model) / sum(model)).tolist()), "test")
    assert picture.count("f1") == picture.count("stroke") == 24
    assert "the 24 largest of 31 states" in picture
    assert "state 30:" in picture
    assert "state 29:" in picture
    drawn = [float(x) for x in re.findall(r'<rect x="([0-9.]+)"', picture)]
    assert max(drawn) < 100.0


# ---- rows, pairs, the head -----------------------------------------------------------------------


def test_impossible_rows_are_counted_and_the_median_is_kept(facts: Facts) -> None:
    assert facts.rows is not None
    bad: RowsFit = replace(
        facts.rows,
        impossible=3,
        worst=[replace(facts.rows.worst[0], log_likelihood=-math.inf, number=7)],
    )
    found = rows.section(replace(facts, rows=bad))
    assert found is not None
    start = "3 of 12 test rows are impossible for the model, the first of them row 7 of rows.csv"
    assert found.finding.startswith(start)
    assert f"the median test row has {number(bad.median)} nats" in found.finding


def test_long_names_keep_the_ends_by_which_they_differ() -> None:
    names = [f"very_long_column_name_number_{i}" for i in (912, 1063)]
    square = np.array([[0.0, 0.2], [0.2, 0.0]])
    listed = [Pair(0, 1, 0.2, 0.2)]
    found = Pairs(names, 2, 10, 10, 0.2, 0.1, square, square, {"pairs": 1}, listed, listed)
    text = joined(pairs._tables(found))
    for name in names:
        assert f'title="{name}"' in text
        plain = text.replace("<wbr>", "")
        assert re.search(rf">[a-z_]+…[a-z_]*{name[-4:]}<", plain)
    assert shortened("short", 22) == "short"
    assert len(shortened(names[0], 22)) == 22


@pytest.mark.parametrize("count", [40, 41])
def test_numbers_at_the_axes_are_explained_where_names_have_no_room(
    facts: Facts, count: int
) -> None:
    square = np.full((count, count), 0.1)
    listed = [Pair(0, 1, 0.1, 0.1)] * 2
    means = {"pairs": 820, "mean_empirical": 0.1, "mean_model": 0.1, "correlation": None}
    names = [f"x{i}" for i in range(count)]
    many = Pairs(names, 900, 10, 10, 0.05, 0.0, square, square, means, listed, listed)
    found = pairs.section(replace(facts, pairs=many))
    assert found is not None
    said = "Numbers at the axes count the columns shown, from one" in found.body
    assert said == (count > 40)


def test_independence_is_weighed_on_possible_rows_only(tmp_path: Path) -> None:
    """A model without smoothing holds unseen rows for impossible, and averages leave them out."""
    rng = np.random.default_rng(2)
    cells = rng.integers(2, size=(80, 5))
    cells[:, 4] = 0
    cells[50:, 4] = rng.integers(2, size=30)
    lines = ["a,b,c,d,e", *(",".join(map(str, row)) for row in cells)]
    for name, part in (("train", lines[1:51]), ("test", lines[51:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    files = "{train: train.csv, test: test.csv}"
    spec = SPEC.replace("{source: rows.csv, split: [0.6, 0.2, 0.2]}", files)
    run = trained(tmp_path, spec.replace("backend:", "smoothing: 0\nbackend:"))
    read = read_run(run, Sink(), Observer())
    assert read is not None
    found = gather(read, None, Observer())
    assert read.dataset is not None
    test = read.dataset.splits["test"].values
    possible = np.isfinite(read.model.log_likelihood(test))
    assert 0 < possible.sum() < len(test)
    train = read.dataset.train.values
    ones = (train.sum(axis=0) + 1) / (len(train) + 2)
    logs = np.where(test[possible] == 1, np.log(ones), np.log(1 - ones)).sum(axis=1)
    assert found.columns is not None
    assert found.columns.independent["test"] == pytest.approx(logs.mean())
    average = read.metrics["splits"]["test"]["avg_ll"]
    assert f"{abs(average - logs.mean()):.2f}" in summary.section(found).finding


def test_a_fit_to_a_target_is_told_instead_of_what_validation_did(facts: Facts) -> None:
    objective = ObjectiveMetrics("conditional", ("a", "b"), 3, "patience", 2, "valid", -0.5, -0.25)
    found = curves.section(with_metrics(facts, objective=objective)).finding
    assert "The last 3 fitted the parameters to predict a, b" in found
    assert "validation rows went from −0.50 to −0.25 nats" in found
    assert "improv" not in found
    unknown = replace(objective, start=None, reached=None)
    assert "nats" not in curves.section(with_metrics(facts, objective=unknown)).finding
