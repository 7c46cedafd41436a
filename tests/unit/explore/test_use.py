"""The page in a real browser, used by mouse and keyboard."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.data.columns import Column, Scale
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson
from spnc.program.lower import lower
from spnc.questions.answers import Answer
from tests.browser import BACKGROUND, BROWSER, WHY_NOT, Tab

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)

MASS = Scale(resolution=25.0, low=2700.0, high=6300.0, mean=4200.0, sd=800.0)
EGGS = Scale(low=0.0, high=20.0, mean=5.0, sd=3.0)
DATE = Scale(resolution=1.0, low=13_800.0, high=14_600.0, mean=14_200.0, sd=200.0)


def penguins() -> spnc.Model:
    """Two kinds of penguins, in columns of all kinds, one with a hostile name."""
    columns = [
        Column("species", "categorical", 3, labels=("Adelie", "Chinstrap", "Gentoo")),
        Column("body mass", "real", 0, scale=MASS, unit="g"),
        Column("eggs", "count", 0, scale=EGGS),
        Column("seen", "date", 0, scale=DATE, unit="days"),
        Column("</script><b>\u202e", "binary", 2, labels=("no", "it's")),
    ]
    builder = Builder(columns)

    def product(species: tuple[float, ...], mass: float, eggs: float, p: float) -> int:
        leaves = [Categorical(species), Gaussian(mass, 400.0), Poisson(eggs)]
        made = [builder.leaf(i, leaf) for i, leaf in enumerate(leaves)]
        made.append(builder.leaf(3, Gaussian(14_000.0 + mass / 20.0, 100.0)))
        return builder.product([*made, builder.leaf(4, Bernoulli(p))])

    small, large = product((0.6, 0.4, 0.0), 3700, 3, 0.2), product((0.1, 0.1, 0.8), 5000, 9, 0.9)
    builder.sum([small, large], [0.6, 0.4])
    return spnc.Model("penguins", *lower(builder.graph))


@pytest.fixture
def page(tab: Tab, tmp_path: Path) -> Tab:
    tab.open(penguins().explore(tmp_path / "page.html"))
    settle(tab)
    return tab


def settle(tab: Tab) -> None:
    """Wait for the next picture."""
    frame = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(1))))"
    tab.send("Runtime.evaluate", expression=frame, awaitPromise=True)


def text(tab: Tab, selector: str) -> str:
    return tab.ask(f"document.querySelector({json.dumps(selector)}).textContent")


def click(tab: Tab, selector: str, **more: Any) -> None:
    box = tab.box(selector)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind in ("mousePressed", "mouseReleased"):
        tab.mouse(kind, x, y, button="left", clickCount=1, **more)
    settle(tab)


def drag(tab: Tab, selector: str, start: float, stop: float) -> None:
    """Drag across an element, from one share of its width to another."""
    box = tab.box(selector)
    y = box["y"] + box["height"] / 2
    at = [box["x"] + share * box["width"] for share in (start, (start + stop) / 2, stop)]
    tab.mouse("mousePressed", at[0], y, button="left", clickCount=1)
    for x in at[1:]:
        tab.mouse("mouseMoved", x, y, button="left", buttons=1)
        settle(tab)
    tab.mouse("mouseReleased", at[2], y, button="left", clickCount=1)
    settle(tab)


def card(number: int) -> str:
    return f".card:nth-child({number})"


def question(tab: Tab) -> str:
    return tab.ask("spnc.question()")


def test_nothing_goes_wrong_and_nothing_is_asked_for(tab: Tab, tmp_path: Path) -> None:
    path = penguins().explore(tmp_path / "page.html")
    tab.open(path)
    settle(tab)
    assert tab.troubles() == []
    assert tab.requests() == [path.resolve().as_uri()]
    assert tab.ask("document.querySelectorAll('.card').length") == 5
    assert "<U+202E>" in text(tab, card(5) + " h3")
    assert tab.ask("document.querySelectorAll('.card b').length") == 0


def test_a_click_on_a_bar_takes_it_as_known_and_another_takes_it_back(page: Tab) -> None:
    before = text(page, card(5) + " .share")
    click(page, card(1) + " .bar:nth-child(1)")
    assert question(page) == "P(species = Adelie)"
    assert text(page, ".probability") == "40.0 %"
    assert text(page, ".chip") == "species = Adelie"
    assert text(page, card(5) + " .share") != before
    assert page.ask("document.querySelector('.bar').getAttribute('aria-pressed')") == "true"
    click(page, card(1) + " .bar:nth-child(1)")
    assert question(page) == ""
    assert text(page, ".probability") == "100 %"
    assert text(page, card(5) + " .share") == before


def test_shift_makes_a_set(page: Tab) -> None:
    click(page, card(1) + " .bar:nth-child(1)")
    click(page, card(1) + " .bar:nth-child(3)", modifiers=8)
    assert question(page) == "P(species in {Adelie, Gentoo})"
    click(page, card(1) + " .bar:nth-child(2)")
    assert question(page) == "P(species = Chinstrap)"


def test_a_range_is_dragged_and_its_ends_move_by_keys(page: Tab) -> None:
    chart = card(2) + " .chart"
    drag(page, chart, 0.25, 0.5)
    known = question(page)
    assert known.startswith('P("body mass" in 3')
    low, high = map(float, known.removesuffix(")").split(" in ")[1].split(".."))
    assert 3400 < low < 3700 < 4300 < high < 4700
    answer = penguins().query(known)  # what the page shows to copy is what it has answered
    assert isinstance(answer, Answer)
    assert answer.log_value is not None
    shown = text(page, ".logarithm").removeprefix("log ").replace("\u2212", "-")
    assert math.isclose(float(shown), answer.log_value, abs_tol=1e-4)
    page.ask(f"document.querySelector('{chart} .low').focus()")
    page.press("ArrowRight")
    settle(page)
    moved = float(question(page).split(" in ")[1].split("..")[0])
    assert low < moved < high
    slider = f"document.querySelector('{chart} .low')"
    assert page.ask(f"{slider}.getAttribute('aria-valuenow')") == f"{moved:g}"
    assert page.ask(f"{slider}.getAttribute('aria-valuetext')").endswith("g")
    page.press("Home")
    settle(page)
    assert question(page) == f'P("body mass" <= {high:g})'
    page.press("Escape")
    settle(page)
    assert question(page) == ""


def test_counts_are_clicked_and_dates_are_dates(page: Tab) -> None:
    click(page, card(3) + " .chart svg")
    assert question(page) == "P(eggs = 10)"
    drag(page, card(4) + " .chart", 0.3, 0.7)
    assert question(page).count("P(eggs = 10, seen in 2008-0") == 1
    assert text(page, card(4) + " .facts").startswith("median 2008-")


def test_the_keyboard_alone_is_enough(page: Tab) -> None:
    page.ask("document.querySelector('.bar').focus()")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    page.send("Input.dispatchKeyEvent", type="keyUp", key="Enter")
    settle(page)
    assert question(page) == "P(species = Adelie)"
    assert page.ask("document.querySelector('[role=status]').getAttribute('aria-live')") == "polite"
    time.sleep(0.5)
    assert text(page, "[role=status]") == "Probability of the evidence: 40.0 %"
    unnamed = """[...document.querySelectorAll('button, [role=slider], input, canvas')].filter(
        (e) => !(e.getAttribute('aria-label') || e.textContent.trim())).length"""
    assert page.ask(unnamed) == 0


def test_undo_and_reset_go_back(page: Tab) -> None:
    click(page, card(1) + " .bar:nth-child(1)")
    click(page, card(5) + " .bar:nth-child(2)")
    both = question(page)
    assert both == 'P(species = Adelie, e"</script><b>\\u202e" = "it\'s")'
    click(page, ".actions button:nth-child(2)")
    assert question(page) == ""
    click(page, ".actions button:nth-child(1)")
    assert question(page) == both
    click(page, ".actions button:nth-child(1)")
    assert question(page) == "P(species = Adelie)"
    click(page, ".chip")
    assert question(page) == ""


def test_impossible_evidence_says_so_and_can_be_taken_back(tab: Tab, tmp_path: Path) -> None:
    builder = Builder([Column("a"), Column("b")])
    twins = [builder.product([builder.leaf(i, Bernoulli(p)) for i in (0, 1)]) for p in (0.0, 1.0)]
    builder.sum(twins, [0.5, 0.5])
    tab.open(spnc.Model("twins", *lower(builder.graph)).explore(tmp_path / "page.html"))
    settle(tab)
    click(tab, card(1) + " .bar:nth-child(1)")
    assert text(tab, card(2) + " .bar:nth-child(2) .share") == "0 %"
    click(tab, card(2) + " .bar:nth-child(2)")
    assert text(tab, ".probability") == "impossible"
    assert text(tab, ".likely .facts") == "The evidence is impossible."
    assert text(tab, card(1) + " .share") == "–"
    click(tab, ".actions button:nth-child(1)")
    assert text(tab, ".probability") == "50.0 %"
    assert tab.troubles() == []


def test_the_most_likely_row_follows(page: Tab) -> None:
    click(page, card(1) + " .bar:nth-child(3)")
    time.sleep(0.6)
    row = text(page, ".cells-list")
    assert "speciesGentoo" in row
    assert "eggs8" in row or "eggs9" in row
    assert text(page, ".likely h3") == "A likely row"


def test_the_columns_that_changed_most_are_named_and_lead_to_their_cards(page: Tab) -> None:
    click(page, card(1) + " .bar:nth-child(3)")
    time.sleep(0.6)
    names = page.ask("[...document.querySelectorAll('.moved button')].map((b) => b.textContent)")
    # Gentoos are the large ones, and masses differ more than eggs do.
    assert names[0] == "body mass"
    assert set(names[1:]) == {"eggs", "seen", "</script><b><U+202E>"}
    click(page, ".moved button")
    assert page.ask("document.activeElement.closest('.card').dataset.column") == "1"


def test_dark_colours_and_small_windows(tab: Tab, tmp_path: Path) -> None:
    path = penguins().explore(tmp_path / "page.html")
    tab.open(path, dark=True, width=360)
    settle(tab)
    assert tab.ask(BACKGROUND) == "rgb(20, 23, 26)"
    assert tab.ask("document.documentElement.scrollWidth") <= 360
    tab.open(path, width=1280)
    assert tab.ask(BACKGROUND) == "rgb(251, 250, 248)"


def pictures() -> spnc.Model:
    """Pictures of 3 by 3 pixels: all dark or all light."""
    builder = Builder([Column(f"pixel_{i // 3}_{i % 3}") for i in range(9)])
    parts = [
        builder.product([builder.leaf(i, Bernoulli(p)) for i in range(9)]) for p in (0.02, 0.98)
    ]
    builder.sum(parts, [0.5, 0.5])
    return spnc.Model("pictures", *lower(builder.graph))


def darkness(tab: Tab, x: int, y: int) -> int:
    """The middle grey of a pixel's upper left part, from 0 for ink to 255 for paper."""
    at = f"{x * 16 + 3}, {y * 16 + 3}"
    pen = f"document.querySelector('.board').getContext('2d').getImageData({at}, 1, 1)"
    return tab.ask(f"{pen}.data[1]")


