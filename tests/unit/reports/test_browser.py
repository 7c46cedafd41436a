"""The page about a run in a real browser: sorting, colours, interactive charts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.browser import BACKGROUND, BROWSER, WHY_NOT, Tab

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)


@pytest.mark.parametrize("name", ["digits", "asia"])
def test_nothing_goes_wrong_and_nothing_is_asked_for(
    tab: Tab, pages: dict[str, Path], name: str
) -> None:
    tab.open(pages[name])
    assert tab.troubles() == []
    assert tab.requests() == [pages[name].resolve().as_uri()]


# ---- sorting -------------------------------------------------------------------------------------


def column(tab: Tab, number: int) -> list[float]:
    """Return the sort keys of a column of the table of columns."""
    cells = f"#columns tbody tr > :nth-child({number})"
    return [
        float(v)
        for v in tab.ask(f"[...document.querySelectorAll('{cells}')].map(c => c.dataset.value)")
    ]


def test_a_press_on_a_head_sorts_and_another_turns_it_round(page: Tab) -> None:
    head = "document.querySelector('#columns thead th:nth-child(3)')"
    assert page.ask(f"{head}.getAttribute('aria-sort')") is None
    before = column(page, 3)
    page.ask(f"{head}.querySelector('button').click()")
    assert page.ask(f"{head}.getAttribute('aria-sort')") == "descending"
    assert column(page, 3) == sorted(before, reverse=True) != before
    page.ask(f"{head}.querySelector('button').click()")
    assert page.ask(f"{head}.getAttribute('aria-sort')") == "ascending"
    assert column(page, 3) == sorted(before)
    page.ask("document.querySelector('#columns thead th:nth-child(4) button').click()")
    assert page.ask("document.querySelectorAll('#columns th[aria-sort]').length") == 1


def test_very_small_negative_numbers_sort_as_numbers(page: Tab) -> None:
    numbers = ["0.5", "−9.5e−06", "2e−05", "−0.25", "−1,200"]
    sort = """(numbers) => {
      const body = document.querySelector('#pairs table.sortable tbody');
      while (body.rows.length > numbers.length) body.rows[numbers.length].remove();
      numbers.forEach((text, i) => { body.rows[i].cells[3].textContent = text; });
      document.querySelector('#pairs thead th:nth-child(4) button').click();
      return [...body.rows].map((row) => row.cells[3].textContent);
    }"""
    said = page.ask(f"({sort})({json.dumps(numbers)})")
    assert said == ["0.5", "2e−05", "−9.5e−06", "−0.25", "−1,200"]


def test_only_frames_that_scroll_are_stops_of_the_keyboard(
    tab: Tab, pages: dict[str, Path]
) -> None:
    tab.open(pages["asia"], width=320)
    tab.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    wrong = """[...document.querySelectorAll('.frame')].filter(f => f.hasAttribute('tabindex') !==
      (f.scrollWidth > f.clientWidth || f.scrollHeight > f.clientHeight)).length"""
    stops = "document.querySelectorAll('.frame[tabindex]').length"
    for width in (320, 1280):
        tab.resize(width)
        tab.picture(pages["asia"].with_suffix(".png"))  # forces a frame to be drawn
        assert tab.ask(wrong) == 0
    assert 0 < tab.ask(stops) < tab.ask("document.querySelectorAll('.frame').length")


def test_names_sort_as_words_with_numbers_in_them(page: Tab) -> None:
    page.ask("document.querySelector('#columns thead th button').click()")
    cells = "[...document.querySelectorAll('#columns tbody th')].map(c => c.textContent)"
    names = page.ask(cells)
    assert names == sorted(names, key=lambda n: [int(k) for k in re.findall(r"\d+", n)])


def test_heads_can_be_reached_and_pressed_by_keyboard(page: Tab) -> None:
    page.ask("document.querySelector('#tries thead th:nth-child(3) button').focus()")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    page.send("Input.dispatchKeyEvent", type="keyUp", key="Enter")
    assert page.ask("document.querySelectorAll('#tries th[aria-sort]').length") == 1


# ---- colours -------------------------------------------------------------------------------------


def test_the_page_follows_the_system_until_the_button_is_pressed(
    tab: Tab, pages: dict[str, Path]
) -> None:
    tab.open(pages["digits"])
    light = tab.ask(BACKGROUND)
    tab.prefer("dark")
    dark = tab.ask(BACKGROUND)
    assert light != dark
    tab.ask("document.querySelector('.theme').click()")
    assert tab.ask(BACKGROUND) == light
    assert tab.ask("document.querySelector('.theme').textContent") == "Dark"
    tab.prefer("light")
    tab.ask("document.querySelector('.theme').click()")
    assert tab.ask(BACKGROUND) == dark
    tab.ask("localStorage.removeItem('spnc-theme')")


# The contrast of all text with its background, as WCAG 2 defines it; also in charts.
CONTRAST = r"""
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => {
    const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const found = rgba(getComputedStyle(e).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || ["SCRIPT", "STYLE"].includes(e.tagName.toUpperCase())) continue;
    if (!e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const colour = rgba(e.namespaceURI.includes("svg") ? style.fill : style.color);
    const [a, b] = [light(colour), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const name = `${e.tagName} ${e.getAttribute("class")} ${e.textContent.slice(0, 30)}`;
    if (ratio < 4.5) bad.push(`${name}: ${ratio}`);
  }
  return bad;
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["digits", "asia"])
def test_all_text_stands_out_from_what_is_behind_it(
    tab: Tab, pages: dict[str, Path], name: str, dark: bool
) -> None:
    tab.open(pages[name], dark=dark)
    tab.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.ask(CONTRAST) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_lines_and_bars_stand_out_from_the_page(
    tab: Tab, pages: dict[str, Path], dark: bool
) -> None:
    tab.open(pages["digits"], dark=dark)
    marks = CONTRAST.replace(
        '"body *"', '".f1:not(.dot), .f2:not(.chosen), .f3, .curve, .kept, .ink"'
    )
    marks = marks.replace("if (!own ||", "if (").replace("ratio < 4.5", "ratio < 3")
    marks = marks.replace(
        'e.namespaceURI.includes("svg") ? style.fill',
        'style.stroke !== "none" ? style.stroke : e.namespaceURI.includes("svg") ? style.fill',
    ).replace(": style.color", ": style.backgroundColor")
    marks = marks.replace("behind(e)", "behind(e.parentElement)")
    assert tab.ask(marks) == []


# ---- interactive charts ------------------------------------------------------------------------


def curve_box(tab: Tab) -> dict[str, float]:
    return tab.box(".curves svg")


def first_tick(tab: Tab) -> list[str]:
    texts = "[...document.querySelectorAll('.curves .axes text')].map(t => t.textContent)"
    return tab.ask(texts)  # type: ignore[no-any-return]


READOUT = "document.querySelector('.curves .readout').textContent"
RESET = "document.querySelector('.curves .reset').hidden"


def test_the_curve_is_read_under_the_mouse(page: Tab) -> None:
    box = curve_box(page)
    page.mouse("mouseMoved", box["x"] + box["width"] - 20, box["y"] + 60)
    said = page.ask(READOUT)
    assert re.match(r"iteration 12: training rows \N{MINUS SIGN}[\d.]+, validation rows ", said)


def test_dragging_zooms_and_the_button_goes_back(page: Tab) -> None:
    box = curve_box(page)
    whole = first_tick(page)
    assert page.ask(RESET)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    page.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    assert not page.ask(RESET)
    assert first_tick(page) != whole
    page.ask("document.querySelector('.curves .reset').click()")
    assert first_tick(page) == whole
    assert page.ask(RESET)


# Turn the wheel over the curve; return how often the page was kept from scrolling.
TURN = """
((times, deltaY, ctrlKey) => {
  const svg = document.querySelector('.curves svg');
  const { left, width } = svg.getBoundingClientRect();
  const more = { deltaY, ctrlKey, clientX: left + width / 2, bubbles: true, cancelable: true };
  let kept = 0;
  for (let i = 0; i < times; i++) kept += !svg.dispatchEvent(new WheelEvent('wheel', more));
  return kept;
})(%s)
"""


def test_the_wheel_scrolls_the_page_unless_the_curve_was_asked_for(page: Tab) -> None:
    whole = first_tick(page)
    assert page.ask(TURN % "30, -120, false") == 0
    assert first_tick(page) == whole
    page.ask("document.querySelector('.curves').focus()")
    assert 0 < page.ask(TURN % "30, -120, false") < 30
    assert first_tick(page) != whole


def test_the_wheel_zooms_with_ctrl_as_far_as_there_is_something_to_see(page: Tab) -> None:
    whole = first_tick(page)
    assert page.ask(TURN % "5, 120, true") == 0  # already zoomed out
    assert 0 < page.ask(TURN % "40, -120, true") < 40
    assert not page.ask(RESET)
    near = page.ask("[...document.querySelectorAll('.curves .axes text')].map(t => t.textContent)")
    iterations = [text for text in near if re.fullmatch(r"\d+", text)]
    assert len(set(iterations)) >= 2
    assert 0 < page.ask(TURN % "40, 120, true") < 40
    assert first_tick(page) == whole
    assert page.ask(RESET)


def test_the_script_draws_the_curve_where_it_was(page: Tab) -> None:
    lines = "[...document.querySelectorAll('.curves .curve')].map(p => p.getAttribute('d'))"
    before, ticks = page.ask(lines), first_tick(page)
    page.ask("document.querySelector('.curves').focus()")
    page.press("ArrowRight")
    after = page.ask(lines)
    assert sorted(first_tick(page)) == sorted(ticks)
    for old, new in zip(before, after, strict=True):
        places = [[float(v) for v in re.findall(r"[\d.]+", d)] for d in (old, new)]
        assert places[0] == pytest.approx(places[1], abs=0.2)


def test_curve_and_matrix_are_read_by_arrow_keys(page: Tab) -> None:
    page.ask("document.querySelector('.curves').focus()")
    page.press("ArrowRight")
    kept = page.ask(READOUT)
    assert kept.endswith("(kept)")
    page.press("ArrowLeft")
    assert page.ask(READOUT) != kept
    page.ask("document.querySelector('.pairs').focus()")
    for _ in range(2):
        page.press("ArrowDown")
    said = page.ask("document.querySelector('.pairs .readout').textContent")
    assert re.fullmatch(r"pixel_0_0 and pixel_0_2: data [\d.e-]+, model [\d.e-]+ nats", said)


def test_the_matrix_says_the_numbers_that_the_table_has(page: Tab) -> None:
    first = page.ask("document.querySelector('#pairs tbody tr').innerText").split("\t")
    a, b = re.findall(r"pixel_\d_\d", first[0])
    names = page.ask("JSON.parse(document.getElementById('pairs-data').textContent).names")
    i, j = names.index(a), names.index(b)
    box = page.box(".pairs .paper", "start")
    cell = box["width"] / 64
    page.mouse("mouseMoved", box["x"] + (j + 0.5) * cell, box["y"] + (i + 0.5) * cell)
    said = page.ask("document.querySelector('.pairs .readout').textContent")
    assert said == f"{a} and {b}: data {first[1].strip()}, model {first[2].strip()} nats"


def test_what_is_under_the_mouse_is_told(page: Tab) -> None:
    box = page.box("#structure .hit")
    page.mouse("mouseMoved", box["x"] + 4, box["y"] + 20)
    tip = "document.querySelector('.tip')"
    assert not page.ask(f"{tip}.hidden")
    assert re.match(r"layer 1: leaves ", page.ask(f"{tip}.textContent"))
