"""The page about a run in a real browser: interaction, accessibility, sizes, print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spnc.cli import main
from tests.browser import BROWSER, WHY_NOT, Tab, browser

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)

SPEC = """
model: digits
data: {source: builtin:digits, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 400, beta: {search: [0.3, 0.6]}}
optimizer: {max_iterations: 12}
backend: numpy
"""
ASIA = """
model: asia
data: {source: builtin:asia, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 300}
optimizer: {max_iterations: 4}
backend: numpy
"""
# Long names, with and without blanks, and a search over six options: tables that are too wide.
LONG_NAMES = [
    f"average monthly household expenditure, category {i}"
    if i % 2
    else f"questionnaire_response_item_without_any_blank_{'x' * 40}_{i}"
    for i in range(20)
]
WIDE = """
model: wide
data: {source: rows.csv, split: [0.6, 0.2, 0.2], header: yes}
forest:
  - learner: extra-spn
    count: 2
    min_instances: {search: [100, 200]}
    beta: {search: [0.4, 0.6]}
    when_both_fail: {search: [retry, factorise]}
optimizer: {max_iterations: {search: [2, 3]}, patience: {search: [2, 3]}}
seed: {search: [0, 1, 2]}
search: {tries: 16}
backend: numpy
"""


def wide_rows() -> str:
    """A table whose columns have long names, as CSV."""
    cells = np.random.default_rng(0).integers(0, 2, size=(150, len(LONG_NAMES)))
    head = ",".join(f'"{name}"' for name in LONG_NAMES)
    return "\n".join([head, *(",".join(map(str, row)) for row in cells.tolist())]) + "\n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "rows.csv").write_text(wide_rows())
    found = {}
    for name, spec in (("digits", SPEC), ("asia", ASIA), ("wide", WIDE)):
        (folder / f"{name}.yaml").write_text(spec)
        run = folder / name
        assert main(["train", str(folder / f"{name}.yaml"), "--out", str(run), "--quiet"]) == 0
        assert main(["report", str(run), "--quiet", "--backend", "numpy"]) == 0
        found[name] = run / "report.html"
    return found


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(tab: Tab, pages: dict[str, Path]) -> Tab:
    tab.open(pages["digits"])
    return tab


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

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


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


# ---- sizes, paper, and no script -----------------------------------------------------------------


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 2200])
@pytest.mark.parametrize("name", ["digits", "asia", "wide"])
def test_the_page_never_scrolls_sideways(
    tab: Tab, pages: dict[str, Path], name: str, width: int
) -> None:
    tab.open(pages[name], width=width)
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.ask("[...document.querySelectorAll('h2')].every(h => h.checkVisibility())")


# Find everything that a reader cannot see: outside of frames, elements that reach beyond the
# window; inside a frame, cells that stay outside when it is scrolled to the end; text that is wider
# than its cell.
CUT_OFF = """
(() => {
  const bad = [];
  const say = (what, e) => bad.push(`${what}: ${e.tagName} ${e.textContent.slice(0, 40)}`);
  for (const e of document.querySelectorAll('body *:not(.skip)')) {
    const { right, left, width } = e.getBoundingClientRect();
    if (!width || !e.checkVisibility() || e.closest('.frame > *, svg > *')) continue;
    if (right > innerWidth + 1 || left < -1) say('beyond the window', e);
  }
  for (const frame of document.querySelectorAll('.frame')) {
    const inside = frame.getBoundingClientRect();
    const caption = frame.querySelector('caption span').getBoundingClientRect();
    if (caption.right > inside.right) say('caption', frame);
    frame.scrollLeft = frame.scrollWidth;
    for (const row of frame.querySelectorAll('tr')) {
      const last = row.cells[row.cells.length - 1].getBoundingClientRect();
      if (last.right > inside.right + 1) say('beyond its frame', row);
    }
    const name = frame.querySelector('tbody th').getBoundingClientRect();  // stays where it is
    const wide = frame.classList.contains('wide');
    if (wide && name.width > 0.6 * inside.width) say('names leave no room', frame);
    frame.scrollLeft = 0;
    if (frame.scrollWidth > frame.clientWidth && frame.tabIndex < 0) say('no keyboard', frame);
    for (const cell of frame.querySelectorAll('th, td')) {
      if (cell.scrollWidth > cell.clientWidth + 1) say('beyond its cell', cell);
    }
  }
  return bad;
})()
"""


@pytest.mark.parametrize("width", [360, 768, 1200, 1439, 1440, 1920])
def test_wide_tables_scroll_in_their_frames_and_nothing_is_cut_off(
    tab: Tab, pages: dict[str, Path], width: int
) -> None:
    tab.open(pages["wide"], width=width)
    tab.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.picture(pages["wide"].with_suffix(".png"))  # forces a frame to be drawn
    assert tab.ask(CUT_OFF) == []
    assert tab.ask("document.documentElement.scrollWidth") <= width
    scrolls = "[...document.querySelectorAll('.frame.wide')].map(f => f.closest('section').id)"
    assert "samples" in tab.ask(scrolls)
    if width >= 1200:
        assert "tries" not in tab.ask(scrolls)


def test_without_script_everything_is_there_and_nothing_that_does_nothing(
    tab: Tab, pages: dict[str, Path]
) -> None:
    tab.open(pages["digits"], script=False)
    # Expressions can still be evaluated, although the page may not run scripts.
    seen = "[...document.querySelectorAll('%s')].filter(e => e.checkVisibility()).length"
    for what, least in (("section", 9), ("section svg", 80), ("tbody tr", 60), (".curve", 2)):
        assert tab.ask(seen % what) >= least, what
    assert tab.ask(seen % "button") == 0
    assert tab.ask(seen % ".hint") == 0
    assert tab.troubles() == []


def test_on_paper_tables_are_whole_and_buttons_are_gone(page: Tab) -> None:
    assert page.paper().startswith(b"%PDF")
    page.prefer("dark")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", media="print", features=features)
    try:
        seen = "[...document.querySelectorAll('%s')].filter(e => e.checkVisibility()).length"
        for what in ("nav", ".theme", ".copy", ".hint"):
            assert page.ask(seen % what) == 0, what
        assert page.ask(BACKGROUND) == "rgb(255, 255, 255)"
        frames = "[...document.querySelectorAll('.frame')]"
        assert page.ask(f"{frames}.every(f => f.scrollHeight <= f.clientHeight + 2)")
        assert page.ask(seen % "section svg") > 80
    finally:
        page.send("Emulation.setEmulatedMedia", media="", features=[])


def test_on_paper_wide_tables_fit_the_sheet(tab: Tab, pages: dict[str, Path]) -> None:
    sheet = 680  # pixels: the width of A4 in CSS, without the margins that the style sets
    tab.open(pages["wide"], width=sheet)
    tab.send("Emulation.setEmulatedMedia", media="print", features=[])
    try:
        tables = "[...document.querySelectorAll('table')].map(t => t.getBoundingClientRect().right)"
        assert max(tab.ask(tables)) <= sheet + 1
    finally:
        tab.send("Emulation.setEmulatedMedia", media="", features=[])


def test_everything_that_can_be_pressed_or_reached_has_a_name(page: Tab) -> None:
    nameless = """
    [...document.querySelectorAll('button, a, [tabindex], summary')]
      .filter(e => !(e.getAttribute('aria-label') || e.textContent).trim()).length
    """
    assert page.ask(nameless) == 0