def test_a_picture_is_drawn_and_completed(tab: Tab, tmp_path: Path) -> None:
    tab.open(pictures().explore(tmp_path / "page.html"))
    settle(tab)
    middle = darkness(tab, 2, 2)
    assert 100 < middle < 180
    drag(tab, ".board", 0.2, 0.5)
    assert question(tab) == "P(pixel_1_0 = 1, pixel_1_1 = 1)"
    assert darkness(tab, 2, 2) < 60
    assert darkness(tab, 1, 1) < 40
    tab.press("ArrowDown")
    tab.press("Delete")
    settle(tab)
    click(tab, ".tools button:nth-child(2)")
    click(tab, ".board")
    assert "pixel_1_1 = 0" in question(tab)
    time.sleep(0.6)
    assert text(tab, ".side .facts").startswith("The most likely picture: probability")


def test_many_columns_are_found_by_name(tab: Tab, tmp_path: Path) -> None:
    builder = Builder([Column(f"column {i}") for i in range(300)])
    builder.product([builder.leaf(i, Bernoulli(0.3)) for i in range(300)])
    tab.open(spnc.Model("wide", *lower(builder.graph)).explore(tmp_path / "page.html"))
    settle(tab)
    # Only the cards in view are filled.
    assert 3 < tab.ask("document.querySelectorAll('.card .bar').length") < 200
    search = "document.querySelector('input[type=search]')"
    tab.ask(f"{search}.value = 'n 29'; {search}.dispatchEvent(new Event('input'))")
    assert tab.ask("document.querySelectorAll('.card:not([hidden])').length") == 11
    tab.ask(f"{search}.value = 'nothing'; {search}.dispatchEvent(new Event('input'))")
    assert (
        tab.ask("getComputedStyle(document.querySelector('.columns + .hint')).display") == "block"
    )
