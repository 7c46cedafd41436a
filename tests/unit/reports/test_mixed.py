"""A page about numbers, dates and labels: histograms, densities, and words instead of codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.reports.facts.columns import columns_fit
from spnc.reports.facts.histograms import BINS, histogram_of
from tests.browser import Tab
from tests.pages import read_page


@pytest.fixture(scope="module")
def text(pages: dict[str, Path]) -> str:
    return pages["mixed"].read_text("utf-8")


def section(text: str, name: str):
    return next(e for e in read_page(text).all("section") if e.attributes.get("id") == name)


def test_values_are_shown_in_labels_dates_and_units(text: str) -> None:
    samples = section(text, "samples").words()
    assert "Gentoo" in samples
    assert "body_mass (g)" in samples
    assert re.search(r"200[789]-\d\d-\d\d", samples)
    rows = section(text, "rows").words()
    assert re.search(r" = (\d+ g|[\d.]+ mm)", rows)
    columns = section(text, "columns").words()
    assert re.search(r"to [\d.]+ (mm|g)", columns)
    assert "true" in columns
    for name in ("columns", "rows"):
        finding = section(text, name).all("p")[0].words()
        assert "nan" not in finding.lower()


def test_every_numeric_column_has_a_chart_of_rows_and_density(text: str) -> None:
    charts = [e for e in section(text, "columns").all("svg") if e.has("half")]
    labels = [chart.attributes["aria-label"] or "" for chart in charts]
    for name in ("eggs", "bill_length (mm)", "body_mass (g)", "seen_on"):
        (one,) = [label for label in labels if f"Histogram of {name} in" in label]
        assert "lie outside" in one
    for chart in charts:
        (curve,) = [p for p in chart.all("path") if p.has("model")]
        assert (curve.attributes["d"] or "").count("L") > 20
        assert len([r for r in chart.all("rect") if r.has("f1")]) > 10


def test_the_page_shows_the_charts_in_a_browser(tab: Tab, pages: dict[str, Path]) -> None:
    tab.open(pages["mixed"])
    for width in (1200, 400):
        tab.resize(width)
        assert tab.ask("document.documentElement.scrollWidth") <= width
        boxes = json.loads(
            tab.ask(
                "JSON.stringify([...document.querySelectorAll('#columns svg.half')].map(svg => {"
                "const a = svg.getBoundingClientRect();"
                "const b = svg.querySelector('path.model').getBoundingClientRect();"
                "return [a.width, a.height, b.width / a.width, b.height / a.height]}))"
            )
        )
        assert len(boxes) == 4
        for wide, tall, across, up in boxes:
            assert wide > 300
            assert tall > 100
            assert across > 0.8  # the curve spans the chart
            assert 0.1 < up < 0.95
        overlaps = tab.ask(
            "[...document.querySelectorAll('#columns svg.half')].some(svg => {"
            "const texts = [...svg.querySelectorAll('g.axes + g text')]"
            ".map(t => t.getBoundingClientRect());"
            "return texts.some((t, i) => i > 0 && t.left < texts[i - 1].right)})"
        )
        assert overlaps is False
    assert tab.troubles() == []


def test_bins_hold_equally_many_rounded_values_and_cover_the_rows() -> None:
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(4000, 700, size=(500, 1)) / 25) * 25
    column = Column(
        "mass", "real", 0, None, Scale(25.0, values.min(), values.max(), 4000, 700), "g"
    )
    found = histogram_of(column, Table(values), 0)
    assert 5 < len(found.edges) - 1 <= BINS
    assert found.bin_width % 25 == 0
    assert found.edges[0] < values.min()
    assert found.edges[-1] >= values.max()
    assert len(found.cuts) == BINS + 1
    assert len(found.texts) == found.states
    assert found.texts[1].endswith(" g")


def test_a_long_tail_is_left_out_of_the_bins() -> None:
    values = np.concatenate([np.linspace(0.0, 1.0, 999), [1e6]])[:, None]
    column = Column("x", "real", 0, None, Scale(0.001, 0.0, 1e6, 1000.0, 31_000.0))
    found = histogram_of(column, Table(values), 0)
    assert found.edges[-1] < 1.1
    fit = columns_fit([column], [np.full(found.states, 1 / found.states)],
                      {"train": Table(values)}, None, {0: found})  # fmt: skip
    seen = fit.columns[0].observed["train"]
    assert seen.frequencies.sum() == pytest.approx(1.0)
    assert 0.0 < seen.frequencies[-1] < 0.006
    assert np.isfinite(fit.independent["train"])


@pytest.mark.parametrize("value", [0.0, 7.0, -1e9])
def test_a_constant_column_has_one_bin(value: float) -> None:
    column = Column("x", "real", 0, None, Scale(1.0, value, value, value, 1.0))
    found = histogram_of(column, Table(np.full((5, 1), value)), 0)
    assert found.edges.tolist() == [value - 0.5, value + 0.5]


def test_the_baseline_of_a_uniform_column_is_its_density() -> None:
    values = np.linspace(0.0, 10.0, 20_001)[:, None]
    column = Column("x", "real", 0, None, Scale(0.0005, 0.0, 10.0, 5.0, 2.9))
    found = histogram_of(column, Table(values), 0)
    fit = columns_fit([column], [np.full(found.states, 1 / found.states)],
                      {"train": Table(values)}, None, {0: found})  # fmt: skip
    assert fit.independent["train"] == pytest.approx(-np.log(10.0), abs=0.01)
